package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// named calls a tool without arguments.
func named(name string) model.ToolCall {
	return model.ToolCall{ID: name, Name: name, Arguments: json.RawMessage(`{}`)}
}

// asking is the guard of a turn with a tool "send", which is confirmed unless its arguments are empty and says what it
// was called with; a tool "question", which asks; and a tool "look", which does neither.
func asking() (g *tool.Guard, sent *atomic.Int32) {
	sent = new(atomic.Int32)
	return &tool.Guard{Turn: "u", Tools: []tool.Tool{
		{
			Name: "send", Limit: 5 * time.Second,
			Confirm: func(c tool.Call) string {
				if string(c.Arguments) == `{}` {
					return ""
				}
				return "Send " + string(c.Arguments) + "?"
			},
			Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
				sent.Add(1)
				return tool.Result{Text: c.Key + " " + string(c.Turn) + " " + string(c.Arguments)}, nil
			},
		},
		{Name: "question", Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{Text: "asked", Ask: &wait.Ask{Kind: wait.Question, Text: "Which?"}}, nil
		}},
		{Name: "look", Run: say("seen")},
	}}, sent
}

func send(arguments string) model.ToolCall {
	return model.ToolCall{ID: "send", Name: "send", Arguments: json.RawMessage(arguments)}
}

func TestAnActionToConfirmIsNotMadeButAskedFor(t *testing.T) {
	t.Parallel()
	g, sent := asking()
	arguments := `{ "to": "Ann",  "amount": 1.50, "note": "<b>" }`
	got, err := g.Run(t.Context(), 3, []model.ToolCall{named("look"), send(arguments)})
	if err != nil || got[0].Text != "seen" || got[1].IsError || !strings.HasPrefix(got[1].Text, "Not started: the owner has been asked") {
		t.Errorf("got %+v, %v", got, err)
	}
	if n := sent.Load(); n != 0 {
		t.Errorf("it was made %d times", n)
	}
	ask := g.Asked()
	if ask == nil || ask.Kind != wait.Confirmation || ask.Text != "Send "+arguments+"?" || ask.Action == nil {
		t.Fatalf("asks %+v", ask)
	}
	if ask.Action.Tool != "send" || ask.Action.Key == "" || string(ask.Action.Arguments) != arguments {
		t.Errorf("the action is %+v, want the call word for word", ask.Action)
	}
}

func TestACallThatNeedsNoConfirmationIsMade(t *testing.T) {
	t.Parallel()
	g, sent := asking()
	if got, err := g.Run(t.Context(), 0, []model.ToolCall{send(`{}`)}); err != nil || got[0].IsError || sent.Load() != 1 || g.Asked() != nil {
		t.Errorf("got %+v, %v, asks %+v", got, err, g.Asked())
	}
}

func TestAStepAsksOneThingTheFirstInTheOrderOfItsCalls(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		calls []model.ToolCall
		want  string // asked
		texts []string
	}{
		"two confirmations": {
			[]model.ToolCall{send(`{"n":1}`), send(`{"n":2}`)},
			`Send {"n":1}?`,
			[]string{"Not started: the owner has been asked", "Not started: one thing at a time"},
		},
		"a question first": {
			[]model.ToolCall{named("look"), named("question"), send(`{"n":1}`)},
			"Which?",
			[]string{"seen", "asked", "Not started: one thing at a time"},
		},
		"a confirmation first": {
			[]model.ToolCall{send(`{"n":1}`), named("question"), named("question"), named("look")},
			`Send {"n":1}?`,
			[]string{"Not started: the owner has been asked", "Not started: one thing at a time", "Not started: one thing at a time", "seen"},
		},
		"a failure and a call that needs none before": {
			[]model.ToolCall{named("none"), send(`{}`), named("question")}, "Which?", []string{"There is no tool", "", "asked"},
		},
		"nothing": {[]model.ToolCall{named("look")}, "", []string{"seen"}},
	} {
		g, _ := asking()
		got, err := g.Run(t.Context(), 0, tc.calls)
		if err != nil {
			t.Fatal(err)
		}
		asked := ""
		if a := g.Asked(); a != nil {
			asked = a.Text
		}
		if asked != tc.want {
			t.Errorf("%s: asks %q, want %q", name, asked, tc.want)
		}
		for i, want := range tc.texts {
			second := strings.Contains(want, "one thing")
			if !strings.HasPrefix(got[i].Text, want) || second && !got[i].IsError || got[i].CallID != tc.calls[i].ID {
				t.Errorf("%s: result %d is %+v, want %q", name, i, got[i], want)
			}
		}
	}
}

