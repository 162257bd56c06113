package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/live"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// run works on a turn that is ours and records its end, or hands it over.
func (r *Runner) run(ctx context.Context, d queue.Delivery, run *turn.Run) error {
	t := run.Turn()
	r.show(t, live.Event{Kind: live.Turned, Turn: t.ID, Status: live.Running})
	r.note(ctx, "turn started", t, nil)
	working, rest, stop := r.keepAlive(ctx, d, run)
	defer stop()
	ending, err := r.work(working, run)
	rest() // every end deletes the lease: a renewal under way would collide with it, or find it gone
	handover := errors.Is(err, turn.ErrHandover)
	switch {
	case handover:
		err = run.Handover(working, time.Now())
	case err == nil:
		err = r.end(working, run, ending)
	}
	if err != nil {
		err = r.broken(ctx, working, run, err)
		handover = false
	}
	stop()
	switch {
	case err != nil:
		r.note(ctx, "turn given up", t, err)
		r.ended(t)
		if errors.Is(err, turn.ErrFenced) { // whoever ended it may not know of those who wait for its permit
			return r.feed(context.WithoutCancel(ctx), string(t.ID))
		}
		return err
	case handover:
		return r.handedOver(ctx, run.Turn())
	}
	r.note(ctx, "turn ended", run.Turn(), ending.Cause)
	return r.after(ctx, t)
}

// end records the end. A turn without a permit has nothing to save.
func (r *Runner) end(ctx context.Context, run *turn.Run, e turn.Ending) error {
	if !run.Admitted() {
		return run.Abandon(ctx, e)
	}
	return run.End(ctx, e)
}

// handedOver wakes the next worker, which is another process's or this one's with all of its time before it. If that
// fails, the turn's due mark does.
func (r *Runner) handedOver(ctx context.Context, t turn.Turn) error {
	r.note(ctx, "turn handed over", t, nil)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	cause := string(t.ID) + "#" + strconv.FormatInt(t.Epoch, 10)
	return r.Queue.Send(last, wake.Session(t.Session, t.Thread).Message(cause))
}

// broken ends as failed a turn that could not go on: its worker is being shut down, no sign of life could be given, or
// something broke that is not the model's. If that can't be recorded either, the turn is found dead when its lease has
// run out. A turn that is not ours any more stays as it is; one that an end of ours has reached after all has ended.
func (r *Runner) broken(ctx, working context.Context, run *turn.Run, err error) error {
	ending := turn.Unexpected(err, time.Now())
	if ctx.Err() != nil || errors.Is(err, turn.ErrFenced) || errors.Is(context.Cause(working), turn.ErrFenced) {
		ending = turn.Interruption(time.Now())
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if endErr := run.Abandon(last, ending); endErr != nil {
		return errors.Join(err, endErr)
	}
	r.note(ctx, "turn failed", run.Turn(), err)
	return nil
}

// work runs the agent; a panic of it is an error of the turn, not of the worker. Where it happened is for the operator
// alone: the error is kept with the turn and told to the model.
func (r *Runner) work(ctx context.Context, run *turn.Run) (ending turn.Ending, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the turn panicked: %v", p)
			r.note(ctx, "turn panicked", run.Turn(), fmt.Errorf("%w\n%s", err, debug.Stack()))
		}
	}()
	if !run.Admitted() {
		return turn.Crowded(time.Now()), nil
	}
	ending, err = r.Agent.Work(ctx, run)
	ending.At = time.Now()
	return ending, err
}

// after sends what the turn said, wakes the session if there is more, and whoever waits for the permit that is free now,
// side by side; briefly, when the worker is being shut down.
func (r *Runner) after(ctx context.Context, t turn.Turn) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
	}
	r.ended(t)
	woken := make(chan error, 2)
	go func() { woken <- r.wakeNext(ctx, t) }()
	go func() { woken <- r.feed(ctx, string(t.ID)) }()
	r.flush(ctx, t)
	return errors.Join(<-woken, <-woken)
}

// feed wakes the sessions that wait for a permit and may have one now. What wakes them twice does no harm.
func (r *Runner) feed(ctx context.Context, cause string) error {
	starved, err := r.Desk.Starved(ctx)
	return errors.Join(err, r.wakeAll(ctx, starved, cause))
}

func (r *Runner) wakeAll(ctx context.Context, starved []capacity.Waiter, cause string) error {
	var errs []error
	for _, w := range starved {
		up := wake.Session(w.Session, w.Thread).Message(wake.Free(w.Turn, cause))
		errs = append(errs, r.Queue.Send(ctx, up))
	}
	return errors.Join(errs...)
}

// wakeNext asks for the session's next turn, if there is one. What is queued later brings its own wake-up, and all have
// a due mark.
func (r *Runner) wakeNext(ctx context.Context, t turn.Turn) error {
	next, err := r.Desk.Next(ctx, t.Session)
	if err != nil || next == nil {
		return err
	}
	return r.Queue.Send(ctx, wake.Session(t.Session, t.Thread).Message(string(t.Session)+"#"+string(t.ID)))
}
