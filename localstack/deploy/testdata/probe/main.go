// Command probe stands in for every function: asked over HTTP or by an invocation, it tries one call on each of the
// things that its environment names and answers how each went.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"
)

func main() { lambda.Start(handle) }

func handle(ctx context.Context, _ json.RawMessage) (map[string]any, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	tried := map[string]string{
		"dynamodb:PutItem":        code(putItem(ctx, cfg)),
		"s3:PutObject":            code(putObject(ctx, cfg)),
		"sqs:SendMessage":         code(send(ctx, cfg)),
		"telegram-token":          code(read(ctx, cfg, "telegram-token")),
		"telegram-webhook-secret": code(read(ctx, cfg, "telegram-webhook-secret")),
	}
	body, err := json.Marshal(tried)
	return map[string]any{"statusCode": 200, "body": string(body)}, err
}

// code is the error's code as AWS says it, or "" for none.
func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func putItem(ctx context.Context, cfg aws.Config) error {
	_, err := dynamodb.NewFromConfig(cfg).PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(os.Getenv("BOBBIN_TABLE")),
		Item: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberS{Value: "probe"},
			"s": &types.AttributeValueMemberS{Value: os.Getenv("AWS_LAMBDA_FUNCTION_NAME")},
		},
	})
	return err
}

func putObject(ctx context.Context, cfg aws.Config) error {
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	_, err := client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(os.Getenv("BOBBIN_BUCKET")), Key: aws.String("probe"), Body: strings.NewReader("x"),
	})
	return err
}

func send(ctx context.Context, cfg aws.Config) error {
	_, err := sqs.NewFromConfig(cfg).SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: aws.String(os.Getenv("BOBBIN_QUEUE_URL")), MessageBody: aws.String("x"),
		MessageGroupId: aws.String("probe"), MessageDeduplicationId: aws.String("probe"),
	})
	return err
}

func read(ctx context.Context, cfg aws.Config, name string) error {
	_, err := ssm.NewFromConfig(cfg).GetParameter(ctx, &ssm.GetParameterInput{
		Name: aws.String(os.Getenv("BOBBIN_SECRETS") + name), WithDecryption: aws.Bool(true),
	})
	return err
}
