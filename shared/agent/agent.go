// Package agent runs a turn: step by step, a model request, its tools, and a checkpoint after each, until the model has
// nothing more to do.
//
// It never repeats anything: a request that fails for good, a worker that dies, a store that stays away end the turn.
package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/live"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// stepShare is how much of the time that a worker had for a turn at first a step may need. With less left, the turn is
// handed over.
const stepShare = 0.4

// Agent runs turns. It is safe for concurrent use.
type Agent struct {
	Model  model.Model
	Tools  []tool.Tool
	Blobs  blob.Blob
	Limits Limits
	Alive  *tool.Lingering // counts the tools that run, if set
	// Show, if set, is told what a running turn writes, as it does.
	Show func(turn.Turn, live.Event)
	// Posted, if set, is called when a turn that goes on has written to its owner what has to be sent.
	Posted func(context.Context, turn.Turn)
}

// Work runs the turn up to its end and returns how it ends, for the caller to record. An error means that there is
// nothing to record: the turn is not ours any more, the stores did not answer, or, with turn.ErrHandover, the time that
// the context leaves is too short for another step.
func (a *Agent) Work(ctx context.Context, run *turn.Run) (turn.Ending, error) {
	w := &work{Agent: a, run: run, guard: tool.Guard{Tools: a.Tools, Turn: run.Turn().ID, Alive: a.Alive}}
	if deadline, ok := ctx.Deadline(); ok {
		w.step = time.Duration(float64(time.Until(deadline)) * stepShare)
	}
	if err := w.open(ctx); err != nil {
		return turn.Ending{}, err
	}
	return w.steps(ctx)
}

// showTaken shows whoever looks that messages do not wait any more.
func (a *Agent) showTaken(taken []turn.Entry) {
	if a.Show == nil {
		return
	}
	for _, closed := range taken {
		for _, e := range live.Ending(closed.Turn.ID) {
			a.Show(closed.Turn, e)
		}
	}
}

// add appends to the transcript, for the running turn, what is not empty.
func add(run *turn.Run, kind transcript.Kind, b []model.Block) {
	if len(b) > 0 {
		run.Log().Append(transcript.Entry{Kind: kind, Turn: run.Turn().ID, Blocks: b})
	}
}

// ask makes one model request and adds its answer to the transcript.
func (w *work) ask(ctx context.Context) (model.Response, error) {
	answer, err := w.Model.Stream(ctx, model.Request{
		System:   prompt.System,
		Messages: transcript.Messages(w.run.Log().Entries()),
		Tools:    tool.Describe(w.Tools),
	}, w.shower(w.run.Turn()))
	if err != nil {
		return model.Response{}, err
	}
	w.moved = true
	w.run.Count(answer.Usage)
	add(w.run, transcript.Assistant, answer.Blocks)
	return answer, nil
}

// shower passes the text of an answer on as it comes.
func (a *Agent) shower(t turn.Turn) func(model.Delta) {
	if a.Show == nil {
		return nil
	}
	return func(d model.Delta) {
		switch d.Kind {
		case model.DeltaText:
			a.Show(t, live.Event{Kind: live.Text, Turn: t.ID, Text: d.Text})
		case model.DeltaRestart:
			a.Show(t, live.Event{Kind: live.Restart, Turn: t.ID})
		case model.DeltaThinking:
		}
	}
}

func requested(r model.Response) []model.ToolCall {
	var calls []model.ToolCall
	for _, b := range r.Blocks {
		if b.Call != nil {
			calls = append(calls, *b.Call)
		}
	}
	return calls
}

// cutOff reports whether an answer ended before the model meant it to. What it asks for is not run: the arguments may
// be half of what they were to be, and calls that were to follow are missing.
func cutOff(r model.Response) bool { return r.Stop == model.StopLength || r.Stop == model.StopRefused }

// notStarted answers the calls of such an answer.
func notStarted(calls []model.ToolCall) []model.Block {
	results := make([]model.ToolResult, len(calls))
	for i, c := range calls {
		results[i] = model.ToolResult{
			CallID: c.ID, IsError: true, Text: "Not started: the answer that asked for this was cut off, and nothing of it was run.",
		}
	}
	return blocks(results)
}

func blocks(results []model.ToolResult) []model.Block {
	out := make([]model.Block, len(results))
	for i := range results {
		out[i].Result = &results[i]
	}
	return out
}

// maxReply bounds what is sent of one answer, in bytes: some 16 messages of a messenger.
const maxReply = 64 << 10

// reply is the text of a final answer.
func reply(r model.Response) string {
	out := words(r)
	if len(out) > maxReply {
		return strings.ToValidUTF8(out[:maxReply], "") + "\n\n_(The answer was longer than I can send. Say “continue” for more.)_"
	}
	switch {
	case r.Stop == model.StopLength:
		return strings.TrimSpace(out + "\n\n_(The answer was cut off: it had reached its largest length. Say “continue” for more.)_")
	case out == "" && r.Stop == model.StopRefused:
		return "The model declined to answer this."
	case out == "":
		return "The model gave an empty answer. Please try again."
	}
	return out
}

// failed is the ending of a turn whose model request or tool broke. If the turn's own context has ended, that is the
// reason, and there is nothing to record.
func failed(ctx context.Context, err error) (turn.Ending, error) {
	if cause := context.Cause(ctx); cause != nil {
		return turn.Ending{}, cause
	}
	if errors.Is(err, turn.ErrHandover) {
		return turn.Ending{}, err
	}
	return Failed(err), nil
}

// Failed is the ending of a turn that an error ended: the owner is told the provider's own words, or that something
// went wrong; the operator all there is.
func Failed(err error) turn.Ending {
	e := turn.Unexpected(err, time.Now())
	e.Cause = err
	if told, ok := errors.AsType[*model.Error](err); ok {
		if told.Detail != "" {
			e.Cause = fmt.Errorf("%w (%s)", err, told.Detail)
		}
		e.Text = "I could not finish this: " + told.Error()
		if hint := told.Hint(); hint != "" {
			e.Text += "\n\n" + hint
		}
	}
	return e
}
