package turn

import (
	"strconv"
	"time"

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
	Next   *Entry // the oldest queued turn; nil if there is none
	Lease  *Lease // read only when the fence names a turn
}

// Step is what to do about a session that was woken.
type Step uint8

// The steps.
const (
	Idle   Step = iota + 1 // nothing is queued
	Busy                   // a live worker runs a turn: leave it alone
	Bury                   // the worker of the running turn is dead: end that turn first
	Strike                 // the oldest queued turn may not run any more: cancel it and look again
	Claim                  // run the oldest queued turn
)

// Decide says what to do about a session.
func Decide(v View, now time.Time) Step {
	switch {
	case v.Fence.Turn != "" && v.Lease.alive(v.Fence.Epoch, now):
		return Busy
	case v.Fence.Turn != "":
		return Bury
	case v.Next == nil:
		return Idle
	case v.Thread.Status != thread.Active, v.Next.Generation < v.Thread.Generation:
		return Strike
	default:
		return Claim
	}
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

// claim returns the operations that start the oldest queued turn of the view, and the turn, fence and lease as they are
// then. The fence comes first: it is what shows whether the write was ours.
func claim(v View, holder string, now time.Time) ([]table.Op, Turn, Fence, Lease) {
	t := v.Next.Turn
	t.Status, t.Started = Running, now
	fence := Fence{Epoch: v.Fence.Epoch + 1, Turn: t.ID}
	t.Epoch = fence.Epoch
	lease := Lease{Epoch: fence.Epoch, Until: now.Add(LeaseTerm), Holder: holder}
	return []table.Op{
		fence.put(t.Session, table.AtOrAbsent(v.Fence.Revision)),
		table.Delete(v.Next.Key(), table.At(v.Next.Revision)),
		t.Put(table.At(v.Next.Revision)),
		lease.put(t.Session, table.Absent()),
		thread.PutRun(t.Thread, t.Session, t.ID, fence.Epoch),
		v.Thread.Unchanged(),
		v.Next.Mark().Settle(),
		leaseMark(t).Put(),
	}, t, fence, lease
}

// strike returns the operations that cancel the oldest queued turn of the view.
func strike(v View, now time.Time) []table.Op {
	t := v.Next.Turn
	t.Status, t.Ended = Cancelled, now
	return []table.Op{
		table.Delete(v.Next.Key(), table.At(v.Next.Revision)),
		t.Put(table.At(v.Next.Revision)),
		v.Thread.Unchanged(),
		v.Next.Mark().Settle(),
	}
}

// Mark is the due mark of the entry: put with it, settled by whoever takes it out of the queue.
func (e Entry) Mark() due.Mark {
	return due.Mark{
		At: e.WakeAt, Kind: due.Wake, Subject: string(e.Turn.ID), Session: e.Turn.Session, Thread: e.Turn.Thread,
		Turn: e.Turn.ID, Record: e.Key().Sort,
	}
}

// leaseMark is the due mark put with the claim of a turn.
func leaseMark(t Turn) due.Mark {
	return due.Mark{
		At: t.Started.Add(LeaseTerm), Kind: due.Lease, Subject: string(t.ID) + "#" + strconv.FormatInt(t.Epoch, 10),
		Session: t.Session, Thread: t.Thread, Turn: t.ID, Epoch: t.Epoch,
	}
}