func TestWhatAStepAskedIsForgottenWithTheNext(t *testing.T) {
	t.Parallel()
	g, _ := asking()
	for _, c := range []model.ToolCall{named("question"), named("look")} {
		if _, err := g.Run(t.Context(), 0, []model.ToolCall{c}); err != nil || (g.Asked() != nil) != (c.Name == "question") {
			t.Errorf("after %s, %v, it asks %+v", c.Name, err, g.Asked())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Run(ctx, 0, []model.ToolCall{named("question")}); err == nil || g.Asked() != nil {
		t.Errorf("a turn that is over, %v, asks %+v", err, g.Asked())
	}
}

func TestAConfirmedActionIsMadeAsItWasAskedFor(t *testing.T) {
	t.Parallel()
	g, sent := asking()
	if _, err := g.Run(t.Context(), 3, []model.ToolCall{send(`{ "n": 1.0 }`)}); err != nil {
		t.Fatal(err)
	}
	action := *g.Asked().Action
	later := &tool.Guard{Turn: "v", Tools: g.Tools}
	for range 2 { // the one who stores it sees to it that it is made once; its key stays
		got, err := later.Perform(t.Context(), action)
		if diff := cmp.Diff(tool.Result{Text: action.Key + ` v { "n": 1.0 }`}, got); err != nil || diff != "" {
			t.Errorf("%v; want (-), got (+):\n%s", err, diff)
		}
	}
	if sent.Load() != 2 {
		t.Errorf("it was made %d times", sent.Load())
	}
}

func TestAConfirmedActionOfAToolThatIsGoneFails(t *testing.T) {
	t.Parallel()
	g, _ := asking()
	got, err := g.Perform(t.Context(), wait.Action{Tool: "gone", Arguments: json.RawMessage(`{}`)})
	if err != nil || !got.Failed || !strings.Contains(got.Text, `no tool "gone"`) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAConfirmedActionHasTheLimitOfItsToolAndEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &tool.Guard{Tools: []tool.Tool{{Name: "t", Limit: 5 * time.Second, Run: stuck(time.Minute)}}}
		begun := time.Now()
		got, err := g.Perform(t.Context(), wait.Action{Tool: "t"})
		if err != nil || !got.Failed || !strings.Contains(got.Text, "within 5s") || time.Since(begun) != 5*time.Second {
			t.Errorf("got %+v, %v after %v", got, err, time.Since(begun))
		}
		cause := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		got, err = g.Perform(ctx, wait.Action{Tool: "t"})
		if !errors.Is(err, cause) || got != (tool.Result{}) || time.Since(begun) != 6*time.Second {
			t.Errorf("got %+v, %v after %v", got, err, time.Since(begun))
		}
		time.Sleep(time.Hour) // the tools end by themselves
	})
}

func TestATurnThatIsOverBeginsNothing(t *testing.T) {
	t.Parallel()
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	g, sent := asking()
	if _, err := g.Run(ctx, 0, []model.ToolCall{send(`{}`)}); !errors.Is(err, cause) {
		t.Errorf("a step: %v", err)
	}
	if _, err := g.Perform(ctx, wait.Action{Tool: "send", Arguments: json.RawMessage(`{}`)}); !errors.Is(err, cause) {
		t.Errorf("a confirmed action: %v", err)
	}
	if sent.Load() != 0 {
		t.Error("it was made")
	}
}

// What cannot say whether it needs a confirmation must not be made.
func TestACallWhoseConfirmationBreaksIsNotMade(t *testing.T) {
	t.Parallel()
	g, sent := asking()
	g.Tools[0].Confirm = func(tool.Call) string { panic("oops") }
	got, err := g.Run(t.Context(), 0, []model.ToolCall{send(`{"n":1}`)})
	if err != nil || !got[0].IsError || !strings.Contains(got[0].Text, "oops") || sent.Load() != 0 || g.Asked() != nil {
		t.Errorf("got %+v, %v; made %d times", got, err, sent.Load())
	}
}
