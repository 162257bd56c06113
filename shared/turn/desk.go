package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

var (
	// ErrFenced means that the turn is not this worker's any more: it was stopped, ended, or taken for dead. Nothing of
	// the write was applied and nothing of the turn may be shown.
	ErrFenced = errors.New("the turn is not ours any more")
	// ErrRaced means that the records changed between look and act: look again.
	ErrRaced = errors.New("the session changed meanwhile")
)

// Desk looks at sessions, claims their turns and buries those of dead workers. It is safe for concurrent use.
type Desk struct {
	Table  table.Table
	IDs    *id.Source
	Holder string // names this process in leases
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
	if err := group.Wait(); err != nil {
		return View{}, err
	}
	if v.Fence.Turn == "" {
		return v, nil
	}
	lease, err := d.lease(ctx, session)
	v.Lease = lease
	return v, err
}

// Next reads the oldest queued turn of a session; nil if there is none.
func (d *Desk) Next(ctx context.Context, session id.Session) (*Entry, error) {
	oldest, err := d.queued(ctx, session, 1)
	if err != nil || len(oldest) == 0 {
		return nil, err
	}
	return &oldest[0], nil
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
	fence.Revision, lease.Revision = w.Revision(), w.Revision()
	return &Run{
		desk: d, entry: *v.Next, held: Held{Turn: t, Revision: w.Revision(), Fence: fence}, lease: lease, thread: v.Thread,
	}, nil
}

// Strike cancels the oldest queued turn of the view, which may not run any more. ErrRaced means to look again.
func (d *Desk) Strike(ctx context.Context, v View, now time.Time) error {
	return d.apply(ctx, d.write(now, strike(v, now)), "cancelling a queued turn")
}

// Bury ends the session's running turn, whose lease in the view has run out, as failed, tells its owner, and returns
// it. ErrRaced means to look again: its worker gave a sign of life after all, or someone else was quicker.
func (d *Desk) Bury(ctx context.Context, session id.Session, v View, now time.Time) (*Turn, error) {
	h := Held{Fence: v.Fence}
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		item, err := d.Table.Get(reading, HeadKey(v.Fence.Turn))
		if err == nil {
			h.Revision, err = table.Decode(item, &h.Turn)
		}
		return err
	})
	group.Go(func() (err error) {
		h.Head, err = d.head(reading, session)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("reading a dead turn: %w", err)
	}
	if h.Turn.ID != v.Fence.Turn || h.Turn.Status != Running {
		return nil, ErrRaced
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
