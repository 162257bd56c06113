package turn

import (
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

// LeaseTerm is how long a worker counts as alive after its last sign of life; Beat is how often it gives one. A worker
// that could not renew within the term stops by itself.
const (
	LeaseTerm = 20 * time.Second
	Beat      = 8 * time.Second
)

// View is what a claim is decided from.
type View struct {
	Thread thread.Head
	Fence  Fence
	Next   *Entry          // the oldest queued turn; nil if there is none
	Lease  *Lease          // read only when the fence names a turn that a worker has
	Room   *capacity.State // nil where there is no cap

	Turn     *Turn          // read only when the fence names a turn that was handed over
	Revision table.Revision // of that turn's head
}

// Step is what to do about a session that was woken.
type Step uint8

// The steps.
const (
	Idle     Step = iota + 1 // nothing is queued
	Busy                     // a live worker runs a turn: leave it alone
	Bury                     // the worker of the running turn is dead: end that turn first
	Continue                 // go on with a turn that was handed over
	Strike                   // the oldest queued turn may not run any more: cancel it and look again
	Gather                   // more messages may join the oldest queued turn: come back when it is ready
	Join                     // there is no permit: join the line for one and look again
	Hold                     // there is no permit, and who frees one wakes the session
	Shed                     // there is no permit and no place in the line: the turn ends unanswered
	Claim                    // run the oldest queued turn
)

// Decide says what to do about a session.
func Decide(v View, now time.Time) Step {
	switch {
	case v.Fence.Turn != "" && v.Fence.Continuing:
		return Continue
	case v.Fence.Turn != "" && v.Lease.alive(v.Fence.Epoch, now):
		return Busy
	case v.Fence.Turn != "":
		return Bury
	case v.Next == nil:
		return Idle
	case v.Thread.Stopped(v.Next.Turn.place()):
		return Strike
	case now.Before(v.Next.Ready):
		return Gather
	}
	return v.admit()
}

// admit says whether the oldest queued turn gets a permit.
func (v View) admit() Step {
	switch v.permit().Verdict {
	case capacity.Granted:
		return Claim
	case capacity.Full:
		if v.Next.Turn.Background() {
			return Hold // its due mark brings it back
		}
		return Shed
	case capacity.Wait:
	}
	if v.Next.Joined.IsZero() {
		return Join
	}
	return Hold
}

// permit asks for a permit for the oldest queued turn, at its place in the line; behind it, if it has not joined.
func (v View) permit() capacity.Answer {
	if v.Room == nil {
		return capacity.Answer{Verdict: capacity.Granted}
	}
	return v.Room.Ask(v.Next.waiter())
}

// alive reports whether the lease still vouches for the worker of an epoch. No lease, or another epoch's, vouches for
// nobody.
func (l *Lease) alive(epoch int64, now time.Time) bool {
	return l != nil && l.Epoch == epoch && now.Before(l.Until)
}

// Remaining is how long the lease of the running turn will go on if its worker gives no further sign.
func (v View) Remaining(now time.Time) time.Duration {
	if v.Lease == nil {
		return 0
	}
	return max(v.Lease.Until.Sub(now), 0)
}

// hold is the turn in a worker's hands under the epoch after the view's, with the fence and the lease that say so.
func (v View) hold(t Turn, holder string, now time.Time) (Turn, Fence, Lease) {
	fence := Fence{Epoch: v.Fence.Epoch + 1, Turn: t.ID, Rests: v.Fence.Rests}
	t.Epoch, t.Held = fence.Epoch, now
	return t, fence, Lease{Epoch: fence.Epoch, Until: now.Add(LeaseTerm), Holder: holder}
}

// claim returns the operations that start the oldest queued turn of the view, and the turn, fence and lease as they are
// then. The fence comes first: it is what shows whether the write was ours. Without a permit, the turn can only be ended.
func claim(v View, holder string, now time.Time) ([]table.Op, Turn, Fence, Lease) {
	t, fence, lease := v.hold(v.Next.Turn, holder, now)
	t.Status, t.Started = Running, now
	permit := v.occupy(&t)
	var rest []table.Op
	if t.conversational() && !fence.Rests {
		fence.Rests = true
		rest = []table.Op{restMark(t, now.Add(RestTerm)).Put()}
	}
	return slices.Concat(
		[]table.Op{fence.put(t.Session, table.AtOrAbsent(v.Fence.Revision))},
		leave([]Entry{*v.Next}, func(Turn) Turn { return t }),
		[]table.Op{
			lease.put(t.Session, table.Absent()),
			thread.PutRun(t.Thread, t.Session, t.ID),
			v.Thread.Unchanged(),
			leaseMark(t).Put(),
		},
		permit, rest,
	), t, fence, lease
}

// occupy notes in the turn the slot that it is granted, and lists the operations that take it; without a permit, neither.
func (v View) occupy(t *Turn) []table.Op {
	if v.Room == nil {
		return nil
	}
	answer := v.permit()
	if answer.Verdict != capacity.Granted {
		return nil
	}
	t.Slot = &answer.Slot
	ops := []table.Op{capacity.Slot{Number: answer.Slot, Turn: t.ID, Session: t.Session, Epoch: t.Epoch}.Take()}
	if answer.Spare >= 0 {
		ops = append(ops, capacity.Spare(answer.Spare))
	}
	return ops
}

// resume returns the operations by which a worker goes on with the turn that was handed over.
func resume(v View, holder string, now time.Time) ([]table.Op, Turn, Fence, Lease) {
	t, fence, lease := v.hold(*v.Turn, holder, now)
	return []table.Op{
		fence.put(t.Session, table.At(v.Fence.Revision)),
		t.Put(table.At(v.Revision)),
		lease.put(t.Session, table.Absent()),
		v.Thread.Unchanged(),
		leaseMark(*v.Turn).Settle(),
		leaseMark(t).Put(),
	}, t, fence, lease
}

// join returns the operations by which the oldest queued turn of the view joins the line for a permit.
func join(v View, now time.Time) []table.Op {
	e := *v.Next
	e.Joined = now.Truncate(time.Microsecond)
	return []table.Op{e.put(table.At(e.Revision)), e.Turn.Put(table.At(e.Revision)), e.waiter().Join()}
}

// leaseMark is the due mark of a running turn, put when it changes hands.
func leaseMark(t Turn) due.Mark {
	return due.Mark{
		At: t.Held.Add(LeaseTerm), Kind: due.Lease, Subject: string(t.ID) + "#" + strconv.FormatInt(t.Epoch, 10),
		Session: t.Session, Thread: t.Thread, Turn: t.ID, Epoch: t.Epoch,
	}
}
