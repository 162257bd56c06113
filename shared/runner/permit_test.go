package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// room is who holds permits and who waits for one.
func (w *world) room() capacity.State {
	w.Helper()
	room, err := capacity.Load(w.Context(), w.store, w.Desk.Permits)
	w.must(err)
	return room
}

// status is that of each turn.
func (w *world) status(turns ...id.Turn) (all []turn.Status) {
	w.Helper()
	for _, u := range turns {
		all = append(all, w.turn(u).Status)
	}
	return all
}

func (w *world) same(what string, want, got any) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s: want (-), got (+):\n%s", what, diff)
	}
}

// wakeUp handles a first wake-up of a session, which must be done with.
func (w *world) wakeUp(in id.Session) {
	w.Helper()
	if verdict, _, err := w.handle(wake.Session(in, "t"), 1); err != nil || verdict != runner.Done {
		w.Errorf("session %s: got %d, %v; want the wake-up done", in, verdict, err)
	}
}

// going handles one beside the test.
func (w *world) going(in id.Session) {
	w.Helper()
	w.under.Go(func() { w.wakeUp(in) })
}

// until has turns run until release is closed, or for an hour.
func until(release <-chan struct{}) func(context.Context, *turn.Run) (turn.Ending, error) {
	return func(ctx context.Context, run *turn.Run) (turn.Ending, error) {
		select {
		case <-release:
			return reply(string(run.Turn().Session)+" done")(ctx, run)
		case <-time.After(time.Hour):
			return reply("nobody released me")(ctx, run)
		case <-ctx.Done():
			return turn.Ending{}, context.Cause(ctx)
		}
	}
}

func TestWhoFindsNoPermitWaitsAndIsWokenByWhoFreesOne(t *testing.T) {
	bubble(t, func(w *world) {
		w.Desk.Permits = 1
		release := make(chan struct{})
		w.work = until(release)
		turns := []id.Turn{w.put("s1", turn.Entry{}), w.put("s2", turn.Entry{}), w.put("s3", turn.Entry{})}
		for _, in := range []id.Session{"s1", "s2", "s3"} {
			w.going(in)
			synctest.Wait()
			time.Sleep(time.Millisecond) // places in the line differ by time
		}
		w.same("before", []turn.Status{turn.Running, turn.Queued, turn.Queued}, w.status(turns...))
		if room := w.room(); len(room.Slots) != 1 || len(room.Waiters) != 2 || room.Waiters[0].Session != "s2" {
			w.Errorf("the room is %+v", room)
		}
		w.wakeUp("s3") // once more: it keeps its place
		close(release)
		w.under.Wait()
		w.same("woken", []queue.Message{wake.Session("s2", "t").Message("u2#free#u1")}, w.woken)
		w.wakeUp("s3")
		w.same("it is not the turn of the third", []turn.Status{turn.Succeeded, turn.Queued, turn.Queued}, w.status(turns...))
		w.wakeUp("s2")
		w.wakeUp("s3")
		w.same("after", []turn.Status{turn.Succeeded, turn.Succeeded, turn.Succeeded}, w.status(turns...))
		w.heard("s1 done", "s2 done", "s3 done")
		if room := w.room(); len(room.Slots)+len(room.Waiters) != 0 {
			w.Errorf("the room is %+v, want it empty", room)
		}
	})
}

