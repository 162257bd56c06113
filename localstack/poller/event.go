package poller

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// event is what Lambda hands to the function: the message as the only record. The attributes are those that SQS gave,
// of which a FIFO queue's are MessageGroupId, MessageDeduplicationId, SequenceNumber, SentTimestamp, SenderId,
// ApproximateReceiveCount, ApproximateFirstReceiveTimestamp and, for a traced message, AWSTraceHeader.
func event(arn string, m types.Message) ([]byte, error) {
	payload, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{
		MessageId:              aws.ToString(m.MessageId),
		ReceiptHandle:          aws.ToString(m.ReceiptHandle),
		Body:                   aws.ToString(m.Body),
		Md5OfBody:              aws.ToString(m.MD5OfBody),
		Md5OfMessageAttributes: aws.ToString(m.MD5OfMessageAttributes),
		Attributes:             m.Attributes,
		MessageAttributes:      attributes(m.MessageAttributes),
		EventSourceARN:         arn,
		EventSource:            "aws:sqs",
		AWSRegion:              region(arn),
	}}})
	if err != nil {
		return nil, fmt.Errorf("writing the event: %w", err)
	}
	return payload, nil
}

// attributes are the sender's own. Lambda gives an empty object where there are none, and empty lists in each.
func attributes(sent map[string]types.MessageAttributeValue) map[string]events.SQSMessageAttribute {
	given := make(map[string]events.SQSMessageAttribute, len(sent))
	for name, value := range sent {
		given[name] = events.SQSMessageAttribute{
			StringValue:      value.StringValue,
			BinaryValue:      value.BinaryValue,
			StringListValues: []string{},
			BinaryListValues: [][]byte{},
			DataType:         aws.ToString(value.DataType),
		}
	}
	return given
}

// region is the fourth part of an ARN.
func region(arn string) string {
	parts := strings.SplitN(arn, ":", 5)
	if len(parts) < 5 {
		return ""
	}
	return parts[3]
}

// rejects reports whether the function's answer keeps the message in the queue, by the rules of
// ReportBatchItemFailures: nothing, null and an object without failures are success; an answer of another shape and
// any failure are not. With one message an invocation it makes no difference which message a failure names: one that
// is not in the batch fails the whole batch.
func rejects(answer []byte) bool {
	if len(answer) == 0 {
		return false
	}
	var batch *struct {
		Failures []json.RawMessage `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(answer, &batch); err != nil {
		return true
	}
	return batch != nil && len(batch.Failures) > 0
}
