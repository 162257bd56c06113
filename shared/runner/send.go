package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// errUndelivered is what a note says of a message that did not simply arrive; the message itself says more.
var errUndelivered = errors.New("the conversation's page says why")

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
