package poller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// visibility is how long the fake queue hides a received message.
const visibility = 15 * time.Minute

// fakeQueue is a FIFO queue that locks a group while a message of it is hidden.
type fakeQueue struct {
	mu       sync.Mutex
	messages []*fakeMessage
	refuse   int  // so many receives fail first
	missing  bool // the queue is not there
}

type fakeMessage struct {
	id, group, body string
	hidden          time.Time // until then
	receives        int
}

func newQueue() *fakeQueue { return &fakeQueue{} }

func (q *fakeQueue) send(group, body string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	id := fmt.Sprintf("id-%d", len(q.messages)+1)
	q.messages = append(q.messages, &fakeMessage{id: id, group: group, body: body})
}

func (q *fakeQueue) left() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages)
}

func (q *fakeQueue) GetQueueAttributes(
	context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options),
) (*sqs.GetQueueAttributesOutput, error) {
	if q.missing {
		return nil, errors.New("no such queue")
	}
	return &sqs.GetQueueAttributesOutput{Attributes: map[string]string{"QueueArn": "arn:aws:sqs:eu-west-1:0:q.fifo"}}, nil
}

func (q *fakeQueue) ReceiveMessage(
	ctx context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options),
) (*sqs.ReceiveMessageOutput, error) {
	if in.MaxNumberOfMessages != 1 {
		return nil, fmt.Errorf("asked for %d messages", in.MaxNumberOfMessages)
	}
	end := time.Now().Add(time.Duration(in.WaitTimeSeconds) * time.Second)
	for ctx.Err() == nil {
		messages, err := q.receive()
		if err != nil || messages != nil || !time.Now().Before(end) {
			return &sqs.ReceiveMessageOutput{Messages: messages}, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil, ctx.Err()
}

func (q *fakeQueue) receive() ([]types.Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refuse > 0 {
		q.refuse--
		return nil, errors.New("unavailable")
	}
	seen := map[string]bool{}
	for _, m := range q.messages {
		if !seen[m.group] && !time.Now().Before(m.hidden) {
			m.hidden = time.Now().Add(visibility)
			m.receives++
			return []types.Message{m.received()}, nil
		}
		seen[m.group] = true
	}
	return nil, nil
}

func (m *fakeMessage) received() types.Message {
	return types.Message{
		MessageId: aws.String(m.id), ReceiptHandle: aws.String(m.id), Body: aws.String(m.body),
		Attributes: map[string]string{"MessageGroupId": m.group, "ApproximateReceiveCount": strconv.Itoa(m.receives)},
	}
}

func (q *fakeQueue) DeleteMessage(
	_ context.Context, in *sqs.DeleteMessageInput, _ ...func(*sqs.Options),
) (*sqs.DeleteMessageOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = slices.DeleteFunc(q.messages, func(m *fakeMessage) bool { return m.id == *in.ReceiptHandle })
	return &sqs.DeleteMessageOutput{}, nil
}

// fakeFunction is a function that takes its time and gives its answers in turn, then none.
type fakeFunction struct {
	takes time.Duration

	mu        sync.Mutex
	answers   []answer
	bodies    []string
	now, peak int
}

type answer struct {
	payload, functionError string
	err                    error
}

// started lists the bodies in the order of their invocations.
func (f *fakeFunction) started() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.bodies, " ")
}

// running is how many invocations there are now.
func (f *fakeFunction) running() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// most is how many invocations there were at once.
func (f *fakeFunction) most() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peak
}

func (f *fakeFunction) Invoke(
	ctx context.Context, in *lambda.InvokeInput, _ ...func(*lambda.Options),
) (*lambda.InvokeOutput, error) {
	var event events.SQSEvent
	if err := json.Unmarshal(in.Payload, &event); err != nil || len(event.Records) != 1 {
		return nil, fmt.Errorf("event %s: %w", in.Payload, err)
	}
	a := f.begin(event.Records[0].Body)
	defer f.end()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(f.takes):
	}
	out := &lambda.InvokeOutput{Payload: []byte(a.payload)}
	if a.functionError != "" {
		out.FunctionError = &a.functionError
	}
	return out, a.err
}

func (f *fakeFunction) begin(body string) answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bodies = append(f.bodies, body)
	f.now++
	f.peak = max(f.peak, f.now)
	if len(f.answers) == 0 {
		return answer{}
	}
	first := f.answers[0]
	f.answers = f.answers[1:]
	return first
}

func (f *fakeFunction) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now--
}
