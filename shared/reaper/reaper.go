// Package reaper brings back what was left behind: it looks at the due marks and asks again for what is still owed,
// ends the turns of dead workers, goes on with stops that were broken off, closes what was not answered in time, and drops
// sessions that were idle for long, and the marks of what has been settled.
//
// Terms (due.Kind.Term) it lets pass. Else it decides nothing that matters by the time alone: whatever it does is
// conditional on the records as it found them, so that several at once, or one far too early, do no harm.
package reaper

import (
	"context"
	"errors"
	"log/slog"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

const (
	// horizon is how far ahead marks are read, to know whether any turn runs.
	horizon = 2 * turn.LeaseTerm
	// pageMarks is how many marks of a shard are handled in one sweep; the rest is for the next.
	pageMarks = 500
	// firstDistance and longestDistance bound the growing time between two looks at the same obligation.
	firstDistance   = 10 * time.Second
	longestDistance = 10 * time.Minute
	// interval is how often a reaper looks while turns run.
	interval = 10 * time.Second
)

// Reaper looks at the due marks.
type Reaper struct {
	Table table.Table
	IDs   *id.Source
	Queue queue.Sender
	Desk  *turn.Desk
	// Buried, if set, is called with each turn that was ended because its worker had died.
	Buried func(context.Context, turn.Turn)
	// Stopped, if set, is called with the turns that a stop has ended which the reaper had to go on with.
	Stopped func(id.Thread, ...id.Turn)
}

// Report counts what a sweep did.
type Report struct {
	Woken   int // sessions asked to run
	Sent    int // conversations asked to be sent
	Buried  int // turns of dead workers ended
	Stopped int // stops carried out to their end
	Dropped int // marks of what had been settled
	Failed  int // marks that could not be handled this time
	Running int // leases being watched
	Waiting int // marks of what has not been started or sent that are due soon
}

// Watch sweeps at once, and every 10 seconds for as long as something is under way and the context allows another.
func (r *Reaper) Watch(ctx context.Context, note func(Report, error)) {
	for {
		report, err := r.Sweep(ctx, time.Now())
		note(report, err)
		if report.Running+report.Waiting+report.Buried+report.Failed == 0 {
			return
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < interval+interval/2 {
			return
		}
		timer := time.NewTimer(interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// Sweep acts on all marks that are due before until, best effort for each, and reports what it did. A process that has
// just started and knows that nothing else runs passes a time far ahead. An error means that some shards could not be
// read.
func (r *Reaper) Sweep(ctx context.Context, until time.Time) (Report, error) {
	var mu sync.Mutex
	var total Report
	var group errgroup.Group
	for shard := range due.Shards {
		group.Go(part(ctx, strconv.Itoa(shard), func(ctx context.Context) error {
			report, err := r.shard(ctx, shard, until)
			mu.Lock()
			defer mu.Unlock()
			total.add(report)
			return err
		}))
	}
	group.Go(part(ctx, "permits", func(ctx context.Context) error { return r.feed(ctx, until) }))
	err := group.Wait()
	return total, err
}

// PartLabel is the label under which a profile shows the parts of a sweep: a shard's number, or "permits".
const PartLabel = "sweep"

// part runs one part of a sweep under its label, which its goroutines and its context carry.
func part(ctx context.Context, name string, do func(context.Context) error) func() error {
	return func() (err error) {
		pprof.Do(ctx, pprof.Labels(PartLabel, name), func(ctx context.Context) { err = do(ctx) })
		return err
	}
}

// feed wakes the sessions that wait for a permit and may have one now; until tells the wake-ups of this sweep from those
// of others.
func (r *Reaper) feed(ctx context.Context, until time.Time) error {
	starved, err := r.Desk.Starved(ctx)
	for _, w := range starved {
		cause := string(w.Turn) + "#free#" + strconv.FormatInt(until.UnixMilli(), 36)
		err = errors.Join(err, r.Queue.Send(ctx, wake.Session(w.Session, w.Thread).Rescue(cause)))
	}
	return err
}

// Idle reports whether the sweep found nothing to do but to drop marks.
func (t Report) Idle() bool { return t.Woken+t.Sent+t.Buried+t.Stopped+t.Failed == 0 }

// Attrs are the counts that are worth a line in the log.
func (t Report) Attrs() []slog.Attr {
	return []slog.Attr{
		slog.Int("sessions", t.Woken), slog.Int("conversations", t.Sent), slog.Int("interrupted", t.Buried),
		slog.Int("stopped", t.Stopped), slog.Int("failed", t.Failed),
	}
}

func (t *Report) add(r Report) {
	t.Woken += r.Woken
	t.Sent += r.Sent
	t.Buried += r.Buried
	t.Stopped += r.Stopped
	t.Dropped += r.Dropped
	t.Failed += r.Failed
	t.Running += r.Running
	t.Waiting += r.Waiting
}

// ahead counts a mark that is not due yet.
func (t *Report) ahead(m due.Mark) {
	switch m.Kind {
	case due.Lease:
		t.Running++
	case due.Wake, due.Send, due.Stop:
		t.Waiting++
	case due.Expire, due.Rest: // these are for days to come
	}
}

func (r *Reaper) shard(ctx context.Context, shard int, until time.Time) (Report, error) {
	var report Report
	marks, err := due.Scan(ctx, r.Table, shard, until.Add(horizon), pageMarks)
	if err != nil {
		return report, err
	}
	for _, m := range marks {
		if !m.At.Before(until) || m.Kind.Term() && !m.At.Before(time.Now()) {
			report.ahead(m)
			continue
		}
		if err := r.act(ctx, m, &report); err != nil {
			report.Failed++
		}
	}
	return report, nil
}

func (r *Reaper) act(ctx context.Context, m due.Mark, report *Report) error {
	switch m.Kind {
	case due.Wake:
		return r.wake(ctx, m, report)
	case due.Send:
		return r.send(ctx, m, report)
	case due.Lease:
		return r.lease(ctx, m, report)
	case due.Stop:
		return r.stop(ctx, m, report)
	case due.Expire:
		return r.expire(ctx, m, report)
	case due.Rest:
		return r.rest(ctx, m, report)
	}
	return nil // a newer release's: it stays for that one
}

// wake asks again for a turn that is still queued.
func (r *Reaper) wake(ctx context.Context, m due.Mark, report *Report) error {
	return r.again(ctx, m, report, &report.Woken,
		table.Key{Partition: turn.SessionPartition(m.Session), Sort: m.Record}, wake.Session(m.Session, m.Thread))
}

// send asks again for a message that has not been settled.
func (r *Reaper) send(ctx context.Context, m due.Mark, report *Report) error {
	return r.again(ctx, m, report, &report.Sent,
		table.Key{Partition: outbox.Partition(m.Conversation), Sort: m.Record}, wake.Conversation(m.Conversation))
}

// again sends a wake-up if the obligation's record is still there, and looks once more at a growing distance.
func (r *Reaper) again(ctx context.Context, m due.Mark, report *Report, count *int, obligation table.Key, up wake.Up) error {
	item, err := r.Table.Get(ctx, obligation)
	if err != nil {
		return err
	}
	if item == nil {
		return r.drop(ctx, m, report)
	}
	if err := r.Queue.Send(ctx, up.Rescue(m.Subject+"#r"+strconv.Itoa(m.Attempt)+"#"+strconv.FormatInt(m.At.UnixMilli(), 36))); err != nil {
		return err
	}
	*count++
	return r.move(ctx, m, time.Now().Add(distance(m.Attempt)))
}

func distance(attempt int) time.Duration {
	return min(firstDistance<<min(attempt, 16), longestDistance)
}

// lease looks after a running turn: it ends that of a dead worker and comes back to that of a live one.
func (r *Reaper) lease(ctx context.Context, m due.Mark, report *Report) error {
	view, err := r.Desk.Look(ctx, m.Session, m.Thread)
	if errors.Is(err, thread.ErrNotFound) {
		return r.drop(ctx, m, report)
	}
	if err != nil {
		return err
	}
	if view.Fence.Turn != m.Turn || view.Fence.Epoch != m.Epoch {
		return r.drop(ctx, m, report)
	}
	now := time.Now()
	switch turn.Decide(view, now) {
	case turn.Busy:
		report.Running++
		return r.move(ctx, m, now.Add(view.Remaining(now)+time.Second))
	case turn.Continue: // the wake-up of the handover was lost, or nobody was free
		report.Woken++
		cause := m.Subject + "#r" + strconv.Itoa(m.Attempt)
		up := wake.Session(m.Session, m.Thread).Rescue(cause)
		return errors.Join(r.Queue.Send(ctx, up), r.move(ctx, m, now.Add(distance(m.Attempt))))
	case turn.Bury:
		return r.bury(ctx, m, view, now, report)
	case turn.Idle, turn.Strike, turn.Gather, turn.Join, turn.Hold, turn.Shed, turn.Claim: // of no session whose turn runs
	}
	return nil
}

func (r *Reaper) bury(ctx context.Context, m due.Mark, view turn.View, now time.Time, report *Report) error {
	dead, err := r.Desk.Bury(ctx, m.Session, view, now)
	if errors.Is(err, turn.ErrRaced) {
		return nil // a sign of life after all, or someone else was quicker: the mark stays for the next sweep
	}
	if err != nil {
		return err
	}
	report.Buried++
	if r.Buried != nil {
		r.Buried(ctx, *dead)
	}
	return r.follow(ctx, *dead, m)
}

// follow asks for what an ended turn leaves to be done: its notice, and the session's next turn.
func (r *Reaper) follow(ctx context.Context, t turn.Turn, m due.Mark) error {
	cause := "buried#" + m.Subject
	var errs []error
	if !t.Route.Stored() {
		errs = append(errs, r.Queue.Send(ctx, wake.Conversation(t.Route.Key()).Rescue(cause)))
	}
	errs = append(errs, r.Queue.Send(ctx, wake.Session(t.Session, t.Thread).Rescue(cause)))
	return errors.Join(errs...)
}

// drop removes a mark whose obligation has been settled.
func (r *Reaper) drop(ctx context.Context, m due.Mark, report *Report) error {
	report.Dropped++
	return r.write(ctx, []table.Op{m.Settle()})
}

// move puts the mark off. Losing a race over it is as well: someone else is looking after it.
func (r *Reaper) move(ctx context.Context, m due.Mark, at time.Time) error {
	err := r.write(ctx, m.Move(at))
	if _, raced := errors.AsType[*table.ConditionError](err); raced {
		return nil
	}
	return err
}

func (r *Reaper) write(ctx context.Context, ops []table.Op) error {
	return table.Apply(ctx, r.Table, table.Write{ID: r.IDs.New(time.Now()), Ops: ops})
}
