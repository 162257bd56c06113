// Package runner acts on wake-ups: it looks at the session, claims its oldest turn, keeps the worker's signs of life
// going while the agent works, records the end, sends what is to be sent, and wakes the session again.
//
// It is the same for a Lambda function and for a process that polls. A wake-up that is lost, doubled or out of order
// changes nothing: what is to be done stands in the table.
package runner

import (
	"context"
	"time"

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
