package turn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// countsAreRight checks that the depth of each queue is how many are queued in it.
func (w *world) countsAreRight() {
	w.Helper()
	queued, depth := map[string]int64{}, map[string]int64{}
	for _, item := range w.store.Items() {
		switch {
		case strings.HasPrefix(item.Key.Sort, turn.QueuePrefix):
			queued[item.Key.Partition]++
		case item.Key.Sort == "depth" && item.Counter != 0:
			depth[item.Key.Partition] = item.Counter
		}
	}
	if diff := cmp.Diff(queued, depth); diff != "" {
		w.Errorf("queued (-), counted (+):\n%s", diff)
	}
}

func TestTheDepthOfAQueueIsHowManyAreInIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, do := range []func(){
		func() { w.say("one") },
		func() { w.say("two") },
		func() { w.enqueue(task, turn.Task) },
		func() { w.claimNext(w.a, noon) },
		func() { w.say("three") },
		func() { w.edit(w.queued()[0], "zwei") },
		func() { w.withdraw(w.queued()[1]) },
		func() {
			_, err := w.bury(w.b, noon.Add(time.Hour))
			w.must(err)
		},
		func() {
			run := w.claimNext(w.b, noon)
			w.say("four")
			w.say("five")
			_, err := w.steer(run)
			w.must(err)
			w.must(run.End(w.Context(), done("ok")))
		},
		func() { w.say("six") },
		func() { w.press() },
		func() { w.must(w.a.Strike(w.Context(), w.look(w.a), noon)) },
		func() { w.say("seven") },
		func() {
			w.a.Permits = 1
			w.must(w.a.Join(w.Context(), w.look(w.a), noon))
		},
		func() { w.claimNext(w.a, noon) },
	} {
		do()
		if w.countsAreRight(); t.Failed() {
			t.Fatalf("after step %d", i)
		}
	}
}

func TestAQueueTakesTwentyAndThenOnlyWhatResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range turn.MaxQueued {
		w.enqueue(w.session, turn.User)
	}
	e := turn.Entry{Turn: turn.Turn{ID: "one more", Thread: w.in, Session: w.session, Source: turn.User, Status: turn.Queued}, WakeAt: noon}
	for _, source := range []turn.Source{turn.User, turn.Task, turn.Schedule, turn.Event} {
		e.Turn.Source = source
		ops := e.Enqueue()
		err := w.store.Write(t.Context(), table.Write{ID: w.ids.New(noon), Ops: ops})
		if failed, ok := errors.AsType[*table.ConditionError](err); !ok || failed.Failed[0].Index != len(ops)-1 {
			t.Errorf("one more of %s: got %v, want the last operation to fail", source, err)
		}
	}
	e.Turn.Source = turn.Resume
	w.write(e.Enqueue()...)
	w.enqueue("elsewhere", turn.User)
	w.claimNext(w.a, noon) // one leaves, and still there are twenty
	w.countsAreRight()
	w.withdraw(w.queued()[0])
	w.enqueue(w.session, turn.User)
	w.countsAreRight()
}

func TestATurnIsQueuedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.enqueue(w.session, turn.User)
	err := w.store.Write(t.Context(), table.Write{ID: w.ids.New(noon), Ops: e.Enqueue()})
	if failed, ok := errors.AsType[*table.ConditionError](err); !ok || failed.Failed[0].Index != 0 {
		t.Errorf("got %v, want the first operation to fail", err)
	}
	w.countsAreRight()
}

func TestATurnIsFoundWithItsPlaceWhileItIsQueued(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.enqueue(w.session, turn.User)
	got, place, err := w.a.Find(t.Context(), e.Turn.ID)
	w.must(err)
	if got == nil || place == nil || place.Text != e.Text || got.ID != e.Turn.ID || got.Status != turn.Queued {
		t.Fatalf("queued: %+v, %+v", got, place)
	}
	w.write(turn.Cancel(noon, *place)...)
	if got, place, err = w.a.Find(t.Context(), e.Turn.ID); err != nil || got.Status != turn.Cancelled || place != nil {
		t.Errorf("withdrawn: %+v, %+v, %v", got, place, err)
	}
	if got, place, err = w.a.Find(t.Context(), "none"); got != nil || place != nil || err != nil {
		t.Errorf("none: %+v, %+v, %v", got, place, err)
	}
}

