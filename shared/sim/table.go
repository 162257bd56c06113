package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// tableSeam is the table as one process sees it.
type tableSeam struct{ *process }

var errDown = fmt.Errorf("%w: simulated", table.ErrRefused)

// Get reads one record.
func (s tableSeam) Get(ctx context.Context, key table.Key) (*table.Item, error) {
	if _, ok := s.look(ctx, get, key.String()); !ok {
		return nil, errDown
	}
	return s.world.table.Get(context.WithoutCancel(ctx), key)
}

// Scan reads part of a partition, its halves at two times if it is torn.
func (s tableSeam) Scan(ctx context.Context, q table.Query) (table.Page, error) {
	key := q.Partition + "/" + q.Prefix
	v, ok := s.look(ctx, scan, key)
	if !ok {
		return table.Page{}, errDown
	}
	s.world.audit.scanned(laneOf(ctx), q)
	if page, ok := s.firstLook(ctx, q); ok {
		return page, nil
	}
	if v.fate != torn || q.Limit == 1 {
		return s.world.table.Scan(context.WithoutCancel(ctx), q)
	}
	return s.torn(ctx, q, key)
}

// firstLook is what a weakened engine sees of the permits: what it saw before it joined the line for one.
func (s tableSeam) firstLook(ctx context.Context, q table.Query) (table.Page, bool) {
	if s.world.setup.Without != SecondLook || q.Partition != "cap" {
		return table.Page{}, false
	}
	lane := laneOf(ctx)
	if page, ok := s.world.seen.permits[lane]; ok {
		return page, true
	}
	page, err := s.world.table.Scan(context.WithoutCancel(ctx), q)
	s.world.seen.permits[lane] = page
	return page, err == nil
}

// torn reads the first record, and the rest at another time.
func (s tableSeam) torn(ctx context.Context, q table.Query, key string) (table.Page, error) {
	head := q
	head.Limit = 1
	page, err := s.world.table.Scan(context.WithoutCancel(ctx), head)
	if err != nil || page.Next == "" {
		return page, err
	}
	if _, ok := s.look(ctx, scan, key); !ok {
		return table.Page{}, errDown
	}
	rest := q
	rest.After, rest.Limit = page.Next, max(q.Limit-1, 0)
	more, err := s.world.table.Scan(context.WithoutCancel(ctx), rest)
	return table.Page{Items: append(page.Items, more.Items...), Next: more.Next}, err
}

// Write applies all operations or none.
func (s tableSeam) Write(ctx context.Context, w table.Write) error {
	var err error
	answer, _ := s.perform(ctx, write, describe(w), func() { err = s.world.apply(ctx, w) })
	switch answer {
	case answered:
		return err
	case notKnown:
		return fmt.Errorf("%w: simulated", table.ErrUnknown)
	default:
		return errDown
	}
}

// apply applies a write at this moment, whether or not its caller still waits, and has it audited.
func (w *world) apply(ctx context.Context, change table.Write) error {
	if w.setup.Weaken != nil {
		if w.audit.writes[change.ID] {
			return nil // sent again: as applied as it was before
		}
		change = w.setup.Weaken(change, w.record)
	}
	err := w.table.Write(context.WithoutCancel(ctx), change)
	if err == nil {
		w.audit.applied(laneOf(ctx), change) //nolint:contextcheck // what its owner does about it is not the caller's
	}
	if failed, ok := errors.AsType[*table.ConditionError](err); ok && takes(describe(change)) {
		what := "take raced"
		if failed.Failed[0].Index < 2 { // the session's head and its fence
			what = "take fenced"
		}
		w.cover.count(what)
	}
	return err
}

// takes reports whether a write, by its description, takes messages into a running turn.
func takes(key string) bool {
	head, _, _ := strings.Cut(key, " ")
	return strings.HasPrefix(head, "session#") && strings.HasSuffix(head, "/head") && strings.Contains(key, " session.q")
}

// handsOver reports whether a write, by its description, hands a running turn over.
func handsOver(key string) bool {
	return strings.HasPrefix(key, "session#") && strings.Contains(key, "/head session.fence turn.head session.lease due due")
}

func (w *world) record(key table.Key) *table.Item {
	item, err := w.table.Get(context.Background(), key)
	w.must(err)
	return item
}

// describe names a write by what it touches, for the order of calls and the eyes of a reader.
func describe(w table.Write) string {
	var b strings.Builder
	b.WriteString(w.Ops[0].Key.String())
	for _, op := range w.Ops[1:] {
		b.WriteByte(' ')
		b.WriteString(brief(op.Key))
	}
	return b.String()
}

// brief is the kind of record that a key addresses.
func brief(k table.Key) string {
	kind, _, _ := strings.Cut(k.Partition, "#")
	sort, _, _ := strings.Cut(k.Sort, "#")
	if kind == "due" {
		return kind
	}
	return kind + "." + sort
}
