package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

var (
	// ErrFenced means that the turn is not this worker's any more: it was stopped, ended, or taken for dead. Nothing of
	// the write was applied and nothing of the turn may be shown.
	ErrFenced = errors.New("the turn is not ours any more")
	// ErrHandover is what a worker says whose time is too short for the turn's next step: it has begun none, and the turn
	// is to be handed over.
	ErrHandover = errors.New("the time is too short for another step")
	// ErrRaced means that the records changed between look and act: look again.
	ErrRaced = errors.New("the session changed meanwhile")
)

// Desk looks at sessions, claims their turns and buries those of dead workers. It is safe for concurrent use.
type Desk struct {
	Table  table.Table
	IDs    *id.Source
	Holder string // names this process in leases
	// Permits is how many turns run at once in all of the deployment; 0 is no cap.
	Permits int
	// Gone, if set, tells of a holder whether its process is known to have ended, so that its turns need not wait for
	// their leases to run out. A process that has a store to itself knows that of all others.
	Gone func(holder string) bool
}

// Look reads what a claim is decided from, side by side.
func (d *Desk) Look(ctx context.Context, session id.Session, in id.Thread) (View, error) {
	var v View
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		v.Thread, err = thread.Load(reading, d.Table, in)
		return err
	})
	group.Go(func() (err error) {
		v.Fence, err = d.fence(reading, session)
		return err
	})
	group.Go(func() (err error) {
		v.Next, err = d.Next(reading, session)
		return err
	})
	if d.Permits > 0 {
		group.Go(func() error {
			room, err := capacity.Load(reading, d.Table, d.Permits)
			v.Room = &room
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return View{}, err
	}
	var err error
	switch {
	case v.Fence.Turn == "":
	case v.Fence.Continuing:
		v.Turn, v.Revision, err = d.turn(ctx, v.Fence.Turn)
	default:
		v.Lease, err = d.lease(ctx, session)
	}
	return v, err
}

// Runs reports whether a turn of the session runs.
func (d *Desk) Runs(ctx context.Context, session id.Session) (bool, error) {
	fence, err := d.fence(ctx, session)
	return fence.Turn != "", err
}

// Conversation reads where the session's last message to its owner went, as a route's key; "" if there is none that had
// to be sent.
func (d *Desk) Conversation(ctx context.Context, session id.Session) (string, error) {
	h, err := d.head(ctx, session)
	return h.Conversation, err
}

// Claim starts the oldest queued turn of the view. ErrRaced means to look again.
func (d *Desk) Claim(ctx context.Context, v View, now time.Time) (*Run, error) {
	ops, t, fence, lease := claim(v, d.Holder, now)
	w := d.write(now, ops)
	if err := d.apply(ctx, w, "claiming a turn"); err != nil {
		return nil, err
	}
	// A crash here leaves a running turn with a lease that nobody renews: it is buried when the lease has run out.
	return d.holding(v, w.Revision(), Run{entry: *v.Next, held: Held{Turn: t, Fence: fence}, lease: lease}), nil
}

// Continue goes on with the turn of the view that was handed over. ErrRaced means to look again.
func (d *Desk) Continue(ctx context.Context, v View, now time.Time) (*Run, error) {
	ops, t, fence, lease := resume(v, d.Holder, now)
	w := d.write(now, ops)
	if err := d.apply(ctx, w, "going on with a turn"); err != nil {
		return nil, err
	}
	// A crash here leaves what one after a claim leaves.
	r := Run{entry: Entry{Turn: t}, held: Held{Turn: t, Fence: fence}, lease: lease, continued: true}
	return d.holding(v, w.Revision(), r), nil
}

// holding is the run of this desk whose turn, fence and lease have been put by one write, with its revision.
func (d *Desk) holding(v View, put table.Revision, r Run) *Run {
	r.desk, r.thread = d, v.Thread
	r.held.Revision, r.held.Fence.Revision, r.lease.Revision = put, put, put
	return &r
}

// Strike cancels the oldest queued turn of the view, which may not run any more. ErrRaced means to look again.
func (d *Desk) Strike(ctx context.Context, v View, now time.Time) error {
	return d.apply(ctx, d.write(now, append(Cancel(now, *v.Next), v.Thread.Unchanged())), "cancelling a queued turn")
}

// Join has the oldest queued turn of the view wait for a permit. Then look again: one may have been freed meanwhile, by
// somebody who could not see yet that it is waited for. ErrRaced means the same.
func (d *Desk) Join(ctx context.Context, v View, now time.Time) error {
	return d.apply(ctx, d.write(now, join(v, now)), "waiting for a permit")
}

// Starved lists who waits for a permit and may have one now.
func (d *Desk) Starved(ctx context.Context) ([]capacity.Waiter, error) {
	if d.Permits == 0 {
		return nil, nil
	}
	room, err := capacity.Load(ctx, d.Table, d.Permits)
	return room.Next(), err
}

// Bury ends the session's running turn, whose lease in the view has run out, as failed, tells its owner, and returns
// it. ErrRaced means to look again: its worker gave a sign of life after all, or someone else was quicker.
func (d *Desk) Bury(ctx context.Context, session id.Session, v View, now time.Time) (*Turn, error) {
	h, err := d.held(ctx, session, v.Fence)
	if err != nil {
		return nil, err
	}
	ops, err := End(h, Interruption(now))
	if err != nil {
		return nil, err
	}
	// The dead worker's last sign of life is a condition, so that a late heartbeat and this write can't both succeed.
	for i := range ops {
		if ops[i].Key == LeaseKey(session) && v.Lease != nil {
			ops[i] = table.Delete(LeaseKey(session), table.At(v.Lease.Revision))
		}
	}
	if err := d.apply(ctx, d.write(now, ops), "ending a dead turn"); err != nil {
		return nil, err
	}
	return &h.Turn, nil
}

// held reads what an end of the running turn changes. ErrRaced means that the fence has moved.
func (d *Desk) held(ctx context.Context, session id.Session, f Fence) (Held, error) {
	h := Held{Fence: f}
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() error {
		t, revision, err := d.turn(reading, f.Turn)
		if err == nil {
			h.Turn, h.Revision = *t, revision
		}
		return err
	})
	group.Go(func() (err error) {
		h.Head, err = d.head(reading, session)
		return err
	})
	if err := group.Wait(); err != nil {
		return Held{}, fmt.Errorf("reading a running turn: %w", err)
	}
	if h.Turn.ID != f.Turn || h.Turn.Status != Running {
		return Held{}, ErrRaced
	}
	return h, nil
}

