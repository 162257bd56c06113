package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/tool"
)

// guard has one tool, called t.
func guard(run func(context.Context, tool.Call) (tool.Result, error)) *tool.Guard {
	return &tool.Guard{Turn: "u", Tools: []tool.Tool{{Name: "t", Run: run}, {Name: "other"}}}
}

func say(text string) func(context.Context, tool.Call) (tool.Result, error) {
	return func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: text}, nil }
}

// call asks for tool t with arguments; its ID is the arguments.
func call(arguments string) model.ToolCall {
	return model.ToolCall{ID: arguments, Name: "t", Arguments: json.RawMessage(arguments)}
}

func TestResultsComeInTheOrderOfTheCallsWhateverIsFaster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := guard(func(_ context.Context, c tool.Call) (tool.Result, error) {
			var in struct{ Wait time.Duration }
			if err := json.Unmarshal(c.Arguments, &in); err != nil {
				return tool.Result{}, err
			}
			time.Sleep(in.Wait * time.Second)
			return tool.Result{Text: string(c.Arguments)}, nil
		})
		begun := time.Now()
		calls := []model.ToolCall{call(`{"wait":3}`), call(`{"wait":1}`), call(`{"wait":2}`)}
		got, err := g.Run(t.Context(), 0, calls)
		var want []model.ToolResult
		for _, c := range calls {
			want = append(want, model.ToolResult{CallID: c.ID, Text: c.ID})
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v; want (-), got (+):\n%s", err, diff)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("three calls side by side took %v, want as long as the longest", took)
		}
	})
}

func TestWhatGoesWrongWithACallIsToldToTheModel(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		run  func(context.Context, tool.Call) (tool.Result, error)
		call model.ToolCall
		want string
	}{
		"unknown tool":     {say("ok"), model.ToolCall{Name: "none", Arguments: json.RawMessage(`{}`)}, `There is no tool "none". The tools are: t, other.`},
		"no JSON":          {say("ok"), call(`{`), "not a JSON object"},
		"no object":        {say("ok"), call(`[1]`), "not a JSON object"},
		"nothing":          {say("ok"), call(``), "not a JSON object"},
		"invalid for real": {say("ok"), call(`{"_invalid":"{\"zone\": UTC"}`), "not valid JSON"},
		"its own failure": {func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Failure("no such file"), nil
		}, call(`{}`), "no such file"},
		"a panic": {func(context.Context, tool.Call) (tool.Result, error) { panic("oops") }, call(`{}`), "The tool broke: oops"},
		"a panic of the runtime": {func(context.Context, tool.Call) (tool.Result, error) {
			var none []tool.Result
			return none[0], nil
		}, call(`{}`), "The tool broke: runtime error: index out of range"},
	} {
		got, err := guard(tc.run).Run(t.Context(), 0, []model.ToolCall{tc.call})
		if err != nil || len(got) != 1 || !got[0].IsError || !strings.Contains(got[0].Text, tc.want) || got[0].CallID != tc.call.ID {
			t.Errorf("%s: got %+v, %v; want a failure that says %q", name, got, err, tc.want)
		}
	}
}

func TestACallThatOnlyLooksInvalidIsMade(t *testing.T) {
	t.Parallel()
	got, err := guard(say("ok")).Run(t.Context(), 0, []model.ToolCall{call(`{"_invalid":"x","more":1}`), call(`{}`)})
	if err != nil || got[0].Text != "ok" || got[1].Text != "ok" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestACallThatTakesTooLongHasAResultAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context, tool.Call) (tool.Result, error){
		"it heeds its context": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		},
		"it does not": func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(time.Hour)
			return tool.Result{Text: "too late"}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := &tool.Guard{Tools: []tool.Tool{{Name: "t", Limit: 5 * time.Second, Run: run}, {Name: "fast", Run: say("ok")}}}
				begun := time.Now()
				got, err := g.Run(t.Context(), 0, []model.ToolCall{call(`{}`), {Name: "fast", Arguments: json.RawMessage(`{}`)}})
				if err != nil || !got[0].IsError || !strings.Contains(got[0].Text, "within 5s") || got[1].Text != "ok" {
					t.Errorf("got %+v, %v", got, err)
				}
				if took := time.Since(begun); took != 5*time.Second {
					t.Errorf("it took %v", took)
				}
				time.Sleep(2 * time.Hour) // the one that does not heed ends by itself
			})
		})
	}
}

func TestACallWithoutALimitOfItsToolHasAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := guard(func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		})
		begun := time.Now()
		if _, err := g.Run(t.Context(), 0, []model.ToolCall{call(`{}`)}); err != nil || time.Since(begun) != tool.DefaultLimit {
			t.Errorf("it took %v, %v", time.Since(begun), err)
		}
	})
}

func TestTheEndOfTheTurnIsNoResult(t *testing.T) {
	t.Parallel()
	cause := errors.New("the turn is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	g := guard(func(context.Context, tool.Call) (tool.Result, error) {
		cancel(cause)
		return tool.Result{Text: "ok"}, nil
	})
	if got, err := g.Run(ctx, 0, []model.ToolCall{call(`{}`)}); !errors.Is(err, cause) || got != nil {
		t.Errorf("got %+v, %v; want the reason of the end", got, err)
	}
}

func TestBrokenMachineryIsAnErrorAndNoResult(t *testing.T) {
	t.Parallel()
	broken := errors.New("no disk")
	g := guard(func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, broken })
	if _, err := g.Run(t.Context(), 0, []model.ToolCall{call(`{}`)}); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error", err)
	}
}

func TestAnActionsKeyNamesItsTurnStepAndPlace(t *testing.T) {
	t.Parallel()
	keys := func(turn id.Turn, step int) (keys []string) {
		var mu sync.Mutex
		g := guard(func(_ context.Context, c tool.Call) (tool.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			keys = append(keys, c.Key)
			return tool.Result{}, nil
		})
		g.Turn = turn
		if _, err := g.Run(t.Context(), step, []model.ToolCall{call(`{}`), call(`{}`)}); err != nil {
			t.Error(err)
		}
		slices.Sort(keys)
		return keys
	}
	if diff := cmp.Diff(keys("u", 0), keys("u", 0)); diff != "" {
		t.Errorf("the same actions have other keys:\n%s", diff)
	}
	seen := map[string]bool{}
	for _, list := range [][]string{keys("u", 0), keys("u", 1), keys("v", 0)} {
		for _, key := range list {
			if seen[key] {
				t.Errorf("two actions have the key %s", key)
			}
			seen[key] = true
		}
	}
}

func TestDescribeTellsTheModelEveryTool(t *testing.T) {
	t.Parallel()
	got := tool.Describe([]tool.Tool{{Name: "a", Description: "does a", Schema: json.RawMessage(`{}`)}, {Name: "b"}})
	want := []model.Tool{{Name: "a", Description: "does a", Schema: json.RawMessage(`{}`)}, {Name: "b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
