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
	if s.Answered() {
		errs = append(errs, r.Queue.Send(ctx, wake.Conversation(s.Route.Key()).Rescue("stopped#"+m.Subject)))
	}
	for _, session := range s.Tally.Sessions {
		errs = append(errs, r.Queue.Send(ctx, wake.Session(session, m.Thread).Rescue("stopped#"+m.Subject)))
	}
	return errors.Join(errs...)
}

// expire closes what its owner has not answered for too long.
func (r *Reaper) expire(ctx context.Context, m due.Mark, report *Report) error {
	again, err := r.Desk.Expire(ctx, m.Thread, m.Session, m.Turn, time.Now())
	return r.passed(ctx, m, report, again, err)
}

// rest drops a session that has been idle for long.
func (r *Reaper) rest(ctx context.Context, m due.Mark, report *Report) error {
	again, err := r.Desk.Rest(ctx, m.Thread, m.Session, time.Now())
	return r.passed(ctx, m, report, again, err)
}

// passed is done with a term that has passed, or comes back when it will have.
func (r *Reaper) passed(ctx context.Context, m due.Mark, report *Report, again time.Time, err error) error {
	switch {
	case errors.Is(err, turn.ErrRaced):
		return nil // it is answered, stopped or runs just now: the mark stays for the next sweep
	case err != nil:
		return err
	case !again.IsZero():
		return r.move(ctx, m, again)
	}
	return r.drop(ctx, m, report)
}
