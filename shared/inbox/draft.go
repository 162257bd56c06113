package inbox

import (
	"context"
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// draft is what is to be written of a message whose place is known, or that nothing is.
type draft struct {
	// ops are written if the sender is still that owner's and the thread takes messages as it did.
	ops []table.Op
	// once is how many of the first tell a duplicate.
	once int
	// head, if set, is the operation on the thread's head, in place of the check that it has not changed.
	head *table.Op
	// limits come last. The first that fails has its refusal told.
	limits   []table.Op
	refusals []string
	// told or refused, if set, is all there is to do: nothing is written.
	told, refused string

	entry turn.Entry     // with a turn
	said  thread.Message // the owner's, as stored
}

// list is all operations of the draft, and how many stand before the limits.
func (d draft) list(p place, m Message) ([]table.Op, int) {
	head := p.head.Unchanged()
	if d.head != nil {
		head = *d.head
	}
	ops := slices.Concat(d.ops, []table.Op{head, p.who.Unchanged(m.Route.Connection, m.Sender)})
	return append(ops, d.limits...), len(ops)
}

// write commits what drafts makes of the message's place, on condition that its sender is still that owner's and the
// thread is as it was; if not, it looks again. The outcome is Accepted, Duplicate, Refused with what is to be told,
// Obeyed if there was nothing to write, or Stranger when the message is nobody's and nothing was written.
func (b *Inbox) write(ctx context.Context, now time.Time, m Message, drafts func(place) (draft, error)) (Receipt, draft, error) {
	for attempt := range attempts {
		p, err := b.locate(ctx, m)
		if err != nil {
			return Receipt{}, draft{}, err
		}
		if p == nil {
			return Receipt{Outcome: Stranger}, draft{}, nil
		}
		d, err := drafts(*p)
		switch {
		case err != nil:
			return Receipt{}, draft{}, err
		case attempt == 0 && (d.refused != "" || d.told != ""): // no condition tells that the place is as it was remembered
			b.forget(m)
			continue
		case d.refused != "":
			return Receipt{Outcome: Refused, Told: d.refused}, d, nil
		case d.told != "":
			return Receipt{Outcome: Obeyed, Told: d.told}, d, nil
		}
		ops, limits := d.list(*p, m)
		failed, err := table.Try(ctx, b.Table, table.Write{ID: b.IDs.New(now), Ops: ops})
		switch {
		case err != nil:
			return Receipt{}, draft{}, err
		case failed == nil:
			return Receipt{Outcome: Accepted}, d, nil
		}
		switch first := failed.Failed[0].Index; {
		case first < d.once:
			return Receipt{Outcome: Duplicate}, d, nil
		case first >= limits:
			return Receipt{Outcome: Refused, Told: d.refusals[first-limits]}, d, nil
		}
		b.forget(m)
	}
	return Receipt{}, draft{}, fault.As(fault.Retry, ErrStale)
}
