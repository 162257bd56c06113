package turn

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// MaxQueued is how many messages wait in a session at most.
const MaxQueued = 20

// depthKey counts what is queued in a session.
func depthKey(session id.Session) table.Key { return sessionKey(session, "depth") }

// SoleKey is there while a turn that is Sole is queued or runs.
func SoleKey(session id.Session) table.Key { return sessionKey(session, "sole") }

// PutSole is the operation, beside those of Enqueue, that has other messages of the turn's connection refused. It fails
// while they are because of another turn.
func (t Turn) PutSole() table.Op {
	return table.Put(SoleKey(t.Session), table.Encode(struct {
		Turn id.Turn `json:"turn"`
	}{t.ID}), table.Absent())
}

// Enqueue lists the operations that queue the turn with the request to run its session. The first fails if there was
// such a turn; the last if the queue is full, which a resume turn's never is.
func (e Entry) Enqueue() []table.Op {
	ops := []table.Op{e.Turn.Put(table.Absent()), e.put(table.Absent()), e.Mark().Put()}
	if e.Turn.Source == Resume {
		return append(ops, table.Add(depthKey(e.Turn.Session), 1))
	}
	return append(ops, table.AddUpTo(depthKey(e.Turn.Session), 1, MaxQueued))
}

// leave lists the operations by which entries of one session leave its queue, each with its turn as become makes it.
func leave(entries []Entry, become func(Turn) Turn) []table.Op {
	var ops []table.Op
	for _, e := range entries {
		t := become(e.Turn)
		ops = append(ops, table.Delete(e.Key(), table.At(e.Revision)), t.Put(table.At(e.Revision)), e.Mark().Settle())
		if !e.Joined.IsZero() {
			ops = append(ops, e.waiter().Leave())
		}
		if t.Sole && t.Status.Ended() {
			ops = append(ops, table.DeleteBlind(SoleKey(t.Session)))
		}
	}
	return append(ops, table.Add(depthKey(entries[0].Turn.Session), -int64(len(entries))))
}

// Cancel lists the operations that cancel queued turns of one session.
func Cancel(now time.Time, entries ...Entry) []table.Op {
	return leave(entries, func(t Turn) Turn {
		t.Status, t.Ended = Cancelled, now
		return t
	})
}

// Mark is the due mark of the entry: put with it, settled by whoever takes it out of the queue.
func (e Entry) Mark() due.Mark {
	return due.Mark{
		At: e.WakeAt, Kind: due.Wake, Subject: string(e.Turn.ID), Session: e.Turn.Session, Thread: e.Turn.Thread,
		Turn: e.Turn.ID, Record: e.Key().Sort,
	}
}

// waiter is the entry in the line for a permit.
func (e Entry) waiter() capacity.Waiter {
	return capacity.Waiter{
		Since: e.Joined, Turn: e.Turn.ID, Session: e.Turn.Session, Thread: e.Turn.Thread, Background: e.Turn.Background(),
	}
}

// Next reads the oldest queued turn of a session; nil if there is none.
func (d *Desk) Next(ctx context.Context, session id.Session) (*Entry, error) {
	oldest, err := d.Queued(ctx, session, 1)
	if err != nil || len(oldest) == 0 {
		return nil, err
	}
	return &oldest[0], nil
}

// Queued reads the oldest queued turns of a session, at most so many.
func (d *Desk) Queued(ctx context.Context, session id.Session, most int) ([]Entry, error) {
	page, err := d.Table.Scan(ctx, table.Query{Partition: SessionPartition(session), Prefix: QueuePrefix, Limit: most})
	if err != nil {
		return nil, fmt.Errorf("reading the queue of session %s: %w", session, err)
	}
	entries := make([]Entry, len(page.Items))
	for i := range page.Items {
		if entries[i].Revision, err = table.Decode(&page.Items[i], &entries[i]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Find reads a turn, and its place in the queue if it is queued. Both are nil if there is no such turn.
func (d *Desk) Find(ctx context.Context, turn id.Turn) (*Turn, *Entry, error) {
	item, err := d.Table.Get(ctx, HeadKey(turn))
	if err != nil || item == nil {
		return nil, nil, err
	}
	var t Turn
	if _, err := table.Decode(item, &t); err != nil || t.Status != Queued {
		return &t, nil, err
	}
	if item, err = d.Table.Get(ctx, t.entryKey()); err != nil || item == nil {
		return &t, nil, err
	}
	var e Entry
	e.Revision, err = table.Decode(item, &e)
	return &t, &e, err
}
