package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/live"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

func TestNothingToDoIsDone(t *testing.T) {
	bubble(t, func(w *world) {
		h := w.run()
		if diff := cmp.Diff([]string{"0s: extend 30s"}, h.acts); diff != "" || len(w.woken)+len(w.notes) != 0 {
			w.Errorf("woken %v, notes %v; want (-), got (+):\n%s", w.woken, w.notes, diff)
		}
	})
}

func TestATurnIsRunAnsweredAndToldOf(t *testing.T) {
	bubble(t, func(w *world) {
		u := w.say("hello")
		w.run()
		w.heard("ok")
		if got := w.turn(u); got.Status != turn.Succeeded || len(w.woken) != 0 {
			w.Errorf("the turn is %+v, woken %v", got, w.woken)
		}
		want := []live.Event{
			{Kind: live.Turned, Turn: u, Status: live.Running}, {Kind: live.Stored, Turn: u}, {Kind: live.Turned, Turn: u, Status: live.Ended},
		}
		if diff := cmp.Diff(want, w.events); diff != "" {
			w.Errorf("shown: want (-), got (+):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"turn started", "turn ended"}, w.notes); diff != "" {
			w.Errorf("noted: want (-), got (+):\n%s", diff)
		}
	})
}

func TestTheEndOfATurnWakesItsSessionForTheNext(t *testing.T) {
	bubble(t, func(w *world) {
		first := w.say("one")
		w.say("two")
		w.run()
		want := []queue.Message{session.Message("t#" + string(first))}
		if diff := cmp.Diff(want, w.woken); diff != "" {
			w.Errorf("want (-), got (+):\n%s", diff)
		}
		w.run()
		w.heard("ok", "ok")
	})
}

// The turn has ended; what is queued behind it must not wait for its mark.
func TestAWakeUpComesAgainWhenTheNextTurnCouldNotBeAskedFor(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("one")
		w.say("two")
		w.refuse = true
		if verdict, _, err := w.handle(session, 1); !errors.Is(err, queue.ErrRefused) {
			w.Errorf("got %d, %v; want the error", verdict, err)
		}
		w.heard("ok")
	})
}

func TestALiveTurnIsLeftAloneAndItsWakeUpsGivenBackThreeTimes(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("hello")
		view, err := w.Desk.Look(w.Context(), "t", "t")
		w.must(err)
		_, err = w.Desk.Claim(w.Context(), view, time.Now())
		w.must(err)
		time.Sleep(5 * time.Second)
		for receives, want := range map[int]runner.Verdict{
			1: runner.Done, 2: runner.GivenBack, 3: runner.GivenBack, 4: runner.GivenBack, 5: runner.Done, 9: runner.Done,
		} {
			verdict, h, err := w.handle(session, receives)
			if err != nil || verdict != want {
				w.Errorf("delivered %d times: got %d, %v; want %d", receives, verdict, err, want)
			}
			back := slices.Contains(h.acts, "0s: give back 16s") // what is left of the lease, and a second
			if back != (want == runner.GivenBack) {
				w.Errorf("delivered %d times: did %v", receives, h.acts)
			}
		}
		w.heard()
	})
}

func TestTheTurnOfADeadWorkerIsEndedAndTheNextOneRun(t *testing.T) {
	bubble(t, func(w *world) {
		first := w.say("one")
		view, err := w.Desk.Look(w.Context(), "t", "t")
		w.must(err)
		_, err = w.Desk.Claim(w.Context(), view, time.Now())
		w.must(err)
		w.say("two")
		time.Sleep(turn.LeaseTerm)
		w.run()
		w.heard(turn.InterruptedNotice, "ok")
		if got := w.turn(first); got.Status != turn.Failed {
			w.Errorf("the dead worker's turn is %+v", got)
		}
		if w.notes[0] != "turn interrupted" {
			w.Errorf("noted %v", w.notes)
		}
	})
}

func TestWhatWasQueuedBeforeAStopIsCancelledInPassing(t *testing.T) {
	bubble(t, func(w *world) {
		var before []id.Turn
		for i := range 5 {
			before = append(before, w.say(fmt.Sprint(i)))
		}
		w.press(w.Context())
		w.run()
		for _, u := range before {
			if got := w.turn(u); got.Status != turn.Cancelled {
				w.Errorf("turn %s is %s", u, got.Status)
			}
		}
		w.heard()
	})
}

