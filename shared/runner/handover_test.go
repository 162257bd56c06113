package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// handsOver hands each turn over once, then answers.
func handsOver(ctx context.Context, run *turn.Run) (turn.Ending, error) {
	if !run.Continued() {
		return turn.Ending{}, turn.ErrHandover
	}
	return reply("done")(ctx, run)
}

func TestAHandoverWakesTheNextWorkerWhichGoesOn(t *testing.T) {
	bubble(t, func(w *world) {
		w.work = handsOver
		u := w.say("go")
		w.run()
		w.heard()
		if got := w.turn(u); got.Status != turn.Running || got.Epoch != 2 {
			w.Errorf("the turn is %s under epoch %d", got.Status, got.Epoch)
		}
		w.same("woken", []queue.Message{session.Message(string(u) + "#2")}, w.woken)
		w.run()
		w.heard("done")
		if got := w.turn(u); got.Status != turn.Succeeded || got.Epoch != 3 {
			w.Errorf("the turn is %s under epoch %d", got.Status, got.Epoch)
		}
		w.same("noted", []string{"turn started", "turn handed over", "turn started", "turn ended"}, w.notes)
	})
}

// Whoever gets the wake-up again goes on; and should nobody, the turn's mark asks.
func TestAHandoverWhoseWakeUpIsNotSentLeavesItsOwnToComeAgain(t *testing.T) {
	bubble(t, func(w *world) {
		w.work = handsOver
		u := w.say("go")
		w.refuse = true
		if _, _, err := w.handle(session, 1); !errors.Is(err, queue.ErrRefused) {
			w.Errorf("got %v, want the error", err)
		}
		w.refuse = false
		if _, _, err := w.handle(session, 2); err != nil {
			w.Error(err)
		}
		w.heard("done")
		if got := w.turn(u); got.Status != turn.Succeeded {
			w.Errorf("the turn is %s", got.Status)
		}
	})
}

func TestAHandedOverTurnIsNobodysToBury(t *testing.T) {
	bubble(t, func(w *world) {
		w.work = handsOver
		w.say("go")
		w.run()
		time.Sleep(time.Hour)
		w.run()
		w.heard("done")
	})
}

func TestAHandoverThatAStopOvertakesIsNone(t *testing.T) {
	bubble(t, func(w *world) {
		w.work = func(ctx context.Context, run *turn.Run) (turn.Ending, error) {
			w.stop(ctx)
			return handsOver(ctx, run)
		}
		u := w.say("go")
		w.run()
		w.heard()
		if got := w.turn(u); got.Status != turn.Cancelled || slices.Contains(w.notes, "turn handed over") || len(w.woken) != 0 {
			w.Errorf("the turn is %s, noted %v, woken %v", got.Status, w.notes, w.woken)
		}
	})
}

func TestAHandoverKeepsThePermit(t *testing.T) {
	bubble(t, func(w *world) {
		w.Desk.Permits = 1
		w.work = handsOver
		w.say("go")
		w.run()
		other := w.put("other", turn.Entry{})
		w.wakeUp("other")
		if got := w.turn(other); got.Status != turn.Queued {
			w.Errorf("another turn is %s meanwhile", got.Status)
		}
		w.run()
		w.work = reply("other done")
		w.wakeUp("other")
		w.heard("done", "other done")
	})
}
