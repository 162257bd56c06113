// Package runner acts on wake-ups: it looks at the session, claims its oldest turn, keeps the worker's signs of life
// going while the agent works, records the end, sends what is to be sent, and wakes the session again.
//
// It is the same for a Lambda function and for a process that polls. A wake-up that is lost, doubled or out of order
// changes nothing: what is to be done stands in the table.
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
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

const (
	// visibility is how long a wake-up stays hidden after the worker's last sign of life: longer than the lease, so that
	// whoever gets it next finds the lease run out.
	visibility = 30 * time.Second
	// giveBacks is how often a wake-up that meets another's live turn is given back before it is left to the reaper.
	giveBacks = 3
	// maxLooks bounds how often a session is looked at for one wake-up.
	maxLooks = 20
	// lastWords bounds what a worker that is being shut down still does.
	lastWords = 5 * time.Second
)

// Verdict says what the receiver does with the wake-up.
type Verdict uint8

// The verdicts.
const (
	Done      Verdict = iota + 1 // remove it
	GivenBack                    // it has been given back and will come again: leave it
)

// errUndelivered is what a note says of a message that did not simply arrive; the message itself says more.
var errUndelivered = errors.New("the conversation's page says why")

// Agent runs a claimed turn up to its end.
type Agent interface {
	// Work returns how the turn ends. An error means that there is nothing to record; turn.ErrHandover, that the turn is
	// to be handed over.
	Work(ctx context.Context, run *turn.Run) (turn.Ending, error)
}

// Runner acts on wake-ups. It is safe for concurrent use.
type Runner struct {
	Desk   *turn.Desk
	Agent  Agent
	Outbox *outbox.Sender
	Queue  queue.Sender
	// Show, if set, is told what happens to turns.
	Show func(turn.Turn, live.Event)
	// Note, if set, is told what is worth counting or logging; err may be nil.
	Note func(ctx context.Context, event string, t turn.Turn, err error)
}

// Handle acts on one wake-up. An error leaves the wake-up to come again.
func (r *Runner) Handle(ctx context.Context, d queue.Delivery) (Verdict, error) {
	up, err := wake.Parse(d.Body)
	if err != nil {
		r.note(ctx, "bad wake-up", turn.Turn{}, err)
		return Done, nil // it will not get better
	}
	if up.Conversation != "" {
		return r.deliver(ctx, d, up.Conversation)
	}
	return r.session(ctx, d, up)
}

// session drains one turn of the session.
func (r *Runner) session(ctx context.Context, d queue.Delivery, up wake.Up) (Verdict, error) {
	shortened := make(chan error, 1)
	go func() { shortened <- d.Lease.Extend(ctx, visibility) }()
	run, verdict, err := r.claim(ctx, d, up, shortened)
	if run == nil {
		return verdict, err
	}
	return Done, r.run(ctx, d, run)
}

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
		up := wake.Session(w.Session, w.Thread).Message(string(w.Turn) + "#free#" + cause)
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

// flush sends the conversation's messages. What fails or has to wait is asked for by a wake-up of its own, also by a
// worker that is being shut down between two parts, and if that fails by its due mark.
func (r *Runner) flush(ctx context.Context, t turn.Turn) {
	if t.Route.Stored() {
		return
	}
	report, err := r.Outbox.Flush(ctx, t.Route.Key())
	r.report(ctx, t, report, err)
	if err != nil || report.Again > 0 {
		r.send(ctx, t, string(t.ID)+"#"+strconv.FormatInt(t.Epoch, 10))
	}
}

// Post has sent what a turn has written that goes on.
func (r *Runner) Post(ctx context.Context, t turn.Turn) { r.send(ctx, t, string(turn.LineID(t))) }

// send asks for the turn's conversation to be sent. If that fails, due marks ask.
func (r *Runner) send(ctx context.Context, t turn.Turn, cause string) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := r.Queue.Send(last, wake.Conversation(t.Route.Key()).Message(cause)); err != nil {
		r.note(ctx, "wake-up not sent", t, err)
	}
}

// deliver sends a conversation's messages and gives the wake-up back while there is more that has to wait. The wake-up
// is hidden no longer than a session's, so that it comes again soon if this worker dies.
func (r *Runner) deliver(ctx context.Context, d queue.Delivery, conversation string) (Verdict, error) {
	if err := d.Lease.Extend(ctx, visibility); err != nil && !errors.Is(err, queue.ErrRefused) {
		return 0, fmt.Errorf("holding the wake-up: %w", err)
	}
	report, err := r.Outbox.Flush(ctx, conversation)
	r.report(ctx, turn.Turn{}, report, err)
	if err != nil {
		return 0, err
	}
	if report.Again <= 0 {
		return Done, nil
	}
	return r.giveBack(ctx, d, report.Again)
}

func (r *Runner) report(ctx context.Context, t turn.Turn, report outbox.Report, err error) {
	if err != nil && ctx.Err() == nil { // what a shutdown breaks off is sent by the next process
		r.note(ctx, "sending failed", t, err)
	}
	for event, n := range map[string]int{
		"message possibly repeated": report.Repeated, "message refused": report.Refused, "message lost": report.Lost,
	} {
		for range n {
			r.note(ctx, event, t, errUndelivered)
		}
	}
}

func (r *Runner) ended(t turn.Turn) {
	for _, e := range live.Ending(t.ID) {
		r.show(t, e)
	}
}

func (r *Runner) show(t turn.Turn, e live.Event) {
	if r.Show != nil {
		r.Show(t, e)
	}
}

func (r *Runner) note(ctx context.Context, event string, t turn.Turn, err error) {
	if r.Note != nil {
		r.Note(ctx, event, t, err)
	}
}
