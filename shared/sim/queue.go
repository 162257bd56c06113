package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/runner"
)

// queueSeam is the queue as one process sees it.
type queueSeam struct{ *process }

var errNoQueue = fmt.Errorf("%w: simulated", queue.ErrRefused)

// Send puts a wake-up into the queue, and sometimes elsewhere than asked for: nothing may rest on a wake-up.
func (s queueSeam) Send(ctx context.Context, m queue.Message) error {
	if err := m.Validate(); err != nil {
		s.world.violate("a wake-up that no queue takes: %v", err)
	}
	v := s.enter(ctx, sendWake, m.Group+" "+m.Dedup)
	if v.fate == dead || v.fate == refuse || ctx.Err() != nil && !v.coin {
		return errNoQueue
	}
	s.put(m, v)
	switch {
	case v.fate == killAfter:
		s.world.kill(s.process, v.pause)
		return errNoQueue
	case v.fate == unheard, ctx.Err() != nil:
		return errNoQueue
	}
	return nil
}

func (s queueSeam) put(m queue.Message, v verdict) {
	if v.fate == drop {
		return
	}
	l := &s.world.queue
	u := l.send(m, time.Now())
	switch {
	case u == nil:
	case v.fate == double:
		if v.coin {
			m.Group += "#rescue" // as the reaper sends it: beside the other
		}
		l.append(m)
	case v.fate == delay:
		u.visible = time.Now().Add(v.pause)
	case v.fate == reorder:
		l.overtake(u)
	}
}

// leaseSeam is a hold as the process that has it sees it.
type leaseSeam struct {
	*process
	hold hold
}

// Extend keeps the wake-up hidden.
func (s leaseSeam) Extend(ctx context.Context, d time.Duration) error {
	return s.change(ctx, extend, func(now time.Time) {
		s.hold.hide(now.Add(d), true)
		s.extended++
	})
}

// GiveBack shows it again after d.
func (s leaseSeam) GiveBack(ctx context.Context, d time.Duration) error {
	return s.change(ctx, giveBack, func(now time.Time) {
		if s.world.setup.Without == GiveBack {
			s.hold.remove()
			return
		}
		s.hold.hide(now.Add(d), false)
	})
}

// Done removes it.
func (s leaseSeam) Done(ctx context.Context) error {
	return s.change(ctx, done, func(time.Time) { s.hold.remove() })
}

func (s leaseSeam) change(ctx context.Context, k kind, do func(now time.Time)) error {
	lapsed := false
	answer, _ := s.perform(ctx, k, s.hold.wakeup.Group, func() {
		if lapsed = s.hold.lapsed(time.Now()); !lapsed {
			do(time.Now())
		}
	})
	switch {
	case answer != answered:
		return errNoQueue
	case lapsed:
		return queue.ErrLapsed
	}
	return nil
}

// receive acts on a wake-up as a receiver does: what is done is removed, what failed is left to come again.
func (p *process) receive(ctx context.Context, d queue.Delivery) {
	verdict, err := p.runner.Handle(ctx, d)
	switch {
	case err != nil:
		p.world.cover.count("wake-up failed")
	case verdict == runner.GivenBack:
		p.world.cover.count("wake-up given back")
	default:
		_ = d.Lease.Done(context.WithoutCancel(ctx)) // if it fails, the wake-up comes again and finds nothing to do
	}
}
