package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// open reads the transcript and adds what is new: missing results, how the last turn failed, what the owner said.
func (w *work) open(ctx context.Context) error {
	damaged := false
	err := w.run.Open(ctx, w.Blobs)
	if errors.Is(err, transcript.ErrCorrupt) {
		damaged = true
		err = w.run.Restart(ctx)
	}
	if err != nil {
		return err
	}
	if damaged {
		add(w.run, transcript.Note, []model.Block{{Text: prompt.Restarted}})
	}
	if w.run.Continued() {
		w.unacknowledged = unacknowledged(w.run.Log().Entries(), w.run.Turn().ID)
		return nil
	}
	add(w.run, transcript.Results, transcript.Orphans(w.run.Log().Entries(), w.run.Begun()))
	for _, f := range w.run.Previous() {
		if err := w.recall(ctx, f); err != nil {
			return err
		}
		add(w.run, transcript.Note, prompt.Failed(*f))
	}
	in := w.run.Input()
	if in.Resume != nil && in.Resume.Action != nil && !in.Resume.Yes {
		add(w.run, transcript.Note, prompt.Declined(*in.Resume.Action))
	}
	add(w.run, transcript.Owner, prompt.Said(in))
	return w.begun(ctx)
}

// begun does what comes before the first request: what was confirmed, what the owner wrote right after, and closing what
// the session waited for, which nobody is to answer any more.
func (w *work) begun(ctx context.Context) error {
	switch in := w.run.Input(); {
	case in.Resume != nil && in.Resume.Action != nil && in.Resume.Yes:
		return w.confirmed(ctx, *in.Resume.Action)
	case !in.Ready.IsZero():
		taken, err := w.run.Gather(ctx, time.Now(), prompt.Said)
		w.showTaken(taken)
		return err
	case w.run.Closes():
		return w.run.Checkpoint(ctx, time.Now())
	}
	return nil
}

// confirmed makes the action that the owner agreed to, once: a crash in its middle leaves it unknown, and nobody makes
// it again.
func (w *work) confirmed(ctx context.Context, a wait.Action) error {
	if _, err := w.run.Begin(ctx, time.Now(), []string{a.Tool}, ""); err != nil {
		return err
	}
	result, err := w.guard.Perform(ctx, a)
	if err != nil {
		return err
	}
	w.moved = true
	w.run.Answered()
	add(w.run, transcript.Note, prompt.Confirmed(a, result))
	// A crash before the next write leaves an action that has been made, of which the next turn hears as interrupted.
	return w.run.Checkpoint(ctx, time.Now())
}

// recall adds the owner's message that a failed turn should have answered, if the transcript does not have it.
func (w *work) recall(ctx context.Context, f *turn.Failure) error {
	if f.Message == "" || slices.ContainsFunc(w.run.Log().Entries(), func(e transcript.Entry) bool {
		return e.Turn == f.Turn && e.Kind == transcript.Owner
	}) {
		return nil
	}
	text, err := w.run.Recall(ctx, f)
	if err != nil || text == "" {
		return err
	}
	w.run.Log().Append(transcript.Entry{Kind: transcript.Owner, Turn: f.Turn, Blocks: []model.Block{{Text: text}}})
	return nil
}
