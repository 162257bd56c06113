package reaper_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

func TestATurnThatWasHandedOverIsAskedForAtAGrowingDistanceAndNeverBuried(t *testing.T) {
	bubble(t, func(w *world) {
		run := w.claim()
		w.must(run.Handover(w.Context(), time.Now()))
		for range 200 {
			time.Sleep(time.Second)
			if got := w.sweep(); got.Buried+got.Failed+got.Dropped != 0 {
				t.Fatalf("got %+v", got)
			}
		}
		var want []sending
		for _, at := range []time.Duration{21, 32, 53, 94, 175} {
			want = append(want, sending{at * time.Second, session})
		}
		if diff := cmp.Diff(want, w.sent); diff != "" {
			t.Errorf("sent: want (-), got (+):\n%s", diff)
		}
		view, err := w.Desk.Look(w.Context(), "t", "t")
		w.must(err)
		next, err := w.Desk.Continue(w.Context(), view, time.Now())
		w.must(err)
		w.must(next.Open(w.Context(), new(blobtest.Fake)))
		time.Sleep(turn.LeaseTerm + time.Millisecond) // whoever went on with it died at once
		if got := w.sweep(); got.Buried != 1 {
			t.Errorf("then %+v, want a burial", got)
		}
		time.Sleep(time.Hour)
		w.sweep()
		if marks := w.marksOf(due.Lease); len(marks) != 0 {
			t.Errorf("left %+v", marks)
		}
	})
}

func TestWhoMayHaveAPermitIsWokenByEverySweep(t *testing.T) {
	bubble(t, func(w *world) {
		w.Desk.Permits = 2
		first := w.claim()
		w.sayIn("second")
		w.start("second")
		for i := range 3 {
			s := id.Session(fmt.Sprint("waiting-", i))
			w.sayIn(s)
			view, err := w.Desk.Look(w.Context(), s, "t")
			w.must(err)
			w.must(w.Desk.Join(w.Context(), view, time.Now()))
			time.Sleep(time.Millisecond)
		}
		w.sweep()
		w.wakes()
		w.must(first.End(w.Context(), turn.Ending{Status: turn.Succeeded, At: time.Now()}))
		w.sweep()
		w.wakes(body(wake.Session("waiting-0", "t")))
		w.start("waiting-0")
		w.sent = nil
		w.sweep()
		w.wakes()
	})
}

// A dead worker's permit comes back with the burial, and whoever waits for it is woken then or at the next sweep.
func TestThePermitOfADeadWorkerGoesToWhoeverWaits(t *testing.T) {
	bubble(t, func(w *world) {
		w.Desk.Permits = 1
		w.claim()
		time.Sleep(turn.LeaseTerm - time.Second)
		w.sayIn("waiting")
		view, err := w.Desk.Look(w.Context(), "waiting", "t")
		w.must(err)
		w.must(w.Desk.Join(w.Context(), view, time.Now()))
		time.Sleep(2 * time.Second)
		w.sweep()
		w.sweep()
		w.wakes(conversation, session, body(wake.Session("waiting", "t")))
		w.start("waiting")
	})
}

func TestPermitsThatCannotBeReadHoldNothingElseUp(t *testing.T) {
	bubble(t, func(w *world) {
		w.Desk.Permits = 1
		w.say()
		time.Sleep(time.Minute)
		w.store.Fault = func(c tabletest.Call) tabletest.Fault {
			if c.Query.Partition == "cap" {
				return tabletest.Fault{Kind: tabletest.Refused}
			}
			return tabletest.Fault{}
		}
		report, err := w.Sweep(w.Context(), time.Now())
		if !errors.Is(err, table.ErrRefused) || report.Woken != 1 {
			t.Errorf("got %+v, %v; want the mark handled and the error", report, err)
		}
	})
}
