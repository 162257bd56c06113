package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// claim looks until a turn is claimed, or there is none to claim. The wake-up has been shortened when it returns.
func (r *Runner) claim(ctx context.Context, d queue.Delivery, up wake.Up, shortened <-chan error) (*turn.Run, Verdict, error) {
	view, err := r.Desk.Look(ctx, up.Session, up.Thread)
	if extendErr := <-shortened; extendErr != nil && !errors.Is(extendErr, queue.ErrRefused) {
		return nil, 0, fmt.Errorf("holding the wake-up: %w", extendErr)
	}
	for range maxLooks {
		if err != nil {
			return nil, 0, err
		}
		now := time.Now()
		switch turn.Decide(view, now) {
		case turn.Idle:
			verdict, err := r.idle(ctx, d, up)
			return nil, verdict, err
		case turn.Busy:
			verdict, err := r.busy(ctx, d, view.Remaining(now))
			return nil, verdict, err
		case turn.Bury:
			err = r.bury(ctx, up, view, now)
		case turn.Strike:
			err = r.Desk.Strike(ctx, view, now)
		case turn.Gather:
			verdict, err := r.giveBack(ctx, d, view.Next.Ready.Sub(now))
			return nil, verdict, err
		case turn.Join:
			err = r.Desk.Join(ctx, view, now)
		case turn.Hold:
			return nil, Done, r.wakeAll(ctx, view.Room.Next(), "held#"+d.Dedup)
		case turn.Continue, turn.Claim, turn.Shed:
			var run *turn.Run
			if run, err = r.begin(ctx, view, now); err == nil {
				return run, 0, nil
			}
		}
		if err == nil || errors.Is(err, turn.ErrRaced) {
			view, err = r.Desk.Look(ctx, up.Session, up.Thread)
		}
	}
	return nil, 0, fmt.Errorf("claiming a turn of session %s: the session kept changing", up.Session)
}

// begin makes the turn that the view shows this worker's.
func (r *Runner) begin(ctx context.Context, view turn.View, now time.Time) (*turn.Run, error) {
	if view.Fence.Turn != "" {
		return r.Desk.Continue(ctx, view, now)
	}
	return r.Desk.Claim(ctx, view, now)
}

// idle sees to a session that has nothing to run. A wake-up that had been delivered before may be that of a worker who
// died after it had ended the turn and before it had sent what the turn said.
func (r *Runner) idle(ctx context.Context, d queue.Delivery, up wake.Up) (Verdict, error) {
	if err := r.feed(ctx, "idle#"+d.Dedup); err != nil {
		return 0, err
	}
	if d.Receives <= 1 {
		return Done, nil
	}
	conversation, err := r.Desk.Conversation(ctx, up.Session)
	if err != nil {
		return 0, err
	}
	if conversation == "" {
		return Done, nil
	}
	return r.deliver(ctx, d, conversation)
}

// busy leaves a session alone whose turn has a live worker. A wake-up that had been delivered before may be that very
// worker's, who may have died since: it comes again when the lease would have run out.
func (r *Runner) busy(ctx context.Context, d queue.Delivery, remaining time.Duration) (Verdict, error) {
	if d.Receives <= 1 || d.Receives > 1+giveBacks {
		return Done, nil
	}
	return r.giveBack(ctx, d, remaining+time.Second)
}

func (r *Runner) giveBack(ctx context.Context, d queue.Delivery, wait time.Duration) (Verdict, error) {
	if err := d.Lease.GiveBack(ctx, min(wait, queue.MaxVisibility)); err != nil {
		return 0, fmt.Errorf("giving a wake-up back: %w", err)
	}
	return GivenBack, nil
}

func (r *Runner) bury(ctx context.Context, up wake.Up, view turn.View, now time.Time) error {
	dead, err := r.Desk.Bury(ctx, up.Session, view, now)
	if err != nil {
		return err
	}
	r.note(ctx, "turn interrupted", *dead, nil)
	r.ended(*dead)
	r.flush(ctx, *dead)
	return r.feed(ctx, string(dead.ID))
}
