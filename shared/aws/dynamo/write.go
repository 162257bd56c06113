package dynamo

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bobbin-agent/bobbin/shared/pause"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// Patience of one Write with a table that is busy: about half a second in all.
const (
	busyAttempts = 6
	busyPause    = 20 * time.Millisecond // at most, doubled each time
	sendWithin   = 5 * time.Second       // one attempt; DynamoDB answers in milliseconds
)

// Write is table.Table's.
//
// The SDK's own retries are off, since its last answer would hide that an earlier attempt may have been applied. What
// certainly was not applied, for a conflict or throttling, is tried again here; an unknown outcome is the caller's, who
// sends the same write again.
func (t *Table) Write(ctx context.Context, w table.Write) error {
	if err := w.Validate(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", table.ErrRefused, err)
	}
	send := t.transact
	if swaps(w) {
		send = t.put
	}
	for attempt := 0; ; attempt++ {
		err, busy := outcome(w, once(ctx, w, send))
		if !busy || attempt == busyAttempts-1 || !pause.UpTo(ctx, busyPause<<attempt) {
			return err
		}
	}
}

// swaps reports whether the write is a lone put at a revision.
func swaps(w table.Write) bool {
	return len(w.Ops) == 1 && w.Ops[0].Kind == table.OpPut && w.Ops[0].If.Revision() != ""
}

func once(ctx context.Context, w table.Write, send func(context.Context, table.Write) error) error {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	return send(ctx, w)
}

func noRetry(o *sdk.Options) { o.Retryer = aws.NopRetryer{} }

const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

func (t *Table) put(ctx context.Context, w table.Write) error {
	op := &w.Ops[0]
	cond, values := condition(op)
	_, err := t.api.PutItem(ctx, &sdk.PutItemInput{
		TableName: &t.name, Item: record(op, w.Revision()),
		ConditionExpression: cond, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: allOld,
	}, noRetry)
	return err
}

func (t *Table) transact(ctx context.Context, w table.Write) error {
	actions := make([]types.TransactWriteItem, len(w.Ops))
	for i := range w.Ops {
		actions[i] = t.action(&w.Ops[i], w.Revision())
	}
	_, err := t.api.TransactWriteItems(ctx, &sdk.TransactWriteItemsInput{
		TransactItems: actions, ClientRequestToken: &w.ID,
	}, noRetry)
	return err
}

func (t *Table) action(op *table.Op, r table.Revision) types.TransactWriteItem {
	cond, values := condition(op)
	switch op.Kind {
	case table.OpPut:
		return types.TransactWriteItem{Put: &types.Put{
			TableName: &t.name, Item: record(op, r),
			ConditionExpression: cond, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: allOld,
		}}
	case table.OpDelete:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: &t.name, Key: keyOf(op.Key),
			ConditionExpression: cond, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: allOld,
		}}
	case table.OpAdd:
		values[":r"], values[":delta"] = text(string(r)), number(op.Delta)
		return types.TransactWriteItem{Update: &types.Update{
			TableName: &t.name, Key: keyOf(op.Key), UpdateExpression: aws.String("SET r = :r ADD n :delta"),
			ConditionExpression: cond, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: allOld,
		}}
	case table.OpCheck:
	}
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &t.name, Key: keyOf(op.Key),
		ConditionExpression: cond, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: allOld,
	}}
}

// condition is what must hold of the operation's record; nil for nothing. DynamoDB takes no empty set of values, but
// that of an add is filled by action.
func condition(op *table.Op) (*string, attributes) {
	switch {
	case op.Kind == table.OpAdd:
		return bound(op)
	case op.If.WantsAbsent():
		return aws.String("attribute_not_exists(p)"), nil
	case op.If.Blind():
		return nil, nil
	}
	return aws.String("r = :at"), attributes{":at": text(string(op.If.Revision()))}
}

// bound demands that the counter, or 0 where there is none, leaves room for the add.
func bound(op *table.Op) (*string, attributes) {
	room, never := minus(op.Max, op.Delta)
	switch {
	case !op.HasMax:
		return nil, attributes{}
	case never:
		return aws.String("attribute_exists(p) AND attribute_not_exists(p)"), attributes{}
	case room >= 0:
		return aws.String("attribute_not_exists(n) OR n <= :room"), attributes{":room": number(room)}
	}
	return aws.String("n <= :room"), attributes{":room": number(room)}
}

// minus is a - b, the largest number if that is larger; below is true if it is below the smallest.
func minus(a, b int64) (difference int64, below bool) {
	switch {
	case b < 0 && a > math.MaxInt64+b:
		return math.MaxInt64, false
	case b > 0 && a < math.MinInt64+b:
		return 0, true
	}
	return a - b, false
}
