// Package poller invokes a Lambda function with the messages of an SQS queue as AWS's event source mapping does: one
// message an invocation, several invocations side by side, a message deleted when its invocation went well and left
// alone when it did not. Emulators whose own mapping runs one invocation at a time can so show sessions in parallel.
//
// What keeps a FIFO group in order is the queue, here as on AWS: it delivers nothing of a group while a message of it
// is hidden. Nor does the poller renew a hold: the function itself changes the visibility.
package poller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	// longPoll is how long one receive waits for a message, the longest that SQS allows.
	longPoll = 20
	// pause is how long the poller rests after a receive that failed.
	pause = time.Second
	// defaultConcurrency is the mapping's own in the stack.
	defaultConcurrency = 20
)

// Queue is what the poller needs of SQS.
type Queue interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(context.Context, *sqs.DeleteMessageInput, ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// Lambda is what the poller needs of Lambda. It must not repeat an invocation whose outcome it doesn't know.
type Lambda interface {
	Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// Poller moves messages from one queue to one function.
type Poller struct {
	Queue       Queue
	Lambda      Lambda
	QueueURL    string
	Function    string      // name or ARN
	Concurrency int         // invocations at once at most; 0 for 20
	Failed      func(error) // told of each receive, invocation or delete that failed, from any goroutine; nil for none
}

// New makes a poller on the AWS SDK's clients.
func New(cfg aws.Config, queueURL, function string) *Poller {
	return &Poller{
		Queue:    sqs.NewFromConfig(cfg),
		Lambda:   lambda.NewFromConfig(cfg, func(o *lambda.Options) { o.Retryer = aws.NopRetryer{} }),
		QueueURL: queueURL,
		Function: function,
	}
}

// Run polls until the context ends and all invocations have returned; the context's end ends those too, as far as the
// caller is concerned: their messages stay hidden until their visibility runs out. It returns an error only when the
// queue can't be looked up at the start.
func (p *Poller) Run(ctx context.Context) error {
	arn, err := p.arn(ctx)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, p.concurrency())
	for take(ctx, slots) {
		m, err := p.receive(ctx)
		if m == nil {
			<-slots
			p.rest(ctx, err)
			continue
		}
		running.Go(func() {
			defer func() { <-slots }()
			p.report(ctx, p.handle(ctx, arn, *m))
		})
	}
	return nil
}

func (p *Poller) concurrency() int {
	if p.Concurrency > 0 {
		return p.Concurrency
	}
	return defaultConcurrency
}

// take waits for a free slot; false when the context has ended.
func take(ctx context.Context, slots chan<- struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case slots <- struct{}{}:
		return ctx.Err() == nil
	}
}

// arn asks the queue for its ARN, which events carry.
func (p *Poller) arn(ctx context.Context) (string, error) {
	const name = types.QueueAttributeNameQueueArn
	out, err := p.Queue.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &p.QueueURL, AttributeNames: []types.QueueAttributeName{name},
	})
	if err != nil {
		return "", fmt.Errorf("looking up the queue %s: %w", p.QueueURL, err)
	}
	return out.Attributes[string(name)], nil
}

// receive waits for one message; nil when none came.
func (p *Poller) receive(ctx context.Context) (*types.Message, error) {
	out, err := p.Queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    &p.QueueURL,
		MaxNumberOfMessages:         1,
		WaitTimeSeconds:             longPoll,
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, fmt.Errorf("receiving: %w", err)
	}
	if len(out.Messages) == 0 {
		return nil, nil
	}
	return &out.Messages[0], nil
}

// handle invokes the function with the message and deletes it if that went well.
func (p *Poller) handle(ctx context.Context, arn string, m types.Message) error {
	id := aws.ToString(m.MessageId)
	if err := p.invoke(ctx, arn, m); err != nil {
		return fmt.Errorf("message %s: %w", id, err)
	}
	_, err := p.Queue.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &p.QueueURL, ReceiptHandle: m.ReceiptHandle})
	if err != nil {
		return fmt.Errorf("deleting message %s: %w", id, err)
	}
	return nil
}

// invoke runs the function on the message; nil only if the message is done with.
func (p *Poller) invoke(ctx context.Context, arn string, m types.Message) error {
	payload, err := event(arn, m)
	if err != nil {
		return err
	}
	out, err := p.Lambda.Invoke(ctx, &lambda.InvokeInput{FunctionName: &p.Function, Payload: payload})
	switch {
	case err != nil:
		return fmt.Errorf("invoking %s: %w", p.Function, err)
	case out.FunctionError != nil:
		return fmt.Errorf("%s ended with %s: %s", p.Function, *out.FunctionError, out.Payload)
	case rejects(out.Payload):
		return fmt.Errorf("%s reported the message as failed: %s", p.Function, out.Payload)
	default:
		return nil
	}
}

// rest waits after a receive that failed, not after one that found nothing.
func (p *Poller) rest(ctx context.Context, err error) {
	if err == nil {
		return
	}
	p.report(ctx, err)
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// report tells of what went wrong, unless it did because the poller was told to end.
func (p *Poller) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && p.Failed != nil {
		p.Failed(err)
	}
}
