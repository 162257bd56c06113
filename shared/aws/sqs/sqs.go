// Package sqs is the wake-up queue on SQS: one FIFO queue, its message groups the seam's groups.
//
// A Lambda function gets its wake-ups from its event and holds each by the receipt handle in it, see LeaseFor; Receiver is
// for whoever polls. Visibility is counted in whole seconds and rounded up.
package sqs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

// callWithin bounds one call, the SDK's own retries included; a poll may take that much longer than it waits. SQS answers
// within milliseconds. A send that took longer is refused: it may have arrived, and can be sent again all the same, since
// SQS takes a message with the same deduplication ID once.
const callWithin = 5 * time.Second

// Queue is a queue.Sender and a queue.Receiver.
type Queue struct {
	api api
	url string
}

var (
	_ queue.Sender   = (*Queue)(nil)
	_ queue.Receiver = (*Queue)(nil)
)

// api is what Queue needs of SQS's client.
type api interface {
	ChangeMessageVisibility(
		context.Context, *sdk.ChangeMessageVisibilityInput, ...func(*sdk.Options),
	) (*sdk.ChangeMessageVisibilityOutput, error)
	DeleteMessage(context.Context, *sdk.DeleteMessageInput, ...func(*sdk.Options)) (*sdk.DeleteMessageOutput, error)
	ReceiveMessage(context.Context, *sdk.ReceiveMessageInput, ...func(*sdk.Options)) (*sdk.ReceiveMessageOutput, error)
	SendMessage(context.Context, *sdk.SendMessageInput, ...func(*sdk.Options)) (*sdk.SendMessageOutput, error)
}

// New makes the queue of that address, which must be there and be FIFO.
func New(cfg aws.Config, url string) *Queue { return &Queue{api: sdk.NewFromConfig(cfg), url: url} }

// Send is queue.Sender's.
func (q *Queue) Send(ctx context.Context, m queue.Message) error {
	if err := m.Validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, err := q.api.SendMessage(ctx, &sdk.SendMessageInput{
		QueueUrl: &q.url, MessageBody: &m.Body, MessageGroupId: &m.Group, MessageDeduplicationId: &m.Dedup,
	})
	if err != nil {
		return fmt.Errorf("sending to group %s: %w", m.Group, failed(err))
	}
	return nil
}

// LeaseFor is the hold on a wake-up that arrived in an event, by its receipt handle.
func (q *Queue) LeaseFor(receiptHandle string) queue.Lease {
	return &lease{queue: q, handle: receiptHandle}
}

type lease struct {
	queue  *Queue
	handle string
}

func (l *lease) Extend(ctx context.Context, d time.Duration) error {
	return l.hide(ctx, "extending a hold", d)
}

// GiveBack leaves the handle good until the time has run out: SQS knows no other way to hide a wake-up.
func (l *lease) GiveBack(ctx context.Context, d time.Duration) error {
	return l.hide(ctx, "giving back", d)
}

func (l *lease) hide(ctx context.Context, doing string, d time.Duration) error {
	if err := queue.CheckVisibility(d); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, err := l.queue.api.ChangeMessageVisibility(ctx, &sdk.ChangeMessageVisibilityInput{
		QueueUrl: &l.queue.url, ReceiptHandle: &l.handle, VisibilityTimeout: seconds(d),
	})
	if err != nil {
		return fmt.Errorf("%s: %w", doing, holdFailed(err))
	}
	return nil
}

func (l *lease) Done(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, err := l.queue.api.DeleteMessage(ctx, &sdk.DeleteMessageInput{QueueUrl: &l.queue.url, ReceiptHandle: &l.handle})
	if err != nil {
		return fmt.Errorf("removing: %w", holdFailed(err))
	}
	return nil
}

// seconds rounds up, so that nothing comes back too early. The longest is queue.MaxVisibility, 43,200.
func seconds(d time.Duration) int32 {
	return int32((d + time.Second - 1) / time.Second) //nolint:gosec // see above
}

// failed says what a failed request means to the seam.
func failed(err error) error {
	switch code(err) {
	case "InvalidParameterValue", "InvalidMessageContents", "InvalidMessageContentsException":
		return fmt.Errorf("%w: %w", queue.ErrInvalid, err)
	}
	return fmt.Errorf("%w: %w", queue.ErrRefused, err)
}

// holdFailed says what it means that a hold could not be used. SQS names a handle that has expired in several ways; as a
// parameter it is the only one here that can be wrong, apart from a visibility that adds up to more than twelve hours.
func holdFailed(err error) error {
	switch c := code(err); {
	case strings.HasSuffix(c, "MessageNotInflight"), strings.HasPrefix(c, "ReceiptHandleIsInvalid"):
		return fmt.Errorf("%w: %w", queue.ErrLapsed, err)
	case strings.HasPrefix(c, "InvalidParameterValue") && !strings.Contains(err.Error(), "VisibilityTimeout"):
		return fmt.Errorf("%w: %w", queue.ErrLapsed, err)
	}
	return failed(err)
}