func (d *Desk) turn(ctx context.Context, turn id.Turn) (*Turn, table.Revision, error) {
	var t Turn
	item, err := d.Table.Get(ctx, HeadKey(turn))
	if err != nil {
		return nil, "", err
	}
	revision, err := table.Decode(item, &t)
	return &t, revision, err
}

func (d *Desk) fence(ctx context.Context, session id.Session) (f Fence, err error) {
	item, err := d.Table.Get(ctx, FenceKey(session))
	if err != nil {
		return Fence{}, fmt.Errorf("reading the fence of session %s: %w", session, err)
	}
	f.Revision, err = table.Decode(item, &f)
	return f, err
}

func (d *Desk) lease(ctx context.Context, session id.Session) (*Lease, error) {
	item, err := d.Table.Get(ctx, LeaseKey(session))
	if err != nil {
		return nil, fmt.Errorf("reading the lease of session %s: %w", session, err)
	}
	if item == nil {
		return nil, nil
	}
	var l Lease
	l.Revision, err = table.Decode(item, &l)
	if d.Gone != nil && d.Gone(l.Holder) {
		l.Until = time.Time{}
	}
	return &l, err
}

func (d *Desk) head(ctx context.Context, session id.Session) (h Head, err error) {
	item, err := d.Table.Get(ctx, SessionKey(session))
	if err != nil {
		return Head{}, fmt.Errorf("reading session %s: %w", session, err)
	}
	h.Revision, err = table.Decode(item, &h)
	return h, err
}

func (d *Desk) write(now time.Time, ops []table.Op) table.Write {
	return table.Write{ID: d.IDs.New(now), Ops: ops}
}

// apply settles a write that is conditional on what was just read; a lost race is ErrRaced.
func (d *Desk) apply(ctx context.Context, w table.Write, doing string) error {
	err := table.Apply(ctx, d.Table, w)
	if _, failed := errors.AsType[*table.ConditionError](err); failed {
		return fault.As(fault.Drop, fmt.Errorf("%s: %w", doing, ErrRaced))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
