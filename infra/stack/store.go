package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// stores is where everything durable is.
type stores struct {
	table  awsdynamodb.Table
	bucket awss3.Bucket
	queue  awssqs.Queue
}

// newTable makes the record store: partition key p, sort key s, expiry in e (seconds since 1970), paid by request, with
// continuous backups. It has no index: what needs one is a record of its own.
func newTable(stack awscdk.Stack, s Settings) awsdynamodb.Table {
	return awsdynamodb.NewTable(stack, jsii.String("Table"), &awsdynamodb.TableProps{
		PartitionKey:        &awsdynamodb.Attribute{Name: jsii.String("p"), Type: awsdynamodb.AttributeType_STRING},
		SortKey:             &awsdynamodb.Attribute{Name: jsii.String("s"), Type: awsdynamodb.AttributeType_STRING},
		TimeToLiveAttribute: jsii.String("e"),
		BillingMode:         awsdynamodb.BillingMode_PAY_PER_REQUEST,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		RemovalPolicy: removal(s),
	})
}

// newBucket makes the object store: private, encrypted. Objects are never overwritten, so it keeps no versions.
func newBucket(stack awscdk.Stack, s Settings) awss3.Bucket {
	return awss3.NewBucket(stack, jsii.String("Bucket"), &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		EnforceSSL:        jsii.Bool(s.TLSOnly),
		LifecycleRules: &[]*awss3.LifecycleRule{{
			Id:                                  jsii.String("abandoned-uploads"),
			AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(1)),
		}},
		RemovalPolicy: removal(s),
	})
}

const (
	// maxReceives is how often a wake-up is delivered before it becomes a dead letter. A runner gives a wake-up back a
	// few times while another holds its session, which is no failure.
	maxReceives = 10
	// deadDays is how long a dead letter can be looked at: the longest that SQS keeps one. No turn waits there: what
	// it asked for stands in the table, and the reaper sends another wake-up.
	deadDays = 14
)

// newQueue makes the wake-up queue: first in, first out within a session, sessions side by side at high throughput.
// Each wake-up brings its own deduplication ID, since the body alone would make different wake-ups look alike. At first
// it is hidden as long as the runner may run: Lambda refuses a mapping whose queue hides for less.
func newQueue(stack awscdk.Stack, s Settings) awssqs.Queue {
	dead := awssqs.NewQueue(stack, jsii.String("DeadLetters"), &awssqs.QueueProps{
		Fifo:            jsii.Bool(true),
		RetentionPeriod: awscdk.Duration_Days(jsii.Number(deadDays)),
		EnforceSSL:      jsii.Bool(s.TLSOnly),
		Encryption:      awssqs.QueueEncryption_SQS_MANAGED,
	})
	return awssqs.NewQueue(stack, jsii.String("Queue"), &awssqs.QueueProps{
		Fifo:                      jsii.Bool(true),
		ContentBasedDeduplication: jsii.Bool(false),
		DeduplicationScope:        awssqs.DeduplicationScope_MESSAGE_GROUP,
		FifoThroughputLimit:       awssqs.FifoThroughputLimit_PER_MESSAGE_GROUP_ID,
		VisibilityTimeout:         awscdk.Duration_Seconds(jsii.Number(s.RunnerTimeout)),
		DeadLetterQueue:           &awssqs.DeadLetterQueue{Queue: dead, MaxReceiveCount: jsii.Number(maxReceives)},
		EnforceSSL:                jsii.Bool(s.TLSOnly),
		Encryption:                awssqs.QueueEncryption_SQS_MANAGED,
	})
}
