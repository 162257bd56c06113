package turn

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
)

const (
	// maxTake is how many messages are taken in one write: up to five operations each, and some for fence and head.
	maxTake = 15
	// maxTakes bounds how many writes one look at the queue leads to; what is left is for the next step.
	maxTakes = 20
)

// Takeable is which of the oldest queued messages the running turn takes: all, from the oldest, that came by its own
// connection and conversation and may join another turn. The first that may not stays, with all behind it.
func Takeable(t Turn, in thread.Head, queued []Entry) []Entry {
	if !t.takes() {
		return nil
	}
	n := 0
	for n < len(queued) && n < maxTake && joins(t, in, queued[n]) {
		n++
	}
	return queued[:n]
}

// takes reports whether turns of this source take messages.
func (t Turn) takes() bool {
	switch t.Source {
	case User, Task, Resume:
		return true
	case Schedule, Event:
		return false
	}
	return false
}

func joins(t Turn, in thread.Head, e Entry) bool {
	apart := e.Turn.Apart && (e.Turn.Group == "" || e.Turn.Group != t.Group)
	return e.Turn.Source == User && !apart && e.Turn.Route.Key() == t.Route.Key() && !in.Stopped(e.Turn.place())
}

// take lists the operations by which queued messages move to the running turn: their own turns close, naming the turn
// that answers them.
func take(taken []Entry, by id.Turn, now time.Time) []table.Op {
	return leave(taken, func(t Turn) Turn {
		t.Status, t.Ended, t.ClosedBy = Cancelled, now, by
		return t
	})
}

// Steer saves what is new in the transcript, together with the messages that were sent to the turn meanwhile, in one
// write, and returns those; said is what the transcript has of one. When it returns, each message has either been taken
// or is queued, never both. ErrFenced means that the turn is not ours any more. With an error come those that were taken
// before it; of the write that it is about nobody knows, unless the error says.
func (r *Run) Steer(ctx context.Context, now time.Time, said func(Entry) []model.Block) ([]Entry, error) {
	var all []Entry
	for range maxTakes {
		taken, more, err := r.steer(ctx, now, said)
		all = append(all, taken...)
		if err != nil || !more {
			return all, err
		}
	}
	return all, r.Checkpoint(ctx, now)
}

// Gather is Steer before the first request: it takes what the turn was held back for, which is the rest of the message's
// group if that has one, else all.
func (r *Run) Gather(ctx context.Context, now time.Time, said func(Entry) []model.Block) ([]Entry, error) {
	r.group = r.held.Turn.Group
	defer func() { r.group = "" }()
	return r.Steer(ctx, now, said)
}

// wanted is which of the takeable messages are taken now.
func (r *Run) wanted(takeable []Entry) []Entry {
	other := slices.IndexFunc(takeable, func(e Entry) bool { return r.group != "" && e.Turn.Group != r.group })
	if other < 0 {
		return takeable
	}
	return takeable[:other]
}

// steer does one write. It reports whether to look again: there may be more, or the queue changed under the write.
func (r *Run) steer(ctx context.Context, now time.Time, said func(Entry) []model.Block) ([]Entry, bool, error) {
	manifest, queued, err := r.lookWhileSaving(ctx)
	if err != nil {
		return nil, false, err
	}
	taken := r.wanted(Takeable(r.held.Turn, r.thread, queued))
	if len(taken) == 0 {
		return nil, false, r.commit(ctx, now, manifest)
	}
	before, head := len(r.log.Entries()), r.held.Head
	ops := []table.Op{r.thread.Unchanged()}
	for _, e := range taken {
		r.held.Head.Told = latest(r.held.Head.Told, e.Turn.Created) // the reply stands after all that it answers
		r.held.Head.Taken = &Taken{By: r.held.Turn.ID, Place: r.held.newest().With(e.Turn.place())}
		r.log.Append(transcript.Entry{Kind: transcript.Owner, Turn: r.held.Turn.ID, Blocks: said(e)})
	}
	ops = append(ops, take(taken, r.held.Turn.ID, now)...)
	// The part just uploaded is listed by nobody; this one holds the results and the messages.
	if manifest, err = r.log.Checkpoint(ctx, r.blobs, r.held.Fence.Epoch); err != nil {
		return nil, false, err
	}
	err = r.commit(ctx, now, manifest, ops...)
	// A crash before this write leaves the messages queued; after it they are in the transcript, and the turn is found dead.
	switch {
	case err == nil:
		return taken, len(taken) == maxTake, nil
	case !errors.Is(err, ErrRaced):
		return nil, false, err
	}
	r.log.Truncate(before)
	r.held.Head = head
	r.thread, err = thread.Load(ctx, r.desk.Table, r.held.Turn.Thread)
	return nil, true, err
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// lookWhileSaving uploads what is new and reads the queue side by side: mostly there is nothing to take.
func (r *Run) lookWhileSaving(ctx context.Context) (m transcript.Manifest, queued []Entry, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		m, err = r.log.Checkpoint(ctx, r.blobs, r.held.Fence.Epoch)
		return err
	})
	if r.held.Turn.takes() {
		group.Go(func() (err error) {
			queued, err = r.desk.Queued(ctx, r.held.Turn.Session, maxTake)
			return err
		})
	}
	return m, queued, group.Wait()
}
