package dynamo

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bobbin-agent/bobbin/shared/table"
)

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func keyOf(key table.Key) attributes {
	return attributes{"p": text(key.Partition), "s": text(key.Sort)}
}

// record is the item that a put stores.
func record(op *table.Op, r table.Revision) attributes {
	a := keyOf(op.Key)
	a["r"] = text(string(r))
	if len(op.Value) > 0 {
		a["v"] = &types.AttributeValueMemberB{Value: op.Value}
	}
	if !op.Expires.IsZero() {
		a["e"] = number(op.Expires.Unix())
	}
	return a
}

// item is the record that DynamoDB returned; nil for none.
func item(a attributes) (*table.Item, error) {
	if len(a) == 0 {
		return nil, nil
	}
	it := &table.Item{
		Key:      table.Key{Partition: textOf(a["p"]), Sort: textOf(a["s"])},
		Revision: table.Revision(textOf(a["r"])),
	}
	if v, ok := a["v"].(*types.AttributeValueMemberB); ok {
		it.Value = v.Value
	}
	var err error
	if it.Counter, err = numberOf(a["n"]); err != nil {
		return nil, fmt.Errorf("reading the counter of %s: %w", it.Key, err)
	}
	expires, err := numberOf(a["e"])
	if err != nil {
		return nil, fmt.Errorf("reading the expiry of %s: %w", it.Key, err)
	}
	if expires != 0 {
		it.Expires = time.Unix(expires, 0).UTC()
	}
	return it, nil
}

func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// numberOf is 0 for a missing number and stops at the ends of its type: DynamoDB's numbers are wider.
func numberOf(v types.AttributeValue) (int64, error) {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0, nil
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // ParseInt returned the nearest it can
	}
	return i, err
}
