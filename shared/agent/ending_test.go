package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// counting asks for something else each time.
func counting(w *world) answer {
	return func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
		return call("echo", fmt.Sprintf(`{"n":%d}`, len(w.requests)))(ctx, show)
	}
}

// What is sent during its last step is left for a turn that can answer it.
func TestATurnEndsAfterManySteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answers = []answer{counting(w)}
	w.Tools[0].Run = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		if len(w.requests) == agent.DefaultSteps {
			w.queue(ctx, "still there?")
		}
		return tool.Result{Text: "ok"}, nil
	}
	ending := w.turn("go")
	if len(w.requests) != 75 || ending.Status != turn.Failed || ending.From != thread.Notice ||
		!strings.Contains(ending.Text, "after 75 steps") || !strings.Contains(ending.Text, "continue") {
		t.Errorf("after %d requests: %+v", len(w.requests), ending)
	}
	w.answers = []answer{say("going on")}
	ending = w.turn("continue") // after what waits, which is older
	if got := w.last(); ending.Text != "going on" || got[len(got)-1] != "user: still there?" {
		t.Errorf("got %+v to %q", ending, got[len(got)-1])
	}
}

func TestATurnThatAsksForTheSameAgainAndAgainEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limits agent.Limits
		want   int
	}{
		"by default": {agent.Limits{}, 5}, "by setting": {agent.Limits{Identical: 3}, 3}, "at the last step": {agent.Limits{Steps: 5}, 5},
	} {
		w := newWorld(t, call("echo", `{"a":1,"b":2}`), call("echo", `{ "b":2, "a":1 }`), call("echo", `{"a":1,"b":2}`))
		w.Limits = tc.limits
		ending := w.turn("go")
		if len(w.requests) != tc.want || ending.Status != turn.Failed || ending.From != thread.Notice ||
			!strings.Contains(ending.Text, fmt.Sprintf("the same thing (echo) %d times in a row", tc.want)) || !strings.Contains(ending.Text, "continue") {
			t.Errorf("%s: after %d requests: %+v", name, len(w.requests), ending)
		}
		w.answers = []answer{say("something else")}
		w.turn("continue")
		for _, r := range w.requests {
			alternates(t, r.Messages)
		}
	}
}

func TestAStopEndsTheTurnAndItsNextOneIsToldSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, call("echo", `{"n":1}`), say("hi"))
	w.Tools[0].Run = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		w.queue(ctx, "and then this")
		w.stop(ctx)
		return tool.Result{Text: "too late"}, nil
	}
	if ending, err := w.Work(t.Context(), w.claim("go")); err == nil || len(w.requests) != 1 {
		t.Errorf("got %+v after %d requests, want no further one", ending, len(w.requests))
	}
	for _, u := range []id.Turn{"u1", "u2"} {
		if got := w.stored(u); got.Status != turn.Cancelled {
			t.Errorf("turn %s is %s", u, got.Status)
		}
	}
	w.turn("hello")
	w.read("user: go", `call echo {"n":1}`, "result call-0 "+transcript.Interrupted, "user: "+prompt.Stopped, "user: hello")
	w.turn("again")
	w.read("user: go", `call echo {"n":1}`, "result call-0 "+transcript.Interrupted, "user: "+prompt.Stopped, "user: hello", "assistant: hi", "user: again")
}
