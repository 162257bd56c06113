package conformance

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	s3sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	sqssdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	ssmsdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/bobbin-agent/bobbin/shared/aws/dynamo"
	"github.com/bobbin-agent/bobbin/shared/aws/s3"
	"github.com/bobbin-agent/bobbin/shared/aws/sqs"
	"github.com/bobbin-agent/bobbin/shared/aws/ssm"
	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/secret"
	"github.com/bobbin-agent/bobbin/shared/secret/secrettest"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

func TestTable(t *testing.T) {
	t.Parallel()
	suite := tabletest.Suite{Open: openTable}
	if server.real {
		suite.Workers, suite.Rounds, suite.Steps = 4, 5, 60
	}
	suite.Run(t)
}

func openTable(t *testing.T) table.Table {
	name := unique()
	if err := createTable(t.Context(), server.cfg, name); err != nil {
		t.Fatal(err)
	}
	afterwards(t, func(ctx context.Context) error { return dropTable(ctx, server.cfg, name) })
	return dynamo.New(server.cfg, name)
}

func TestBlob(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, openBucket)
}

func openBucket(t *testing.T) blob.Blob {
	client, name := s3.Client(server.cfg), unique()
	if _, err := client.CreateBucket(t.Context(), &s3sdk.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	bucket := s3.New(server.cfg, name)
	afterwards(t, func(ctx context.Context) error {
		if err := empty(ctx, bucket); err != nil {
			return err
		}
		_, err := client.DeleteBucket(ctx, &s3sdk.DeleteBucketInput{Bucket: &name})
		return err
	})
	return bucket
}

func empty(ctx context.Context, bucket *s3.Blob) error {
	for {
		page, err := bucket.List(ctx, "", "")
		if err != nil {
			return err
		}
		for _, o := range page.Objects {
			if err := bucket.Delete(ctx, o.Name); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, openQueue)
}

func openQueue(t *testing.T) (queue.Sender, queue.Receiver) {
	client := sqssdk.NewFromConfig(server.cfg)
	out, err := client.CreateQueue(t.Context(), &sqssdk.CreateQueueInput{
		QueueName: aws.String(unique() + ".fifo"),
		Attributes: map[string]string{
			string(sqstypes.QueueAttributeNameFifoQueue):           "true",
			string(sqstypes.QueueAttributeNameDeduplicationScope):  "messageGroup",
			string(sqstypes.QueueAttributeNameFifoThroughputLimit): "perMessageGroupId",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	afterwards(t, func(ctx context.Context) error {
		_, err := client.DeleteQueue(ctx, &sqssdk.DeleteQueueInput{QueueUrl: out.QueueUrl})
		return err
	})
	q := sqs.New(server.cfg, aws.ToString(out.QueueUrl))
	return q, q
}

func TestSecret(t *testing.T) {
	t.Parallel()
	secrettest.Run(t, openParameters)
}

func openParameters(t *testing.T, secrets map[string]string) secret.Store {
	client, prefix := ssmsdk.NewFromConfig(server.cfg), "/"+unique()+"/"
	for name, value := range secrets {
		if value == "" {
			continue // no parameter is empty
		}
		parameter := prefix + name
		_, err := client.PutParameter(t.Context(), &ssmsdk.PutParameterInput{
			Name: &parameter, Value: &value, Type: ssmtypes.ParameterTypeSecureString,
		})
		if err != nil {
			t.Fatalf("setting %s: %v", name, err)
		}
		afterwards(t, func(ctx context.Context) error {
			_, err := client.DeleteParameter(ctx, &ssmsdk.DeleteParameterInput{Name: &parameter})
			return err
		})
	}
	return ssm.New(server.cfg, prefix)
}
