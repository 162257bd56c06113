package reaper_test

import (
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// A process that has just started sweeps far ahead, to act on all that the last one left. A term has not passed by that.
func TestASweepFarAheadClosesNothingBeforeItsTerm(t *testing.T) {
	bubble(t, func(w *world) {
		asked := wait.Wait{
			Ask: wait.Ask{Kind: wait.Confirmation, Text: "May I?"}, Turn: "u", Thread: "t", Session: "s", Asked: time.Now(),
		}
		if err := w.store.Write(t.Context(), table.Write{ID: "asked", Ops: asked.Put()}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Sweep(t.Context(), time.Now().Add(48*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if open, err := wait.Open(t.Context(), w.store, "t", "s"); err != nil || len(open) != 1 {
			t.Errorf("%d waits are open, %v; want the one whose term has not passed", len(open), err)
		}
	})
}