func TestVeryManyCancelledTurnsTakeMoreThanOneWakeUp(t *testing.T) {
	bubble(t, func(w *world) {
		for i := range turn.MaxQueued {
			w.say(fmt.Sprint(i))
		}
		w.press(w.Context())
		if _, _, err := w.handle(session, 1); err == nil {
			w.Error("got no error: the wake-up would not come again")
		}
		w.run()
	})
}

func TestAPanicOfTheAgentEndsItsTurnAlone(t *testing.T) {
	bubble(t, func(w *world) {
		u := w.say("hello")
		w.work = func(context.Context, *turn.Run) (turn.Ending, error) { panic("oops") }
		w.run()
		w.heard(turn.GenericNotice)
		got := w.turn(u)
		if got.Status != turn.Failed || got.Error != "the turn panicked: oops" {
			w.Errorf("the turn is %s with error %q; the model reads it, so it must hold no stack", got.Status, got.Error)
		}
		if !slices.Contains(w.notes, "turn panicked") {
			w.Errorf("noted %v", w.notes)
		}
	})
}

func TestTheOperatorIsToldWhyATurnFailed(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("hello")
		cause := errors.New("read tcp 10.1.2.3:33030: reset")
		w.work = func(context.Context, *turn.Run) (turn.Ending, error) {
			ending := turn.Unexpected(errors.New("reset"), time.Now())
			ending.Cause = cause
			return ending, nil
		}
		noted := map[string]error{}
		w.Note = func(_ context.Context, event string, _ turn.Turn, err error) { noted[event] = err }
		w.run()
		if !errors.Is(noted["turn ended"], cause) {
			w.Errorf("noted %v, want the cause at the turn's end", noted)
		}
	})
}

func TestAStoreThatFailsTheAgentEndsItsTurn(t *testing.T) {
	bubble(t, func(w *world) {
		u := w.say("hello")
		w.work = func(context.Context, *turn.Run) (turn.Ending, error) { return turn.Ending{}, errors.New("no disk") }
		w.run()
		w.heard(turn.GenericNotice)
		if got := w.turn(u); got.Status != turn.Failed || got.Error != "no disk" {
			w.Errorf("the turn is %+v", got)
		}
	})
}

func TestAWorkerThatIsShutDownTellsTheInterruption(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("one")
		w.say("two")
		ctx, cancel := context.WithCancel(w.Context())
		w.work = func(ctx context.Context, _ *turn.Run) (turn.Ending, error) {
			cancel()
			<-ctx.Done()
			return turn.Ending{}, context.Cause(ctx)
		}
		_, _, err := w.handleWithin(ctx, session, 1)
		w.must(err)
		w.heard(turn.InterruptedNotice)
		if len(w.woken) != 1 {
			w.Errorf("woken %v, want the next turn asked for", w.woken)
		}
	})
}

func TestAWorkerThatRunsOutOfTimeTellsTheInterruption(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("hello")
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		w.work = func(ctx context.Context, _ *turn.Run) (turn.Ending, error) {
			<-ctx.Done()
			return turn.Ending{}, context.Cause(ctx)
		}
		_, _, err := w.handleWithin(ctx, session, 1)
		w.must(err)
		w.heard(turn.InterruptedNotice)
	})
}

func busyFor(d time.Duration) func(context.Context, *turn.Run) (turn.Ending, error) {
	return func(ctx context.Context, run *turn.Run) (turn.Ending, error) {
		select {
		case <-time.After(d):
			return reply("ok")(ctx, run)
		case <-ctx.Done():
			return turn.Ending{}, context.Cause(ctx)
		}
	}
}