// sole queues a turn of a connection that refuses messages meanwhile.
func (w *world) sole() turn.Entry {
	w.Helper()
	w.said++
	e := turn.Entry{
		Turn: turn.Turn{
			ID: id.Turn(fmt.Sprint("turn ", w.said)), Owner: "o", Thread: w.in, Session: w.session, Source: turn.User, Status: turn.Queued,
			Route: route, Created: noon, Order: turn.Order(noon, int64(w.said), 0), Generation: w.generation(), Apart: true, Sole: true,
		},
		WakeAt: noon.Add(10 * time.Second),
	}
	w.write(append(e.Enqueue(), table.Put(turn.SoleKey(w.session), []byte("{}"), table.Absent()))...)
	queued, err := w.a.Next(w.Context(), w.session)
	w.must(err)
	return *queued
}

func TestAConnectionThatRefusesMessagesTakesThemAgainAfterEveryEnd(t *testing.T) {
	t.Parallel()
	// The turn is queued; each of these brings it to its end.
	for name, end := range map[string]func(*world, turn.Entry){
		"withdrawn": func(w *world, e turn.Entry) { w.write(turn.Cancel(noon, e)...) },
		"done":      func(w *world, _ turn.Entry) { w.must(w.claimNext(w.a, noon).End(w.Context(), done("ok"))) },
		"waiting": func(w *world, _ turn.Entry) {
			w.must(w.claimNext(w.a, noon).End(w.Context(), waiting(wait.Question)))
		},
		"abandoned": func(w *world, _ turn.Entry) {
			w.must(w.claimNext(w.a, noon).Abandon(w.Context(), turn.Interruption(noon)))
		},
		"dead": func(w *world, _ turn.Entry) {
			w.claimNext(w.a, noon)
			_, err := w.bury(w.b, noon.Add(time.Hour))
			w.must(err)
		},
		"dead after a handover": func(w *world, _ turn.Entry) {
			w.must(w.claimNext(w.a, noon).Handover(w.Context(), noon))
			w.goOn(w.b)
			_, err := w.bury(w.a, noon.Add(time.Hour))
			w.must(err)
		},
		"stopped while it ran": func(w *world, _ turn.Entry) {
			w.claimNext(w.a, noon)
			w.halt(w.b, w.press())
		},
		"stopped while it was queued": func(w *world, _ turn.Entry) { w.halt(w.b, w.press()) },
		"struck": func(w *world, _ turn.Entry) {
			w.press()
			w.must(w.a.Strike(w.Context(), w.look(w.a), noon))
		},
		"sent away": func(w *world, _ turn.Entry) {
			w.crowd()
			w.must(w.claimNext(w.a, noon).Abandon(w.Context(), turn.Crowded(noon)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.sole()
			taken := func() bool {
				item, err := w.store.Get(t.Context(), turn.SoleKey(w.session))
				w.must(err)
				return item != nil
			}
			if !taken() {
				t.Fatal("nothing says that it is queued")
			}
			end(w, e)
			if taken() {
				t.Error("messages are refused for ever")
			}
		})
	}
}

func TestAConnectionRefusesMessagesAsLongAsItsTurnRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sole()
	run := w.claimNext(w.a, noon)
	w.must(run.Checkpoint(t.Context(), noon))
	w.must(run.Handover(t.Context(), noon))
	w.goOn(w.b)
	if item, err := w.store.Get(t.Context(), turn.SoleKey(w.session)); item == nil || err != nil {
		t.Errorf("they are taken: %v, %v", item, err)
	}
}