func TestTheLastPermitIsKeptForWhatAnOwnerStarted(t *testing.T) {
	bubble(t, func(w *world) {
		w.Desk.Permits = 2
		release := make(chan struct{})
		w.work = until(release)
		background := turn.Entry{Turn: turn.Turn{Source: turn.Event}}
		turns := []id.Turn{w.put("s1", background), w.put("s2", background), w.put("s3", turn.Entry{}), w.put("s4", turn.Entry{})}
		for _, in := range []id.Session{"s1", "s2", "s3", "s4"} {
			w.going(in)
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		w.same("status", []turn.Status{turn.Running, turn.Queued, turn.Running, turn.Queued}, w.status(turns...))
		close(release)
		w.under.Wait()
		w.wakeUp("s2")
		w.wakeUp("s4")
		w.same("in the end", []turn.Status{turn.Succeeded, turn.Succeeded, turn.Succeeded, turn.Succeeded}, w.status(turns...))
	})
}

func TestWhoFindsNoPlaceInTheLineIsToldAndNothingOfTheBackgroundIsLost(t *testing.T) {
	bubble(t, func(w *world) {
		w.Desk.Permits = 1
		release := make(chan struct{})
		w.work = until(release)
		w.put("s", turn.Entry{})
		w.going("s")
		synctest.Wait()
		for n := range capacity.MaxWaiting {
			in := id.Session(fmt.Sprint("w", n))
			w.put(in, turn.Entry{})
			w.wakeUp(in)
		}
		late, event := w.put("late", turn.Entry{}), w.put("event", turn.Entry{Turn: turn.Turn{Source: turn.Event}})
		w.wakeUp("late")
		w.wakeUp("event")
		w.same("status", []turn.Status{turn.Failed, turn.Queued}, w.status(late, event))
		w.heard("I'm at capacity right now — please try again in a minute.")
		if room := w.room(); len(room.Slots) != 1 || len(room.Waiters) != capacity.MaxWaiting {
			w.Errorf("%d permits in use, %d waiting", len(room.Slots), len(room.Waiters))
		}
		if got := w.turn(late); got.Slot != nil || got.Steps != 0 {
			w.Errorf("the turn is %+v", got)
		}
		close(release)
		w.under.Wait()
	})
}

// The permit is freed after the look that found none and before anyone could see that it is waited for.
func TestAPermitThatIsFreedWhileATurnJoinsTheLineIsNotMissed(t *testing.T) {
	bubble(t, func(w *world) {
		w.Desk.Permits = 1
		w.put("other", turn.Entry{})
		view, err := w.Desk.Look(w.Context(), "other", "t")
		w.must(err)
		run, err := w.Desk.Claim(w.Context(), view, time.Now())
		w.must(err)
		w.must(run.Open(w.Context(), w.blobs))
		u := w.say("hello")
		freed := false
		w.store.Fault = func(c tabletest.Call) tabletest.Fault {
			if c.Method == tabletest.MethodWrite && !freed && joins(c) {
				freed = true
				w.must(run.End(w.Context(), turn.Ending{Status: turn.Succeeded, At: time.Now(), From: thread.Agent}))
			}
			return tabletest.Fault{}
		}
		w.run()
		if got := w.turn(u); !freed || got.Status != turn.Succeeded {
			w.Errorf("freed is %v, the turn is %s; nobody would have woken it", freed, got.Status)
		}
	})
}

// joins reports whether a write puts somebody into the line for a permit.
func joins(c tabletest.Call) bool {
	last := c.Write.Ops[len(c.Write.Ops)-1].Key
	return last.Partition == "cap" && strings.HasPrefix(last.Sort, "wait#")
}

func TestThePermitOfADeadWorkerGoesToWhoWaitsForIt(t *testing.T) {
	bubble(t, func(w *world) {
		w.Desk.Permits = 1
		w.put("dead", turn.Entry{})
		view, err := w.Desk.Look(w.Context(), "dead", "t")
		w.must(err)
		_, err = w.Desk.Claim(w.Context(), view, time.Now())
		w.must(err)
		u := w.say("hello")
		w.run()
		time.Sleep(turn.LeaseTerm)
		w.wakeUp("dead")
		if !slices.Contains(w.woken, session.Message(string(u)+"#free#u1")) {
			w.Errorf("woken %v, want who waits for the permit", w.woken)
		}
		w.run()
		w.heard(turn.InterruptedNotice, "ok")
	})
}

// A turn that was stopped, or withdrawn, leaves a permit or a place in the line: the wake-up of its session sees to it.
func TestAWakeUpThatFindsNothingToDoWakesWhoCouldRun(t *testing.T) {
	bubble(t, func(w *world) {
		w.Desk.Permits = 1
		release := make(chan struct{})
		w.work = until(release)
		w.put("s1", turn.Entry{})
		w.going("s1")
		synctest.Wait()
		u := w.say("hello")
		w.run()
		_, err := w.Desk.Halt(w.Context(), "t", w.pressOne("s1").Record())
		w.must(err)
		w.under.Wait()
		w.woken = nil
		w.wakeUp("s1")
		if !slices.ContainsFunc(w.woken, func(m queue.Message) bool { return m.Body == session.Message("").Body }) {
			w.Errorf("woken %v, want the session of %s", w.woken, u)
		}
		w.refuse = true
		if _, _, err := w.handle(wake.Session("s1", "t"), 1); !errors.Is(err, queue.ErrRefused) {
			w.Errorf("got %v, want the wake-up to come again", err)
		}
		close(release)
		w.under.Wait()
	})
}

// pressOne begins a stop of one session.
func (w *world) pressOne(in id.Session) turn.Stop {
	w.Helper()
	s := turn.Stop{ID: "one", Thread: "t", Raised: time.Now(), Stop: thread.Stop{Session: in, Pressed: time.Now()}}
	w.write(s.Press()...)
	return s
}

func TestWithoutACapNobodyWaits(t *testing.T) {
	bubble(t, func(w *world) {
		release := make(chan struct{})
		w.work = until(release)
		var turns []id.Turn
		for n := range 40 {
			in := id.Session(fmt.Sprint("s", n))
			turns = append(turns, w.put(in, turn.Entry{}))
			w.going(in)
			time.Sleep(time.Millisecond)
		}
		for _, status := range w.status(turns...) {
			if status != turn.Running {
				w.Fatalf("a turn is %s", status)
			}
		}
		close(release)
		w.under.Wait()
	})
}
