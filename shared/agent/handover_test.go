package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// within works on a turn for so long at most, and hands it over if that is too short. It reports whether the turn ended.
func (w *world) within(d time.Duration, run *turn.Run) (turn.Ending, bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), d)
	defer cancel()
	ending, err := w.Work(ctx, run)
	if errors.Is(err, turn.ErrHandover) {
		w.must(run.Handover(ctx, time.Now()))
		return turn.Ending{}, false
	}
	w.must(err)
	ending.At = time.Now()
	w.must(run.End(ctx, ending))
	return ending, true
}

// slowly has the model take its time.
func slowly(d time.Duration, then answer) answer {
	return func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
		time.Sleep(d)
		return then(ctx, show)
	}
}

// A step may need two fifths of what the worker had at first: of 100 seconds, 40.
func TestAStepForWhichTheTimeIsShortIsTheNextWorkers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		took     time.Duration // by the first step
		requests int           // that the first worker makes
	}{"just enough": {60 * time.Second, 2}, "a little short": {60*time.Second + 1, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, slowly(tc.took, call("echo", `{}`)), say("done"))
				w.Tools[0].Limit = time.Second
				_, ended := w.within(100*time.Second, w.claim("go"))
				if len(w.requests) != tc.requests || ended != (tc.requests == 2) {
					t.Errorf("ended is %v after %d requests, want %d", ended, len(w.requests), tc.requests)
				}
				if ended {
					return
				}
				if ending, _ := w.within(100*time.Second, w.next()); ending.Text != "done" {
					t.Errorf("got %+v", ending)
				}
				w.read("user: go", "call echo {}", "result call-0 heard {}")
				if got := w.stored("u1"); got.Steps != 2 || got.Epoch != 3 {
					t.Errorf("%d steps, epoch %d; want 2, and an epoch for claim, handover and going on each", got.Steps, got.Epoch)
				}
			})
		})
	}
}

func TestAWorkerThatHasJustBegunTriesWhateverItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, call("echo", `{}`), say("done"))
		w.Tools[0].Limit = time.Hour // longer than any worker has
		if _, ended := w.within(time.Minute, w.claim("go")); ended {
			t.Fatal("it ended")
		}
		if ending, _ := w.within(time.Minute, w.next()); ending.Text != "done" {
			t.Errorf("got %+v: a call that no worker has the time for must be tried all the same", ending)
		}
	})
}

func TestWithoutADeadlineNothingIsHandedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slowly(24*time.Hour, call("echo", `{}`)), say("done"))
		w.Tools[0].Limit = 24 * time.Hour
		if ending := w.turn("go"); ending.Text != "done" {
			t.Errorf("got %+v", ending)
		}
	})
}

func TestCallsThatMayOutlastTheTimeAreBegunByTheNextWorkerOnceUnderTheSameKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made := func(short bool) []string {
			w := newWorld(t, call("echo", `{"n":1}`), slowly(15*time.Second, call("echo", `{"n":2}`, `{"n":3}`)), say("done"))
			var mu sync.Mutex
			var calls []string
			w.Tools[0].Limit = 90 * time.Second
			w.Tools[0].Run = func(_ context.Context, c tool.Call) (tool.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				calls = append(calls, c.Key+" "+string(c.Arguments))
				return tool.Result{Text: "ok"}, nil
			}
			if !short {
				w.turn("go")
				return slices.Sorted(slices.Values(calls))
			}
			if _, ended := w.within(100*time.Second, w.claim("go")); ended || len(calls) != 1 {
				t.Errorf("ended is %v, made %v; want the last two left for the next worker", ended, calls)
			}
			if work := w.work(t.Context()); len(work.Open) != 0 {
				t.Errorf("%v are said to have begun", work.Open)
			}
			if ending, _ := w.within(100*time.Second, w.next()); ending.Text != "done" {
				t.Errorf("got %+v", ending)
			}
			w.read("user: go", `call echo {"n":1}`, "result call-0 ok", `call echo {"n":2}`, `call echo {"n":3}`, "result call-0 ok", "result call-1 ok")
			return slices.Sorted(slices.Values(calls))
		}
		if diff := cmp.Diff(made(false), made(true)); diff != "" {
			t.Errorf("without handover (-), with one (+):\n%s", diff)
		}
	})
}

