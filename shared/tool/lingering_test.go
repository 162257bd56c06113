package tool_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/tool"
)

// stuck takes so long, whatever its context says.
func stuck(d time.Duration) func(context.Context, tool.Call) (tool.Result, error) {
	return func(context.Context, tool.Call) (tool.Result, error) {
		time.Sleep(d)
		return tool.Result{Text: "too late"}, nil
	}
}

// A stop must be recorded within a second, whatever the tools do.
func TestATurnThatEndsLeavesStuckToolsBehindAtOnceAndCountsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the owner pressed Stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		var alive tool.Lingering
		g := &tool.Guard{Alive: &alive, Tools: []tool.Tool{
			{Name: "t", Run: stuck(10 * time.Second)}, {Name: "slower", Run: stuck(20 * time.Second)}, {Name: "fast", Run: say("ok")},
		}}
		time.AfterFunc(time.Second, func() { cancel(cause) })
		begun := time.Now()
		calls := []model.ToolCall{call(`{}`), named("slower"), named("fast")}
		got, err := g.Run(ctx, 0, calls)
		if got != nil || !errors.Is(err, cause) || time.Since(begun) != time.Second {
			t.Errorf("got %+v, %v after %v; want the cause at once", got, err, time.Since(begun))
		}
		for _, want := range []struct {
			left  int
			after time.Duration
		}{{2, 6 * time.Second}, {1, 11 * time.Second}, {1, 16 * time.Second}, {0, 20 * time.Second}, {0, 20 * time.Second}} {
			if left := alive.Settle(t.Context(), 5*time.Second); left != want.left || time.Since(begun) != want.after {
				t.Errorf("after %v %d still run; want %d after %v", time.Since(begun), left, want.left, want.after)
			}
		}
	})
}

func TestATimedOutToolLingersUntilItReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var alive tool.Lingering
		g := guard(stuck(2 * tool.DefaultLimit))
		g.Alive = &alive
		if got, err := g.Run(t.Context(), 0, []model.ToolCall{call(`{}`)}); err != nil || !got[0].IsError {
			t.Errorf("got %+v, %v", got, err)
		}
		if left := alive.Settle(t.Context(), 0); left != 1 {
			t.Errorf("%d still run, want 1", left)
		}
		if left := alive.Settle(t.Context(), time.Hour); left != 0 {
			t.Errorf("%d still run, want none", left)
		}
	})
}

func TestToolsThatHaveAnsweredDoNotLinger(t *testing.T) {
	t.Parallel()
	var alive tool.Lingering
	g := guard(say("ok"))
	g.Tools[1].Run = func(context.Context, tool.Call) (tool.Result, error) { panic("oops") }
	g.Alive = &alive
	for step := range 100 {
		if _, err := g.Run(t.Context(), step, []model.ToolCall{call(`{}`), named("other"), call(`{}`)}); err != nil {
			t.Fatal(err)
		}
		if left := alive.Settle(t.Context(), 0); left != 0 {
			t.Fatalf("%d still run", left)
		}
	}
}

func TestSettlingEndsWithItsContextAndSeveralMayWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var alive tool.Lingering
		g := guard(stuck(10 * time.Second))
		g.Alive = &alive
		go func() { _, _ = g.Run(t.Context(), 0, []model.ToolCall{call(`{}`)}) }()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		left := make(chan int, 2)
		for range cap(left) {
			go func() { left <- alive.Settle(t.Context(), time.Hour) }()
		}
		if n := alive.Settle(short, time.Hour); n != 1 || short.Err() == nil {
			t.Errorf("%d still run when the context ends, want 1", n)
		}
		if a, b := <-left, <-left; a != 0 || b != 0 {
			t.Errorf("%d and %d still run after all returned", a, b)
		}
	})
}

func TestNobodyHasToCount(t *testing.T) {
	t.Parallel()
	var nobody *tool.Lingering
	var unused tool.Lingering
	if a, b := nobody.Settle(t.Context(), time.Hour), unused.Settle(t.Context(), time.Hour); a != 0 || b != 0 {
		t.Errorf("%d and %d run", a, b)
	}
}
