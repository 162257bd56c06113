package turn_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
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
			fenced(t, "handover", old.Handover(t.Context(), noon))
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
	w := newWorld(t)
	run := w.claim(w.a, noon)
	var want []string
	for i := range times {
		want = append(want, fmt.Sprint(i))
		run.Log().Append(answer(want[i]))
		run.Count(model.Usage{Output: 1})
		w.must(run.Handover(t.Context(), noon))
		run = w.goOn([]*turn.Desk{w.a, w.b}[i%2])
	}
	w.must(run.End(t.Context(), done("ok")))
	w.expect(nil, nil, want, nil)
	got := w.status(run.Turn().ID)
	if got.Steps != times || got.Usage.Output != times || got.Epoch != 1+2*times || len(w.left()) != 0 {
		t.Errorf("%d steps under epoch %d, used %+v, left %v", got.Steps, got.Epoch, got.Usage, w.left())
	}
	if n := len(w.store.Items()); n > 12 {
		t.Errorf("%d records are left: %v", n, w.store.Items())
	}
}

// crowd gives the world one permit, which another session has, and a line in which there is no place any more.
func (w *world) crowd() {
	w.Helper()
	w.a.Permits, w.b.Permits = 1, 1
	w.enqueue("holder", turn.User)
	w.start(w.a, "holder")
	for i := range 32 {
		s := id.Session(fmt.Sprint("waiting ", i))
		w.enqueue(s, turn.User)
		v, err := w.a.Look(w.Context(), s, w.in)
		w.must(err)
		w.must(w.a.Join(w.Context(), v, noon))
	}
}

// slots are the sessions that hold a permit.
func (w *world) slots() (sessions []string) {
	w.Helper()
	page, err := w.store.Scan(w.Context(), table.Query{Partition: "cap", Prefix: "slot#"})
	w.must(err)
	for i := range page.Items {
		var slot struct{ Session string }
		_, err := table.Decode(&page.Items[i], &slot)
		w.must(err)
		sessions = append(sessions, slot.Session)
	}
	return sessions
}

func TestAPermitIsHeldFromTheClaimAcrossHandoversToTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, *turn.Run){
		"done":      func(w *world, run *turn.Run) { w.must(run.End(w.Context(), done("ok"))) },
		"abandoned": func(w *world, run *turn.Run) { w.must(run.Abandon(w.Context(), turn.Interruption(noon))) },
		"dead":      func(w *world, _ *turn.Run) { _, err := w.bury(w.b, noon.Add(time.Hour)); w.must(err) },
		"stopped":   func(w *world, _ *turn.Run) { w.halt(w.b, w.press()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.a.Permits, w.b.Permits = 1, 1
			run := w.claim(w.a, noon)
			mine := []string{string(w.session)}
			if diff := cmp.Diff(mine, w.slots()); diff != "" || !run.Admitted() {
				t.Errorf("admitted %v; claimed: want (-), got (+):\n%s", run.Admitted(), diff)
			}
			w.must(run.Handover(t.Context(), noon))
			if diff := cmp.Diff(mine, w.slots()); diff != "" {
				t.Errorf("handed over: want (-), got (+):\n%s", diff)
			}
			run = w.goOn(w.b)
			if diff := cmp.Diff(mine, w.slots()); diff != "" || !run.Admitted() {
				t.Errorf("admitted %v; gone on with: want (-), got (+):\n%s", run.Admitted(), diff)
			}
			end(w, run)
			if got := w.slots(); len(got) != 0 {
				t.Errorf("after the end %q have one", got)
			}
		})
	}
}

func TestATurnThatWaitsForAPermitIsTheNextToGetIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.a.Permits, w.b.Permits = 1, 1
	first := w.claim(w.a, noon)
	w.enqueue(task, turn.Task)
	look := func() turn.View {
		v, err := w.b.Look(t.Context(), task, w.in)
		w.must(err)
		return v
	}
	v := look()
	if step := turn.Decide(v, noon); step != turn.Join {
		t.Fatalf("the step is %d, want to join the line", step)
	}
	w.must(w.b.Join(t.Context(), v, noon))
	if err := w.b.Join(t.Context(), v, noon); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("joining twice: %v, want ErrRaced", err)
	}
	if step := turn.Decide(look(), noon); step != turn.Hold {
		t.Errorf("in line the step is %d, want to wait", step)
	}
	if starved, err := w.a.Starved(t.Context()); err != nil || len(starved) != 0 {
		t.Errorf("with no permit free %+v may have it, %v", starved, err)
	}
	w.must(first.End(t.Context(), done("ok")))
	starved, err := w.a.Starved(t.Context())
	w.must(err)
	if len(starved) != 1 || starved[0].Session != task || starved[0].Thread != w.in {
		t.Fatalf("now %+v may have it", starved)
	}
	w.start(w.b, task)
	for _, item := range w.store.Items() {
		if item.Key.Partition == "cap" && item.Key.Sort[:5] == "wait#" {
			t.Errorf("it runs and waits: %s", item.Key)
		}
	}
}

func TestOfTwoThatReachForTheLastPermitOneGetsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.a.Permits, w.b.Permits = 1, 1
	w.say("one")
	w.enqueue(task, turn.Task)
	va := w.look(w.a)
	vb, err := w.b.Look(t.Context(), task, w.in)
	w.must(err)
	_, err = w.a.Claim(t.Context(), va, noon)
	w.must(err)
	if _, err = w.b.Claim(t.Context(), vb, noon); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("the second: %v, want ErrRaced", err)
	}
}

func TestWhoFindsNoPlaceInTheLineEndsUnansweredAndHoldsNoPermit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crowd()
	u := w.say("hello")
	v := w.look(w.a)
	if step := turn.Decide(v, noon); step != turn.Shed {
		t.Fatalf("the step is %d, want to send it away", step)
	}
	run, err := w.a.Claim(t.Context(), v, noon)
	w.must(err)
	if run.Admitted() {
		t.Error("it may run")
	}
	w.must(run.Abandon(t.Context(), turn.Crowded(noon)))
	if diff := cmp.Diff([]string{turn.CrowdedNotice}, w.told()); diff != "" || w.status(u).Status != turn.Failed {
		t.Errorf("it is %s; told: want (-), got (+):\n%s", w.status(u).Status, diff)
	}
	if diff := cmp.Diff([]string{"holder"}, w.slots()); diff != "" {
		t.Errorf("permits: want (-), got (+):\n%s", diff)
	}
	if next := w.claimable(); next.Previous() != nil && next.Previous()[0].Turn != u {
		t.Errorf("the next is told of %+v", next.Previous())
	}
}

// claimable is the session's next turn, once there is no cap any more.
func (w *world) claimable() *turn.Run {
	w.Helper()
	w.a.Permits = 0
	return w.claim(w.a, noon)
}

func TestWhereThereIsNoCapNobodyWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	if starved, err := w.a.Starved(t.Context()); len(starved) != 0 || err != nil || !run.Admitted() || len(w.slots()) != 0 {
		t.Errorf("starved %+v, %v; admitted %v, slots %v", starved, err, run.Admitted(), w.slots())
	}
}