func TestSignsOfLifeAreGivenEveryEightSecondsLeaseFirst(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("hello")
		w.work = busyFor(24500 * time.Millisecond)
		var renewed []string
		begun := time.Now()
		w.store.Fault = func(c tabletest.Call) tabletest.Fault {
			if c.Method == tabletest.MethodWrite && len(c.Write.Ops) == 1 && c.Write.Ops[0].Key == turn.LeaseKey("t") {
				renewed = append(renewed, fmt.Sprint(time.Since(begun)))
				return tabletest.Slow(time.Second)
			}
			return tabletest.Fault{}
		}
		h := w.run()
		if diff := cmp.Diff([]string{"8s", "16s", "24s"}, renewed); diff != "" {
			w.Errorf("the lease was renewed: want (-), got (+):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"0s: extend 30s", "9s: extend 30s", "17s: extend 30s"}, h.acts); diff != "" {
			w.Errorf("the wake-up: want (-), got (+):\n%s", diff)
		}
		w.heard("ok")
	})
}

func TestALostLeaseStopsTheWork(t *testing.T) {
	bubble(t, func(w *world) {
		u := w.say("hello")
		begun := time.Now()
		other := &turn.Desk{Table: w.store, IDs: w.Desk.IDs, Holder: "other", Gone: func(string) bool { return true }}
		w.work = func(ctx context.Context, run *turn.Run) (turn.Ending, error) {
			view, err := other.Look(ctx, "t", "t")
			w.must(err)
			_, err = other.Bury(ctx, "t", view, time.Now())
			w.must(err)
			return busyFor(time.Hour)(ctx, run)
		}
		w.run()
		if took := time.Since(begun); took > time.Second {
			w.Errorf("it stopped after %v, want when it looked next", took)
		}
		if got := w.turn(u); got.Status != turn.Failed || !slices.Contains(w.notes, "turn given up") {
			w.Errorf("the turn is %s, noted %v", got.Status, w.notes)
		}
	})
}

func TestAWorkerThatCanGiveNoSignStopsByItself(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("hello")
		begun := time.Now()
		w.store.Fault = func(c tabletest.Call) tabletest.Fault {
			if time.Since(begun) > time.Second && time.Since(begun) < 30*time.Second {
				return tabletest.Fault{Kind: tabletest.Refused}
			}
			return tabletest.Fault{}
		}
		var stopped time.Duration
		w.work = func(ctx context.Context, run *turn.Run) (turn.Ending, error) {
			ending, err := busyFor(time.Hour)(ctx, run)
			stopped = time.Since(begun)
			return ending, err
		}
		if _, _, err := w.handle(session, 1); err != nil {
			w.Errorf("got %v: the turn is left to whoever finds it dead", err)
		}
		if stopped < turn.LeaseTerm || stopped > turn.LeaseTerm+turn.Beat {
			w.Errorf("it stopped after %v", stopped)
		}
	})
}

// The end is applied, and before its writer hears of it a sign of life finds the lease gone.
func TestAnEndThatItsOwnSignOfLifeOvertakesHasEnded(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("one")
		w.say("two")
		w.work = busyFor(turn.Beat - time.Millisecond)
		w.loseEnds(1)
		w.run()
		w.heard("ok")
		if len(w.woken) != 1 {
			w.Errorf("woken %v, want the next turn asked for", w.woken)
		}
	})
}

// loseEnds lets nobody hear of so many writes that move the fence of a turn that has begun.
func (w *world) loseEnds(n int) {
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		if c.Method == tabletest.MethodWrite && n > 0 && c.Write.Ops[0].Key == turn.FenceKey("t") && w.begun() {
			n--
			return tabletest.Fault{Kind: tabletest.Unheard}
		}
		return tabletest.Fault{}
	}
}

func TestTheWakeUpOfWorkThatCannotBeHeldIsNotActedOn(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("hello")
		h := &held{begun: time.Now(), err: fmt.Errorf("%w: too late", queue.ErrLapsed)}
		_, err := w.Handle(w.Context(), queue.Delivery{Message: session.Message("x"), Receives: 1, Lease: h})
		if !errors.Is(err, queue.ErrLapsed) {
			w.Errorf("got %v, want ErrLapsed", err)
		}
		w.heard()
	})
}

