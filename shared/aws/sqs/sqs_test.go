package sqs

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

// fake answers every call with err and keeps what was asked.
type fake struct {
	err      error
	messages []types.Message

	hidden  []int32
	deleted []string
	waited  []int32
}

func (f *fake) ChangeMessageVisibility(
	_ context.Context, in *sdk.ChangeMessageVisibilityInput, _ ...func(*sdk.Options),
) (*sdk.ChangeMessageVisibilityOutput, error) {
	f.hidden = append(f.hidden, in.VisibilityTimeout)
	return nil, f.err
}

func (f *fake) DeleteMessage(
	_ context.Context, in *sdk.DeleteMessageInput, _ ...func(*sdk.Options),
) (*sdk.DeleteMessageOutput, error) {
	f.deleted = append(f.deleted, aws.ToString(in.ReceiptHandle))
	return nil, f.err
}

func (f *fake) ReceiveMessage(
	_ context.Context, in *sdk.ReceiveMessageInput, _ ...func(*sdk.Options),
) (*sdk.ReceiveMessageOutput, error) {
	f.waited = append(f.waited, in.WaitTimeSeconds)
	return &sdk.ReceiveMessageOutput{Messages: f.messages}, f.err
}

func (f *fake) SendMessage(
	context.Context, *sdk.SendMessageInput, ...func(*sdk.Options),
) (*sdk.SendMessageOutput, error) {
	return nil, f.err
}

func answered(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message}
}

func TestHoldSaysWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ err, want error }{
		"success":       {nil, nil},
		"not in flight": {&types.MessageNotInflight{}, queue.ErrLapsed},
		"by its old name": {
			answered("AWS.SimpleQueueService.MessageNotInflight", ""), queue.ErrLapsed,
		},
		"handle invalid": {&types.ReceiptHandleIsInvalid{}, queue.ErrLapsed},
		"handle expired": {
			answered("InvalidParameterValue", "Value h for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."),
			queue.ErrLapsed,
		},
		"twelve hours are over": {
			answered("InvalidParameterValue", "Total VisibilityTimeout for the message is beyond the limit"), queue.ErrInvalid,
		},
		"throttled": {answered("ThrottlingException", ""), queue.ErrRefused},
		"no answer": {io.ErrUnexpectedEOF, queue.ErrRefused},
	} {
		l := (&Queue{api: &fake{err: tc.err}}).LeaseFor("h")
		for _, err := range []error{
			l.Extend(t.Context(), time.Minute), l.GiveBack(t.Context(), 0), l.Done(t.Context()),
		} {
			if !errors.Is(err, tc.want) {
				t.Errorf("%s: got error %v, want %v", name, err, tc.want)
			}
		}
	}
}

func TestSendSaysWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ err, want error }{
		"success":   {nil, nil},
		"contents":  {&types.InvalidMessageContents{}, queue.ErrInvalid},
		"parameter": {answered("InvalidParameterValue", ""), queue.ErrInvalid},
		"throttled": {&types.RequestThrottled{}, queue.ErrRefused},
		"no answer": {io.ErrUnexpectedEOF, queue.ErrRefused},
	} {
		err := (&Queue{api: &fake{err: tc.err}}).Send(t.Context(), queue.Message{Group: "g", Dedup: "d", Body: "b"})
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: got error %v, want %v", name, err, tc.want)
		}
	}
}

func TestVisibilityIsRoundedUpToSeconds(t *testing.T) {
	t.Parallel()
	f := new(fake)
	l := (&Queue{api: f}).LeaseFor("h")
	for _, d := range []time.Duration{0, time.Nanosecond, time.Second, 1500 * time.Millisecond, queue.MaxVisibility} {
		if err := l.Extend(t.Context(), d); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]int32{0, 1, 1, 2, 43_200}, f.hidden); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestPollEndsBeforeItsCallerIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := new(fake)
		q := &Queue{api: f}
		for _, left := range []time.Duration{time.Hour, 10 * time.Second, 2 * time.Second, 100 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			if _, err := q.Receive(ctx, 1); err != nil {
				t.Error(err)
			}
			cancel()
		}
		if _, err := q.Receive(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]int32{20, 9, 1, 0, 20}, f.waited); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
	})
}

func TestDeliveryIsReadFromItsAttributes(t *testing.T) {
	t.Parallel()
	f := &fake{messages: []types.Message{{
		Body: aws.String("b"), ReceiptHandle: aws.String("h"),
		Attributes: map[string]string{
			"MessageGroupId": "g", "MessageDeduplicationId": "d", "ApproximateReceiveCount": "3",
		},
	}}}
	got, err := (&Queue{api: f}).Receive(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []queue.Delivery{{Message: queue.Message{Group: "g", Dedup: "d", Body: "b"}, Receives: 3}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(queue.Delivery{}, "Lease")); diff != "" {
		t.Fatalf("want (-), got (+):\n%s", diff)
	}
	if err := got[0].Lease.Done(t.Context()); err != nil || len(f.deleted) != 1 || f.deleted[0] != "h" {
		t.Errorf("Done deleted %q, %v; want the handle received", f.deleted, err)
	}
}
