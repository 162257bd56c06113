package sqs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

// longPoll is the longest that SQS lets a receive wait.
const longPoll = 20 * time.Second

// answerWithin is what a poll leaves of its context's time for the answer to arrive.
const answerWithin = 200 * time.Millisecond

// Receive returns one wake-up at a time, whatever most is: SQS fills a batch with wake-ups of one group, which the seam
// wants one by one. It returns none when SQS has had none for 20 seconds, or until shortly before the context's deadline.
//
// A poll that is cancelled may leave a wake-up hidden, received by nobody, until its visibility ends.
func (q *Queue) Receive(ctx context.Context, most int) ([]queue.Delivery, error) {
	if err := queue.CheckReceive(most); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wait := patience(ctx)
	bounded, cancel := context.WithTimeout(ctx, time.Duration(wait)*time.Second+callWithin)
	defer cancel()
	out, err := q.api.ReceiveMessage(bounded, &sdk.ReceiveMessageInput{
		QueueUrl:            &q.url,
		MaxNumberOfMessages: 1,
		WaitTimeSeconds:     wait,
		VisibilityTimeout:   seconds(queue.Visibility),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{
			types.MessageSystemAttributeNameApproximateReceiveCount,
			types.MessageSystemAttributeNameMessageDeduplicationId,
			types.MessageSystemAttributeNameMessageGroupId,
		},
	})
	if err != nil {
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		return nil, fmt.Errorf("receiving: %w", failed(err))
	}
	deliveries := make([]queue.Delivery, len(out.Messages))
	for i := range out.Messages {
		deliveries[i] = q.delivery(&out.Messages[i])
	}
	return deliveries, nil
}

// patience is how many whole seconds SQS may wait so that its answer still finds the caller there.
func patience(ctx context.Context) int32 {
	wait := longPoll
	if deadline, ok := ctx.Deadline(); ok {
		wait = max(0, min(wait, time.Until(deadline)-answerWithin))
	}
	return int32(wait / time.Second)
}

func (q *Queue) delivery(m *types.Message) queue.Delivery {
	attribute := func(n types.MessageSystemAttributeName) string { return m.Attributes[string(n)] }
	receives, err := strconv.Atoi(attribute(types.MessageSystemAttributeNameApproximateReceiveCount))
	if err != nil {
		receives = 1 // it was received now
	}
	return queue.Delivery{
		Message: queue.Message{
			Group: attribute(types.MessageSystemAttributeNameMessageGroupId),
			Dedup: attribute(types.MessageSystemAttributeNameMessageDeduplicationId),
			Body:  aws.ToString(m.Body),
		},
		Receives: receives,
		Lease:    q.LeaseFor(aws.ToString(m.ReceiptHandle)),
	}
}

// code is SQS's name for the error; "" if it did not answer.
func code(err error) string {
	if answer, ok := errors.AsType[smithy.APIError](err); ok {
		return answer.ErrorCode()
	}
	return ""
}
