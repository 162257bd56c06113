package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/live"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// work is a turn in one worker's hands.
type work struct {
	*Agent

	run            *turn.Run
	guard          tool.Guard
	step           time.Duration // how long a step may need; 0 when there is no hurry
	moved          bool          // this worker has brought the turn on
	unacknowledged bool          // messages were taken, and nothing has been posted since that shows it
}

// steps makes step after step until the turn ends.
func (w *work) steps(ctx context.Context) (turn.Ending, error) {
	answer := model.Response{Blocks: w.left()}
	for {
		if len(requested(answer)) == 0 {
			var err error
			if answer, err = w.next(ctx); err != nil {
				return failed(ctx, err)
			}
		}
		calls := requested(answer)
		switch {
		case len(calls) == 0, cutOff(answer):
			add(w.run, transcript.Results, notStarted(calls))
			return turn.Ending{Status: turn.Succeeded, Text: reply(answer), From: thread.Agent}, nil
		case w.short(ctx, w.longest(calls)):
			return turn.Ending{}, turn.ErrHandover // which saves the calls, none of them begun
		}
		if ending, ends, err := w.act(ctx, answer, calls); ends || err != nil {
			return ending, err
		}
		answer = model.Response{}
	}
}

// next asks the model, if the time left is enough for a step.
func (w *work) next(ctx context.Context) (model.Response, error) {
	if w.short(ctx, w.step) {
		return model.Response{}, turn.ErrHandover
	}
	return w.ask(ctx)
}

// ended is the ending by value, as a caller of Work gets it; the zero one for none.
// left is the last answer of a turn that was handed over before the calls of it began.
func (w *work) left() []model.Block {
	entries := w.run.Log().Entries()
	if !w.run.Continued() || len(entries) == 0 {
		return nil
	}
	if last := entries[len(entries)-1]; last.Kind == transcript.Assistant && last.Turn == w.run.Turn().ID {
		return last.Blocks
	}
	return nil
}

// unacknowledged reports whether a turn that was handed over has taken messages and posted nothing since. Words beside
// calls that have not begun are still to be posted.
func unacknowledged(entries []transcript.Entry, t id.Turn) bool {
	spoke := false
	for i, e := range slices.Backward(entries) {
		switch {
		case e.Turn != t:
			return false
		case e.Kind == transcript.Owner:
			spoke = true
		case e.Kind != transcript.Assistant || i == len(entries)-1:
		case spoke:
			return true
		case words(model.Response{Blocks: e.Blocks}) != "":
			return false
		}
	}
	return false
}

// short reports whether the time left is less than what is to come may need. A worker that has just begun tries all the
// same: another would not have more.
func (w *work) short(ctx context.Context, need time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && w.moved && time.Until(deadline) < need
}

// longest is how long the calls may take, one beside the other.
func (w *work) longest(calls []model.ToolCall) time.Duration {
	longest := time.Duration(0)
	for _, c := range calls {
		longest = max(longest, w.guard.Limit(c.Name))
	}
	return longest
}

// act makes the calls of a step and saves what they bring, together with what the owner wrote meanwhile. It returns how
// the turn ends, if it does.
func (w *work) act(ctx context.Context, answer model.Response, calls []model.ToolCall) (ending turn.Ending, ends bool, err error) {
	t := w.run.Turn()
	// A crash before this write leaves calls that never began, and nobody knows of; after it, calls that count as begun.
	if err := w.begin(ctx, answer, names(calls)); err != nil {
		return turn.Ending{}, true, err
	}
	results, err := w.guard.Run(ctx, t.Steps-1, calls)
	// A crash here leaves calls whose effects are unknown: the next turn is told so and nothing is done again.
	if err != nil {
		ending, err = failed(ctx, err)
		return ending, true, err
	}
	w.moved = true
	w.run.Answered()
	add(w.run, transcript.Results, blocks(results))
	if ask := w.guard.Asked(); ask != nil {
		return asking(answer, *ask), true, nil
	}
	entries := w.run.Log().Entries()
	if e := w.Limits.exceeded(t.Steps, repeated(entries, t.ID)); e != nil {
		return e.ending(entries, t.ID), true, nil // no request follows that could answer what would be taken now
	}
	return turn.Ending{}, false, w.steer(ctx)
}

// begin saves that calls begin. The first words after a take are posted with it: who wrote in between is not to wait for
// the end to see that it was heard.
func (w *work) begin(ctx context.Context, answer model.Response, tools []string) error {
	say := ""
	if w.unacknowledged {
		say = words(answer)
	}
	posted, err := w.run.Begin(ctx, time.Now(), tools, say)
	if err != nil || say == "" {
		return err
	}
	w.unacknowledged = false
	t := w.run.Turn()
	if w.Show != nil {
		w.Show(t, live.Event{Kind: live.Stored, Turn: t.ID})
	}
	if posted && w.Posted != nil {
		w.Posted(ctx, t)
	}
	return nil
}

// steer saves what is new and takes in what the owner wrote meanwhile.
func (w *work) steer(ctx context.Context) error {
	taken, err := w.run.Steer(ctx, time.Now(), prompt.Said)
	w.showTaken(taken)
	w.unacknowledged = w.unacknowledged || len(taken) > 0
	return err
}

// asking is the ending of a turn that asks its owner; what the model wrote beside that comes first.
func asking(answer model.Response, ask wait.Ask) turn.Ending {
	text := ask.Text
	if ask.Kind == wait.Confirmation {
		text += "\n\nYes or no?"
	}
	if said := words(answer); said != "" {
		text = said + "\n\n" + text
	}
	return turn.Ending{Status: turn.Waiting, Text: text, From: thread.Agent, Ask: &ask}
}

// words is the text of an answer.
func words(r model.Response) string {
	var parts []string
	for _, b := range r.Blocks {
		if strings.TrimSpace(b.Text) != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

func names(calls []model.ToolCall) []string {
	out := make([]string, len(calls))
	for i, c := range calls {
		out[i] = c.Name
	}
	return out
}
