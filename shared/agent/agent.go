// Package agent runs a turn: step by step, a model request, its tools, and a checkpoint after each, until the model has
// nothing more to do.
//
// It never repeats anything: a request that fails for good, a worker that dies, a store that stays away end the turn.
package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/live"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// maxSteps bounds the model requests of one turn.
const maxSteps = 75

// Agent runs turns. It is safe for concurrent use.
type Agent struct {
	Model model.Model
	Tools []tool.Tool
	Blobs blob.Blob
	// Show, if set, is told what a running turn writes, as it does.
	Show func(turn.Turn, live.Event)
}

// Work runs the turn up to its end and returns how it ends, for the caller to record. An error means that there is
// nothing to record: the turn is not ours any more, or the stores did not answer.
func (a *Agent) Work(ctx context.Context, run *turn.Run) (turn.Ending, error) {
	if err := a.open(ctx, run); err != nil {
		return turn.Ending{}, err
	}
	guard := tool.Guard{Tools: a.Tools, Turn: run.Turn().ID}
	for step := range maxSteps {
		answer, err := a.ask(ctx, run)
		if err != nil {
			return failed(ctx, err)
		}
		calls := requested(answer)
		if cutOff(answer) {
			add(run, transcript.Results, notStarted(calls))
			calls = nil
		}
		if len(calls) == 0 {
			return turn.Ending{Status: turn.Succeeded, Text: reply(answer), From: thread.Agent}, nil
		}
		// A crash here leaves calls that never began; they count as interrupted.
		if err := run.Checkpoint(ctx, time.Now()); err != nil {
			return turn.Ending{}, err
		}
		results, err := guard.Run(ctx, step, calls)
		// A crash here leaves calls whose effects are unknown: the next turn is told so and nothing is done again.
		if err != nil {
			return failed(ctx, err)
		}
		entry := transcript.Entry{Kind: transcript.Results, Turn: run.Turn().ID, Blocks: blocks(results)}
		if step == maxSteps-1 {
			run.Log().Append(entry) // which the end saves; no request follows that could answer what would be taken now
			break
		}
		taken, err := run.Steer(ctx, time.Now(), entry, prompt.Said)
		a.took(taken)
		if err != nil {
			return turn.Ending{}, err
		}
	}
	return turn.Ending{
		Status: turn.Failed, From: thread.Notice, Error: fmt.Sprintf("stopped after %d steps", maxSteps),
		Text: fmt.Sprintf("I stopped after %d steps without coming to an end. Say “continue” and I will go on.", maxSteps),
	}, nil
}

// took shows whoever looks that messages do not wait any more.
func (a *Agent) took(taken []turn.Entry) {
	if a.Show == nil {
		return
	}
	for _, closed := range taken {
		for _, e := range live.Ending(closed.Turn.ID) {
			a.Show(closed.Turn, e)
		}
	}
}

// open reads the transcript and adds what is new: missing results, how the last turn failed, what the owner said.
func (a *Agent) open(ctx context.Context, run *turn.Run) error {
	damaged := false
	err := run.Open(ctx, a.Blobs)
	if errors.Is(err, transcript.ErrCorrupt) {
		damaged = true
		err = run.Restart(ctx)
	}
	if err != nil {
		return err
	}
	log := run.Log()
	if damaged {
		add(run, transcript.Note, []model.Block{{Text: prompt.Restarted}})
	}
	add(run, transcript.Results, transcript.Orphans(log.Entries()))
	for _, f := range run.Previous() {
		unheard, err := a.unheard(ctx, run, f)
		if err != nil {
			return err
		}
		if unheard != "" {
			said := []model.Block{{Text: unheard}}
			log.Append(transcript.Entry{Kind: transcript.Owner, Turn: f.Turn, Blocks: said})
		}
		add(run, transcript.Note, prompt.Failed(*f))
	}
	add(run, transcript.Owner, prompt.Said(run.Input()))
	return nil
}

// add appends to the transcript, for the running turn, what is not empty.
func add(run *turn.Run, kind transcript.Kind, b []model.Block) {
	if len(b) > 0 {
		run.Log().Append(transcript.Entry{Kind: kind, Turn: run.Turn().ID, Blocks: b})
	}
}

// unheard is the owner's message that a failed turn should have answered, if the transcript does not have it.
func (a *Agent) unheard(ctx context.Context, run *turn.Run, f *turn.Failure) (string, error) {
	entries := run.Log().Entries()
	for _, e := range slices.Backward(entries) {
		if e.Turn == f.Turn && e.Kind == transcript.Owner {
			return "", nil
		}
	}
	if f.Message == "" {
		return "", nil
	}
	return run.Recall(ctx, f)
}

// ask makes one model request and adds its answer to the transcript.
func (a *Agent) ask(ctx context.Context, run *turn.Run) (model.Response, error) {
	t := run.Turn()
	answer, err := a.Model.Stream(ctx, model.Request{
		System:   prompt.System,
		Messages: transcript.Messages(run.Log().Entries()),
		Tools:    tool.Describe(a.Tools),
	}, a.shower(t))
	if err != nil {
		return model.Response{}, err
	}
	run.Count(answer.Usage)
	add(run, transcript.Assistant, answer.Blocks)
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
	var parts []string
	for _, b := range r.Blocks {
		if strings.TrimSpace(b.Text) != "" {
			parts = append(parts, b.Text)
		}
	}
	out := strings.Join(parts, "\n\n")
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
