package turn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// crowd gives the world one permit, which another session has, and a line in which there is no place any more.
func (w *world) crowd() {
	w.Helper()
	w.a.Permits, w.b.Permits = 1, 1
	w.enqueue("holder", turn.User)
	w.start(w.a, "holder")
	for i := range capacity.MaxWaiting {
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
		if item.Key.Partition == "cap" && strings.HasPrefix(item.Key.Sort, "wait#") {
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
	w.a.Permits = 0
	if got := w.claim(w.a, noon).Previous(); len(got) != 1 || got[0].Turn != u || got[0].Message == "" {
		t.Errorf("the next is told of %+v, want what was not answered", got)
	}
}

func TestWhereThereIsNoCapNobodyWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	if starved, err := w.a.Starved(t.Context()); len(starved) != 0 || err != nil || !run.Admitted() || len(w.slots()) != 0 {
		t.Errorf("starved %+v, %v; admitted %v, slots %v", starved, err, run.Admitted(), w.slots())
	}
}

func TestAStopCancelsWhatWaitsForAPermitInWhateverSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.a.Permits, w.b.Permits = 1, 1
	w.claim(w.a, noon)
	waiting := w.enqueue("another", turn.Task).Turn.ID
	v, err := w.a.Look(t.Context(), "another", w.in)
	w.must(err)
	w.must(w.a.Join(t.Context(), v, noon))
	w.halt(w.b, w.press())
	if got := w.statuses(waiting); got[0] != turn.Cancelled {
		t.Errorf("what waited for a permit is %s", got[0])
	}
	for _, item := range w.store.Items() {
		if item.Key.Partition == "cap" {
			t.Errorf("left: %s", item.Key)
		}
	}
}
