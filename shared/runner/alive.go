package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// watchEvery is how often a worker looks whether its turn has been stopped: within a second, and, being no divisor of
// turn.Beat, hardly ever at the instant at which it gives its signs of life.
const watchEvery = 983 * time.Millisecond

// keepAlive gives the worker's signs of life, lease first, then the wake-up, and watches for a stop, until rest or stop.
// The context it returns ends when the turn is not ours any more, when no sign could be given for so long that others take
// the worker for dead, or at stop. rest and stop return when the last sign has been given; both may be called again.
func (r *Runner) keepAlive(ctx context.Context, d queue.Delivery, run *turn.Run) (working context.Context, rest, stop func()) {
	working, end := context.WithCancelCause(ctx)
	beating, halt := context.WithCancel(working)
	var done sync.WaitGroup
	until := func(err error) {
		if err != nil {
			end(err)
		}
	}
	done.Go(func() { until(beat(beating, d, run)) })
	done.Go(func() { until(watch(beating, run)) })
	rest = func() {
		halt()
		done.Wait()
	}
	return working, rest, func() {
		rest()
		end(nil)
	}
}

// beat returns nil when its context ends, and an error when the turn must stop.
func beat(ctx context.Context, d queue.Delivery, run *turn.Run) error {
	ticker := time.NewTicker(turn.Beat)
	defer ticker.Stop()
	lapse := time.NewTimer(time.Until(run.Until()))
	defer lapse.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-lapse.C:
		case <-ticker.C:
		}
		switch { // whichever of them was ready first: a process that was frozen finds all of them so
		case ctx.Err() != nil:
			return nil
		case !time.Now().Before(run.Until()):
			return fmt.Errorf("%w: no sign of life could be given in time", turn.ErrFenced)
		}
		err := renew(ctx, run)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, turn.ErrFenced):
			return err
		case err != nil && !time.Now().Before(run.Until()):
			return fmt.Errorf("%w: no sign of life could be given: %w", turn.ErrFenced, err)
		case err == nil:
			lapse.Reset(time.Until(run.Until()))
			// If this fails, the wake-up comes again and finds the lease alive.
			_ = d.Lease.Extend(ctx, visibility)
		}
	}
}

// watch returns nil when its context ends, and an error when the turn is not ours any more. What it can't find out, the next write of the turn does.
func watch(ctx context.Context, run *turn.Run) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if ctx.Err() != nil { // both may be ready
			return nil
		}
		mine, err := run.Mine(ctx)
		if err == nil && !mine && ctx.Err() == nil {
			return fmt.Errorf("%w: it was stopped, or taken for dead", turn.ErrFenced)
		}
	}
}

// renew renews the lease, giving up in time for the next attempt, and when the lease has run out.
func renew(ctx context.Context, run *turn.Run) error {
	now := time.Now()
	ctx, cancel := context.WithTimeout(ctx, min(turn.Beat/2, run.Until().Sub(now)))
	defer cancel()
	return run.Renew(ctx, now)
}
