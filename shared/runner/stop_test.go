package runner_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// stuck has turns call a tool that ignores its context, until release is closed.
func (w *world) stuck(release <-chan struct{}) func(context.Context, *turn.Run) (turn.Ending, error) {
	guard := tool.Guard{Tools: []tool.Tool{{Name: "stuck", Limit: time.Hour, Run: func(context.Context, tool.Call) (tool.Result, error) {
		<-release
		return tool.Result{Text: "too late"}, nil
	}}}}
	return func(ctx context.Context, run *turn.Run) (turn.Ending, error) {
		if _, err := run.Begin(ctx, time.Now(), []string{"stuck"}, ""); err != nil {
			return turn.Ending{}, err
		}
		_, err := guard.Run(ctx, 0, []model.ToolCall{{ID: "1", Name: "stuck", Arguments: json.RawMessage(`{}`)}})
		if err != nil {
			return turn.Ending{}, err
		}
		return reply("used")(ctx, run)
	}
}

func TestAStopEndsATurnAtOnceThoughItsToolIsStuck(t *testing.T) {
	bubble(t, func(w *world) {
		release := make(chan struct{})
		w.work = w.stuck(release)
		u := w.say("go")
		left := make(chan time.Time, 1)
		go func() {
			w.run()
			left <- time.Now()
		}()
		time.Sleep(10*time.Second + 300*time.Millisecond)
		pressed := time.Now()
		w.stop(w.Context())
		if got := w.turn(u); got.Status != turn.Cancelled || got.Ended.Sub(pressed) > time.Second {
			w.Errorf("the turn is %s, %v after the stop", got.Status, got.Ended.Sub(pressed))
		}
		if took := (<-left).Sub(pressed); took > 2*time.Second {
			w.Errorf("its worker was free %v after the stop", took)
		}
		next := w.say("hello")
		w.work = reply("hi")
		w.run()
		close(release)
		synctest.Wait()
		w.heard("hi")
		w.same("turns", []turn.Status{turn.Cancelled, turn.Succeeded}, w.status(u, next))
		if !slices.Contains(w.notes, "turn given up") {
			w.Errorf("noted %v", w.notes)
		}
	})
}

func TestATurnThatIsStoppedBetweenTwoLooksIsRefusedItsNextWrite(t *testing.T) {
	bubble(t, func(w *world) {
		u := w.say("go")
		w.work = func(ctx context.Context, run *turn.Run) (turn.Ending, error) {
			w.stop(ctx)
			return reply("done")(ctx, run)
		}
		w.run()
		w.heard()
		if got := w.turn(u); got.Status != turn.Cancelled {
			w.Errorf("the turn is %s", got.Status)
		}
	})
}

// Between pressing and carrying out, which somebody else may have to go on with, nothing new begins.
func TestWhatWasQueuedBeforeAStopDoesNotBeginWhileItIsCarriedOut(t *testing.T) {
	bubble(t, func(w *world) {
		before := w.say("before")
		w.press(w.Context())
		after := w.say("after")
		w.run()
		w.heard("ok")
		w.same("turns", []turn.Status{turn.Cancelled, turn.Succeeded}, w.status(before, after))
	})
}

func TestATurnThatWaitsForMoreMessagesIsGivenBackUntilItIsReady(t *testing.T) {
	bubble(t, func(w *world) {
		w.put("t", turn.Entry{Ready: time.Now().Add(3 * time.Second)})
		time.Sleep(time.Second)
		if verdict, h, err := w.handle(session, 1); err != nil || verdict != runner.GivenBack || h.acts[len(h.acts)-1] != "0s: give back 2s" {
			w.Errorf("got %d, %v, did %v", verdict, err, h.acts)
		}
		w.heard()
		time.Sleep(2 * time.Second)
		w.run()
		w.heard("ok")
	})
}