func TestAQueueThatDoesNotAnswerDoesNotKeepATurnFromRunning(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("hello")
		h := &held{begun: time.Now(), err: queue.ErrRefused}
		_, err := w.Handle(w.Context(), queue.Delivery{Message: session.Message("x"), Receives: 1, Lease: h})
		w.must(err)
		w.heard("ok")
	})
}

func TestWhatIsNoWakeUpIsRemoved(t *testing.T) {
	bubble(t, func(w *world) {
		h := &held{begun: time.Now()}
		verdict, err := w.Handle(w.Context(), queue.Delivery{Message: queue.Message{Body: "x"}, Receives: 1, Lease: h})
		if err != nil || verdict != runner.Done || !slices.Contains(w.notes, "bad wake-up") {
			w.Errorf("got %d, %v, noted %v", verdict, err, w.notes)
		}
	})
}

func TestAStoreThatDoesNotAnswerLeavesTheWakeUpToComeAgain(t *testing.T) {
	bubble(t, func(w *world) {
		w.store.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Fault{Kind: tabletest.Refused} }
		for _, up := range []wake.Up{session, wake.Conversation("telegram-1:7")} {
			if _, _, err := w.handle(up, 1); !errors.Is(err, table.ErrRefused) {
				w.Errorf("%+v: got %v, want ErrRefused", up, err)
			}
		}
	})
}

func TestAReplyThatHasToWaitIsAskedForByItsOwnWakeUpAndGivenBack(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("hello")
		w.answer = fault.RetryAfter(40*time.Second, errors.New("too many requests"))
		w.run()
		if len(w.woken) != 1 || !strings.Contains(w.woken[0].Body, "telegram-1:7") {
			w.Fatalf("woken %v, want the conversation", w.woken)
		}
		verdict, h, err := w.handle(wake.Conversation("telegram-1:7"), 1)
		if err != nil || verdict != runner.GivenBack || h.acts[len(h.acts)-1] != "0s: give back 40s" {
			w.Errorf("got %d, %v, did %v", verdict, err, h.acts)
		}
		time.Sleep(40 * time.Second)
		w.answer = nil
		if verdict, _, err = w.handle(wake.Conversation("telegram-1:7"), 2); err != nil || verdict != runner.Done {
			w.Errorf("got %d, %v; want it done", verdict, err)
		}
		w.heard("ok")
	})
}

func TestWhatBecameOfMessagesIsNoted(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("hello")
		w.answer = fault.As(fault.GiveUp, errors.New("blocked"))
		w.run()
		w.say("hello")
		w.answer = fault.As(fault.Unknown, errors.New("no answer"))
		w.run()
		time.Sleep(time.Minute)
		if _, _, err := w.handle(wake.Conversation("telegram-1:7"), 1); err != nil {
			w.Fatal(err)
		}
		for _, want := range []string{"message refused", "message lost"} {
			if !slices.Contains(w.notes, want) {
				w.Errorf("noted %v, want %q", w.notes, want)
			}
		}
	})
}

func TestAnEndOfWhichNobodyEverHeardIsFoundOut(t *testing.T) {
	bubble(t, func(w *world) {
		u := w.say("one")
		w.say("two")
		w.loseEnds(5) // as many as an attempt to end has
		w.run()
		w.heard("ok")
		if got := w.turn(u); got.Status != turn.Succeeded || len(w.woken) != 1 {
			w.Errorf("the turn is %s, woken %v", got.Status, w.woken)
		}
	})
}

// begun reports whether a turn has been started.
func (w *world) begun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.notes, "turn started")
}

func TestTheTranscriptOfATurnIsSavedWithItsEnd(t *testing.T) {
	bubble(t, func(w *world) {
		w.say("one")
		w.work = func(ctx context.Context, run *turn.Run) (turn.Ending, error) {
			run.Log().Append(transcript.Entry{Kind: transcript.Owner, Blocks: []model.Block{{Text: "one"}}})
			return reply("ok")(ctx, run)
		}
		w.run()
		w.say("two")
		w.work = func(ctx context.Context, run *turn.Run) (turn.Ending, error) {
			if got := run.Log().Entries(); len(got) != 1 {
				w.Errorf("the next turn reads %+v", got)
			}
			return reply("ok")(ctx, run)
		}
		w.run()
	})
}
