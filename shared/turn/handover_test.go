package turn_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// goOn has a worker go on with the turn that was handed over.
func (w *world) goOn(d *turn.Desk) *turn.Run {
	w.Helper()
	v := w.look(d)
	if step := turn.Decide(v, noon); step != turn.Continue {
		w.Fatalf("the step is %d, want to go on", step)
	}
	run, err := d.Continue(w.Context(), v, noon)
	w.must(err)
	w.must(run.Open(w.Context(), w.blobs))
	return run
}

func TestAHandoverLeavesTheTurnToTheNextWorkerWithAllItHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.claim(w.a, noon)
	old.Log().Append(answer("a"))
	w.must(old.Checkpoint(t.Context(), noon))
	old.Log().Append(answer("b"))
	old.Count(model.Usage{Input: 3, Output: 4})
	old.Count(model.Usage{Input: 1})
	_, err := old.Begin(t.Context(), noon, []string{"search"}, "")
	w.must(err)
	old.Answered()
	w.must(old.Handover(t.Context(), noon))
	if got := old.Turn(); got.Epoch != 2 || got.Status != turn.Running {
		t.Errorf("handed over: %+v", got)
	}

	next := w.goOn(w.b)
	got := next.Turn()
	if got.ID != old.Turn().ID || got.Epoch != 3 || got.Steps != 2 || got.Usage.Input != 4 || !next.Continued() || old.Continued() {
		t.Errorf("went on with %+v, continued: %v", got, next.Continued())
	}
	w.expect(nil, nil, []string{"a", "b"}, nil)
	if len(next.Log().Entries()) != 2 {
		t.Errorf("the transcript is %+v", next.Log().Entries())
	}
	next.Count(model.Usage{Output: 5})
	w.must(next.End(t.Context(), done("ok")))
	want := model.Usage{Input: 4, Output: 9}
	if got := w.status(got.ID); got.Steps != 3 || got.Usage != want || got.Status != turn.Succeeded || !got.Started.Equal(noon) {
		t.Errorf("at the end: %+v", got)
	}
	if diff := cmp.Diff([]string{"ok"}, w.told()); diff != "" || len(w.left()) != 0 {
		t.Errorf("left %v; told: want (-), got (+):\n%s", w.left(), diff)
	}
}

// Between the two the turn has no worker, and after it one: never two.
func TestAWorkerThatHandedItsTurnOverCanWriteNothing(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(*world){
		"before anyone goes on":      func(*world) {},
		"while another goes on":      func(w *world) { w.goOn(w.b) },
		"when another has ended it":  func(w *world) { w.must(w.goOn(w.b).End(w.Context(), done("ok"))) },
		"when another is taken dead": func(w *world) { w.goOn(w.b); _, err := w.bury(w.a, noon.Add(time.Hour)); w.must(err) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			old := w.claim(w.a, noon)
			w.must(old.Handover(t.Context(), noon))
			after(w)
			w.say("more")
			before := w.store.Items()
			old.Log().Append(answer("late"))
			_, err := old.Begin(t.Context(), noon, []string{"pay"}, "now")
			fenced(t, "begin", err)
			_, err = w.steer(old)
			fenced(t, "steer", err)
			fenced(t, "checkpoint", old.Checkpoint(t.Context(), noon))
			fenced(t, "handover", old.Handover(t.Context(), noon.Add(time.Second)))
			fenced(t, "renew", old.Renew(t.Context(), noon))
			fenced(t, "end", old.End(t.Context(), done("late")))
			fenced(t, "abandon", old.Abandon(t.Context(), done("late")))
			if mine, err := old.Mine(t.Context()); mine || err != nil {
				t.Errorf("the turn is still its own: %v, %v", mine, err)
			}
			if diff := cmp.Diff(before, w.store.Items()); diff != "" {
				t.Errorf("the old worker changed the store (-before +after):\n%s", diff)
			}
		})
	}
}

func TestOfTwoWorkersThatGoOnAtOnceOneDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.claim(w.a, noon).Handover(t.Context(), noon))
	va, vb := w.look(w.a), w.look(w.b)
	_, err := w.a.Continue(t.Context(), va, noon)
	w.must(err)
	if _, err := w.b.Continue(t.Context(), vb, noon); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("the second: %v, want ErrRaced", err)
	}
	if step := turn.Decide(w.look(w.b), noon); step != turn.Busy {
		t.Errorf("the second's next step is %d, want to leave it alone", step)
	}
}

func TestATurnThatWasHandedOverAndStoppedIsNotGoneOnWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	w.must(run.Handover(t.Context(), noon))
	v := w.look(w.b)
	w.halt(w.a, w.press())
	if _, err := w.b.Continue(t.Context(), v, noon); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("got %v, want ErrRaced", err)
	}
	if step := turn.Decide(w.look(w.b), noon); step != turn.Idle || len(w.left()) != 0 {
		t.Errorf("the step is %d, left %v", step, w.left())
	}
}

func TestAWorkerThatDiesBeforeItsHandoverIsBuriedAndAfterItIsNot(t *testing.T) {
	t.Parallel()
	for kind, want := range map[tabletest.Kind]turn.Step{tabletest.Refused: turn.Bury, tabletest.Unheard: turn.Continue} {
		t.Run(fmt.Sprint("kind ", kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				run := w.claim(w.a, noon)
				run.Log().Append(answer("a"))
				w.fail(gaveUp, kind)
				if err := run.Handover(t.Context(), noon); err == nil || errors.Is(err, turn.ErrFenced) {
					t.Fatalf("got %v, want the store's error", err)
				}
				if step := turn.Decide(w.look(w.b), noon.Add(turn.LeaseTerm)); step != want {
					t.Errorf("the step is %d, want %d", step, want)
				}
			})
		})
	}
}

func TestATurnIsHandedOverHundredsOfTimesWithOneTranscript(t *testing.T) {
	t.Parallel()
	const times = 500
	once, _ := handedOver(t, 1)
	w, run := handedOver(t, times)
	var want []string
	for i := range times {
		want = append(want, fmt.Sprint(i))
	}
	w.expect(nil, nil, want, nil)
	got := w.status(run.Turn().ID)
	if got.Steps != times || got.Usage.Output != times || got.Epoch != 1+2*times || len(w.left()) != 0 {
		t.Errorf("%d steps under epoch %d, used %+v, left %v", got.Steps, got.Epoch, got.Usage, w.left())
	}
	if n, few := len(w.store.Items()), len(once.store.Items()); n != few {
		t.Errorf("%d records are left, after one handover %d", n, few)
	}
}

// handedOver is a world after a turn that was handed over so many times, each after a step.
func handedOver(t *testing.T, times int) (*world, *turn.Run) {
	t.Helper()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	for i := range times {
		run.Log().Append(answer(fmt.Sprint(i)))
		run.Count(model.Usage{Output: 1})
		w.must(run.Handover(t.Context(), noon))
		run = w.goOn([]*turn.Desk{w.a, w.b}[i%2])
	}
	w.must(run.End(t.Context(), done("ok")))
	return w, run
}
