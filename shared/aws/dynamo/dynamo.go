// Package dynamo is the record store on DynamoDB.
//
// One table holds all records. The attributes of an item:
//
//	p  S  partition key
//	s  S  sort key
//	v  B  value; missing when empty
//	r  S  revision: the ID of the write that put or last added to it
//	n  N  counter; missing until something was added
//	e  N  expiry in seconds since 1970, the table's TTL attribute; missing for never
//
// Keys are text, so that people can read them in the console; DynamoDB orders text by the bytes of its UTF-8, as the
// seam demands. So a scan from or to what is not UTF-8 is invalid here.
//
// A write is one TransactWriteItems whose token is the write's ID: DynamoDB knows it for ten minutes and does not apply
// it twice, however often it is sent. The one exception is a lone put at a revision, a heartbeat for example: a plain
// PutItem costs half, and sent again it can only fail, for a revision never comes back. A lone put if absent, delete or
// add has no such protection by itself and is a transaction.
package dynamo

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// readWithin bounds one Get or Scan, the SDK's own retries included. DynamoDB answers in milliseconds.
const readWithin = 10 * time.Second

// Table is a table.Table.
type Table struct {
	api  api
	name string
}

var _ table.Table = (*Table)(nil)

// api is what Table needs of DynamoDB's client.
type api interface {
	GetItem(context.Context, *sdk.GetItemInput, ...func(*sdk.Options)) (*sdk.GetItemOutput, error)
	PutItem(context.Context, *sdk.PutItemInput, ...func(*sdk.Options)) (*sdk.PutItemOutput, error)
	Query(context.Context, *sdk.QueryInput, ...func(*sdk.Options)) (*sdk.QueryOutput, error)
	TransactWriteItems(
		context.Context, *sdk.TransactWriteItemsInput, ...func(*sdk.Options),
	) (*sdk.TransactWriteItemsOutput, error)
}

// New makes the store of the table of that name, which must be there.
func New(cfg aws.Config, name string) *Table { return &Table{api: sdk.NewFromConfig(cfg), name: name} }

// Get is table.Table's.
func (t *Table) Get(ctx context.Context, key table.Key) (*table.Item, error) {
	if err := key.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	out, err := t.api.GetItem(ctx, &sdk.GetItemInput{
		TableName: &t.name, Key: keyOf(key), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("getting %s: %w", key, readFailed(err))
	}
	return item(out.Item)
}

// Scan is table.Table's.
func (t *Table) Scan(ctx context.Context, q table.Query) (table.Page, error) {
	if err := checkQuery(q); err != nil {
		return table.Page{}, err
	}
	input, some := query(q)
	if !some {
		return table.Page{}, nil
	}
	input.TableName = &t.name
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	out, err := t.api.Query(ctx, input)
	if err != nil {
		return table.Page{}, fmt.Errorf("scanning %s: %w", q.Partition, readFailed(err))
	}
	return page(q, out)
}

// checkQuery demands what the seam does, and text.
func checkQuery(q table.Query) error {
	if err := q.Validate(); err != nil {
		return err
	}
	for _, key := range [...]string{q.Partition, q.Prefix, q.After, q.Until} {
		if !utf8.ValidString(key) {
			return fmt.Errorf("%w: the key %q is not UTF-8", table.ErrInvalid, key)
		}
	}
	return nil
}
