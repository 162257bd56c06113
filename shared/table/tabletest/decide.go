package tabletest

import (
	"math"
	"time"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// holds reports whether the operation's condition holds of the record, which is nil when absent.
func holds(op *table.Op, current *table.Item) bool {
	switch {
	case op.Kind == table.OpAdd:
		return !op.HasMax || sum(op, current) <= op.Max
	case op.If.WantsAbsent():
		return current == nil
	case op.If.Blind():
		return true
	default:
		return current != nil && current.Revision == op.If.Revision()
	}
}

// next is the record after the operation; nil for absent.
func next(op *table.Op, current *table.Item, r table.Revision) *table.Item {
	switch op.Kind {
	case table.OpPut:
		return &table.Item{Key: op.Key, Value: op.Value, Revision: r, Expires: seconds(op.Expires)}
	case table.OpDelete:
		return nil
	case table.OpAdd:
		item := table.Item{Key: op.Key}
		if current != nil {
			item = *current
		}
		item.Counter, item.Revision = sum(op, current), r
		return &item
	case table.OpCheck:
	}
	return current
}

// sum is the counter after an add; it stops at the ends of its type.
func sum(op *table.Op, current *table.Item) int64 {
	var n int64
	if current != nil {
		n = current.Counter
	}
	switch {
	case op.Delta > 0 && n > math.MaxInt64-op.Delta:
		return math.MaxInt64
	case op.Delta < 0 && n < math.MinInt64-op.Delta:
		return math.MinInt64
	}
	return n + op.Delta
}

// seconds drops what an expiry does not keep.
func seconds(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(t.Unix(), 0).UTC()
}
