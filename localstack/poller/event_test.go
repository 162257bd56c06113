package poller

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestEventHasTheShapeThatLambdaGives(t *testing.T) {
	t.Parallel()
	got, err := event("arn:aws:sqs:eu-west-1:000000000000:wakeups.fifo", types.Message{
		MessageId: aws.String("id-1"), ReceiptHandle: aws.String("handle"), Body: aws.String("session"),
		MD5OfBody:  aws.String("21d6f40cfb511982e4424e0e250a9557"),
		Attributes: map[string]string{"MessageGroupId": "g", "ApproximateReceiveCount": "2", "AWSTraceHeader": "Root=1-0-0"},
		MessageAttributes: map[string]types.MessageAttributeValue{
			"kind": {DataType: aws.String("String"), StringValue: aws.String("wake")},
			"raw":  {DataType: aws.String("Binary"), BinaryValue: []byte{0, 255}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Records": [{
		"messageId": "id-1",
		"receiptHandle": "handle",
		"body": "session",
		"md5OfBody": "21d6f40cfb511982e4424e0e250a9557",
		"md5OfMessageAttributes": "",
		"attributes": {"MessageGroupId": "g", "ApproximateReceiveCount": "2", "AWSTraceHeader": "Root=1-0-0"},
		"messageAttributes": {
			"kind": {"dataType": "String", "stringValue": "wake", "stringListValues": [], "binaryListValues": []},
			"raw": {"dataType": "Binary", "binaryValue": "AP8=", "stringListValues": [], "binaryListValues": []}
		},
		"eventSourceARN": "arn:aws:sqs:eu-west-1:000000000000:wakeups.fifo",
		"eventSource": "aws:sqs",
		"awsRegion": "eu-west-1"
	}]}`
	if diff := cmp.Diff(decoded(t, []byte(want)), decoded(t, got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEventWithoutAttributesHasAnEmptyObject(t *testing.T) {
	t.Parallel()
	got, err := event("arn:aws:sqs:eu-west-1:000000000000:wakeups.fifo", types.Message{})
	if err != nil {
		t.Fatal(err)
	}
	record := decoded(t, got).(map[string]any)["Records"].([]any)[0].(map[string]any)
	if diff := cmp.Diff(map[string]any{}, record["messageAttributes"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestAnswersAreReadAsReportBatchItemFailuresSays(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		``:                           false,
		`null`:                       false,
		`{}`:                         false,
		`{"batchItemFailures":[]}`:   false,
		`{"batchItemFailures":null}`: false,
		`{"statusCode":200}`:         false,
		`{"batchItemFailures":[{"itemIdentifier":"id-1"}]}`:      true,
		`{"batchItemFailures":[{"itemIdentifier":"another's"}]}`: true,
		`{"batchItemFailures":[{"itemIdentifier":null}]}`:        true,
		`{"batchItemFailures":[{"messageId":"id-1"}]}`:           true,
		`{"batchItemFailures":"id-1"}`:                           true,
		`"done"`:                                                 true,
		`done`:                                                   true,
		`[]`:                                                     true,
	} {
		if got := rejects([]byte(answer)); got != want {
			t.Errorf("answer %s: keeps the message %v, want %v", answer, got, want)
		}
	}
}