func TestCallsThatNobodyBeganAreAnsweredAsNotStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, call("echo", `{"n":1}`, `{"n":2}`), say("hi"))
		w.desk.Gone = func(string) bool { return true }
		w.Tools[0].Limit = time.Hour
		if _, ended := w.within(time.Minute, w.claim("go")); ended {
			t.Fatal("it ended")
		}
		w.next() // dies before it begins the calls
		w.bury(t.Context())
		w.turn("and?")
		if got := w.last(); got[3] != "result call-0 "+transcript.NotStarted || got[4] != "result call-1 "+transcript.NotStarted {
			t.Errorf("the model reads %q", got)
		}
	})
}

func TestATurnThatWasHandedOverIsNotGoneOnWithOnceItIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, call("echo", `{}`), say("hi"))
		w.Tools[0].Limit = time.Hour
		w.within(time.Minute, w.claim("go"))
		w.stop(t.Context())
		view, err := w.desk.Look(t.Context(), "t", "t")
		if step := turn.Decide(view, noon); err != nil || step != turn.Idle {
			t.Errorf("got step %d, %v; want nothing to do", step, err)
		}
		w.turn("hello")
		if got := w.last(); got[2] != "result call-0 "+transcript.NotStarted || got[3] != "user: "+prompt.Stopped {
			t.Errorf("the model reads %q", got)
		}
	})
}

// Five hundred steps, ten for each worker: what they wrote is one transcript, and each call was made once.
func TestATurnOfManyWorkersKeepsOneTranscriptAndMakesEachCallOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const steps, each, workers = 500, 10, 50
		w := newWorld(t)
		w.Limits = agent.Limits{Steps: 1000}
		w.answers = []answer{func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
			time.Sleep(5 * time.Second)
			if n := len(w.requests); n < steps {
				return call("echo", fmt.Sprintf(`{"n":%d}`, n))(ctx, show)
			}
			return say("done")(ctx, show)
		}}
		made, keys := map[string]int{}, map[string]bool{}
		w.Tools[0].Limit = 10 * time.Second
		w.Tools[0].Run = func(_ context.Context, c tool.Call) (tool.Result, error) {
			made[string(c.Arguments)]++
			keys[c.Key] = true
			time.Sleep(time.Second)
			return tool.Result{Text: "ok"}, nil
		}
		run, taken, ended := w.claim("go"), 1, false
		var ending turn.Ending
		for ending, ended = w.within(each*10*time.Second-time.Second, run); !ended; taken++ { // ten of these steps leave less than two fifths
			run = w.next()
			ending, ended = w.within(each*10*time.Second-time.Second, run)
		}
		if ending.Text != "done" || len(w.requests) != steps || taken != workers {
			t.Errorf("got %+v after %d requests by %d workers", ending, len(w.requests), taken)
		}
		if len(made) != steps-1 || len(keys) != steps-1 {
			t.Errorf("%d calls under %d keys, want %d", len(made), len(keys), steps-1)
		}
		for c, n := range made {
			if n != 1 {
				t.Errorf("%s was made %d times", c, n)
			}
		}
		want := []string{"user: go"}
		for n := 1; n < steps; n++ {
			want = append(want, fmt.Sprintf(`call echo {"n":%d}`, n), "result call-0 ok")
		}
		w.read(want...)
		if got := w.stored("u1"); got.Steps != steps || got.Epoch != 2*workers-1 {
			t.Errorf("%d steps, epoch %d", got.Steps, got.Epoch)
		}
	})
}

func TestTheStepsOfAllItsWorkersCountAgainstATurnsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.answers = []answer{slowly(30*time.Second, call("echo", `{}`))}
		w.Tools[0].Limit = time.Second
		w.Limits = agent.Limits{Identical: 7}
		run, ended := w.claim("go"), false
		var ending turn.Ending
		for range 10 {
			if ending, ended = w.within(100*time.Second, run); ended {
				break
			}
			run = w.next()
		}
		if len(w.requests) != 7 || !strings.Contains(ending.Text, "7 times in a row") {
			t.Errorf("after %d requests: %+v", len(w.requests), ending)
		}
	})
}
