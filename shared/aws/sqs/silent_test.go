package sqs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

// silent never answers.
type silent struct{}

func (silent) ChangeMessageVisibility(
	ctx context.Context, _ *sdk.ChangeMessageVisibilityInput, _ ...func(*sdk.Options),
) (*sdk.ChangeMessageVisibilityOutput, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) DeleteMessage(ctx context.Context, _ *sdk.DeleteMessageInput, _ ...func(*sdk.Options)) (*sdk.DeleteMessageOutput, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) ReceiveMessage(
	ctx context.Context, _ *sdk.ReceiveMessageInput, _ ...func(*sdk.Options),
) (*sdk.ReceiveMessageOutput, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) SendMessage(ctx context.Context, _ *sdk.SendMessageInput, _ ...func(*sdk.Options)) (*sdk.SendMessageOutput, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAQueueThatNeverAnswersHasRefusedInTime(t *testing.T) {
	t.Parallel()
	q := &Queue{api: silent{}}
	l := q.LeaseFor("h")
	for name, c := range map[string]struct {
		call func(context.Context) error
		want time.Duration
	}{
		"send":      {func(ctx context.Context) error { return q.Send(ctx, queue.Message{Group: "g", Dedup: "d", Body: "b"}) }, callWithin},
		"extend":    {func(ctx context.Context) error { return l.Extend(ctx, time.Minute) }, callWithin},
		"give back": {func(ctx context.Context) error { return l.GiveBack(ctx, 0) }, callWithin},
		"done":      {l.Done, callWithin},
		"receive": {func(ctx context.Context) error {
			_, err := q.Receive(ctx, 1)
			return err
		}, longPoll + callWithin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				if err := c.call(t.Context()); !errors.Is(err, queue.ErrRefused) || time.Since(begun) != c.want {
					t.Errorf("got %v after %v, want ErrRefused after %v", err, time.Since(begun), c.want)
				}
			})
		})
	}
}
