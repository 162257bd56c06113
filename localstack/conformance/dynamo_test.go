package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// createWithin bounds how long AWS takes to make a table: seconds, as a rule.
const createWithin = 2 * time.Minute

// createTable makes a table as package dynamo wants it, paid by request, and waits until it can be used. What is deployed
// comes from the stack.
func createTable(ctx context.Context, cfg aws.Config, name string) error {
	client := sdk.NewFromConfig(cfg)
	_, err := client.CreateTable(ctx, &sdk.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("p"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("s"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("p"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("s"), KeyType: types.KeyTypeRange},
		},
	})
	if err != nil {
		return fmt.Errorf("creating table %s: %w", name, err)
	}
	waiter := sdk.NewTableExistsWaiter(client, func(o *sdk.TableExistsWaiterOptions) { o.MinDelay = time.Second })
	if err := waiter.Wait(ctx, &sdk.DescribeTableInput{TableName: &name}, createWithin); err != nil {
		return fmt.Errorf("waiting for table %s: %w", name, err)
	}
	_, err = client.UpdateTimeToLive(ctx, &sdk.UpdateTimeToLiveInput{
		TableName:               &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("e"), Enabled: aws.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("setting the expiry of table %s: %w", name, err)
	}
	return nil
}

// dropTable deletes the table with all that it holds.
func dropTable(ctx context.Context, cfg aws.Config, name string) error {
	if _, err := sdk.NewFromConfig(cfg).DeleteTable(ctx, &sdk.DeleteTableInput{TableName: &name}); err != nil {
		return fmt.Errorf("deleting table %s: %w", name, err)
	}
	return nil
}
