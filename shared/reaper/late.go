package reaper

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// stop goes on with a stop whose process died in its middle.
func (r *Reaper) stop(ctx context.Context, m due.Mark, report *Report) error {
	s, err := r.Desk.Halt(ctx, m.Thread, m.Record)
	if err != nil {
		return err
	}
	if s == nil {
		return r.drop(ctx, m, report)
	}
	report.Stopped++
	if r.Stopped != nil {
		r.Stopped(m.Thread, s.Tally.Ended...)
	}
	var errs []error
	if !s.Route.Stored() && s.Route.Connection != "" {
		errs = append(errs, r.Queue.Send(ctx, wake.Conversation(s.Route.Key()).Rescue("stopped#"+m.Subject)))
	}
	for _, session := range s.Tally.Sessions {
		errs = append(errs, r.Queue.Send(ctx, wake.Session(session, m.Thread).Rescue("stopped#"+m.Subject)))
	}
	return errors.Join(errs...)
}

// expire closes what its owner has not answered for too long.
func (r *Reaper) expire(ctx context.Context, m due.Mark, report *Report) error {
	err := r.Desk.Expire(ctx, m.Thread, m.Session, m.Turn, time.Now())
	if errors.Is(err, turn.ErrRaced) {
		return nil // it is being answered or stopped: the mark goes with that
	}
	if err != nil {
		return err
	}
	return r.drop(ctx, m, report)
}

// rest drops a session that has been idle for long, or comes back when it would have been.
func (r *Reaper) rest(ctx context.Context, m due.Mark, report *Report) error {
	again, err := r.Desk.Rest(ctx, m.Thread, m.Session, time.Now())
	switch {
	case errors.Is(err, turn.ErrRaced):
		return nil // it runs: the mark stays for the next sweep
	case err != nil:
		return err
	case !again.IsZero():
		return r.move(ctx, m, again)
	}
	return r.drop(ctx, m, report)
}
