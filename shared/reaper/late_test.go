package reaper_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/reaper"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// press stops the thread and dies before anything has ended. Its mark is due in 5 seconds.
func (w *world) press(answered channel.Route) turn.Stop {
	w.Helper()
	head, err := thread.Load(w.Context(), w.store, "t")
	w.must(err)
	head, raised := head.Raise(thread.Stop{Conversation: route.Key(), Order: turn.Order(time.Now(), 999, 0), Pressed: time.Now()})
	s := turn.Stop{Stop: raised, ID: "stop", Thread: "t", Route: answered, Raised: time.Now()}
	w.write(append(s.Press(), head.Put())...)
	return s
}

// ask has a turn of a session end as waiting, and returns it.
func (w *world) ask(session id.Session, kind wait.Kind) id.Turn {
	w.Helper()
	w.sayIn(session)
	run := w.start(session)
	w.must(run.End(w.Context(), turn.Ending{Status: turn.Waiting, At: time.Now(), Ask: &wait.Ask{Kind: kind, Text: "Well?"}}))
	return run.Turn().ID
}

func (w *world) status(u id.Turn) turn.Status {
	w.Helper()
	got, _, err := w.Desk.Find(w.Context(), u)
	w.must(err)
	return got.Status
}

// told is what was said to the owner.
func (w *world) told() (texts []string) {
	w.Helper()
	log, err := thread.After(w.Context(), w.store, "t", "", 100)
	w.must(err)
	for _, m := range log.Messages {
		texts = append(texts, m.Text)
	}
	return texts
}

// marksOf are the marks of a kind, however far ahead.
func (w *world) marksOf(kind due.Kind) (marks []due.Mark) {
	w.Helper()
	for shard := range due.Shards {
		all, err := due.Scan(w.Context(), w.store, shard, time.Now().Add(1000*time.Hour), 100)
		w.must(err)
		for _, m := range all {
			if m.Kind == kind {
				marks = append(marks, m)
			}
		}
	}
	return marks
}

// bodies are the wake-ups that were sent, each once, in no order.
func (w *world) bodies() []string {
	var all []string
	for _, s := range w.sent {
		all = append(all, s.Body)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wakes compares what was sent.
func (w *world) wakes(want ...string) {
	w.Helper()
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), w.bodies()); diff != "" {
		w.Errorf("sent: want (-), got (+):\n%s", diff)
	}
}

func TestAStopWhoseProcessDiedIsCarriedOut(t *testing.T) {
	page := channel.Route{Connection: channel.Web, Conversation: "t"}
	for name, c := range map[string]struct {
		answered channel.Route
		want     []string
	}{
		"pressed in a messenger": {route, []string{conversation, session, body(wake.Session("task", "t"))}},
		"pressed on the page":    {page, []string{session, body(wake.Session("task", "t"))}},
		"to be answered nowhere": {channel.Route{}, []string{session, body(wake.Session("task", "t"))}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				run, queued := w.claim().Turn().ID, w.say().Turn.ID
				asked := w.ask("task", wait.Question)
				var stopped []id.Turn
				w.Stopped = func(in id.Thread, turns ...id.Turn) { stopped = append(stopped, turns...) }
				w.press(c.answered)
				time.Sleep(5 * time.Second)
				if got := w.sweep(); got.Stopped != 0 || got.Waiting == 0 {
					t.Errorf("while whoever took it may be at it: %+v", got)
				}
				time.Sleep(time.Millisecond)
				if got := w.sweep(); got.Stopped != 1 || got.Failed != 0 {
					t.Errorf("got %+v", got)
				}
				if diff := cmp.Diff([]id.Turn{queued, run, asked}, stopped); diff != "" {
					t.Errorf("told of: want (-), got (+):\n%s", diff)
				}
				for _, u := range stopped {
					if got := w.status(u); got != turn.Cancelled {
						t.Errorf("%s is %s", u, got)
					}
				}
				if got := w.told(); len(got) > 1 || (len(got) == 1) != (c.answered != channel.Route{}) {
					t.Errorf("told %q", got)
				}
				w.wakes(c.want...)
				if marks := slices.Concat(w.marksOf(due.Stop), w.marksOf(due.Lease), w.marksOf(due.Wake), w.marksOf(due.Expire)); len(marks) != 0 {
					t.Errorf("left %+v", marks)
				}
			})
		})
	}
}

func TestTheMarkOfAStopThatHasBeenCarriedOutIsDropped(t *testing.T) {
	bubble(t, func(w *world) {
		s := w.press(channel.Route{})
		mark := w.marksOf(due.Stop)[0]
		_, err := w.Desk.Halt(w.Context(), "t", s.Record())
		w.must(err)
		w.write(mark.Put()) // as if the reaper had just read it
		time.Sleep(time.Minute)
		w.want(w.sweep(), reaper.Report{Dropped: 1})
		if marks := w.marksOf(due.Stop); len(marks) != 0 || len(w.sent) != 0 {
			t.Errorf("left %+v, sent %v", marks, w.sent)
		}
	})
}

func TestAStopThatCannotBeCarriedOutIsTriedAtTheNextSweep(t *testing.T) {
	bubble(t, func(w *world) {
		run := w.claim()
		w.press(route)
		time.Sleep(6 * time.Second)
		w.store.Fault = func(c tabletest.Call) tabletest.Fault {
			if c.Method == tabletest.MethodWrite {
				return tabletest.Fault{Kind: tabletest.Refused}
			}
			return tabletest.Fault{}
		}
		if got := w.sweep(); got.Failed != 1 || got.Stopped != 0 {
			t.Errorf("got %+v", got)
		}
		w.store.Fault = nil
		if got := w.sweep(); got.Stopped != 1 || w.status(run.Turn().ID) != turn.Cancelled {
			t.Errorf("then %+v, the turn is %s", got, w.status(run.Turn().ID))
		}
	})
}

func TestReapersAndThePresserCarryAStopOutOnce(t *testing.T) {
	bubble(t, func(w *world) {
		w.claim()
		w.say()
		s := w.press(route)
		time.Sleep(6 * time.Second)
		w.store.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Slow(time.Millisecond) }
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() { _, _ = w.Sweep(w.Context(), time.Now()) })
		}
		group.Go(func() {
			if _, err := w.Desk.Halt(w.Context(), "t", s.Record()); err != nil {
				t.Errorf("the presser: %v", err)
			}
		})
		group.Wait()
		w.store.Fault = nil
		w.sweep()
		want := "Stopped. No action had been begun. Not started: 1 message that waited."
		if diff := cmp.Diff([]string{want}, w.told()); diff != "" || len(w.marksOf(due.Stop)) != 0 {
			t.Errorf("told: want (-), got (+):\n%s", diff)
		}
	})
}

func TestWhatIsNotAnsweredWithinItsTermIsClosed(t *testing.T) {
	for _, kind := range []wait.Kind{wait.Question, wait.Confirmation, wait.Form, wait.Payment} {
		t.Run(string(kind), func(t *testing.T) {
			bubble(t, func(w *world) {
				asked := w.ask("t", kind)
				time.Sleep(kind.Term())
				w.want(w.sweep(), reaper.Report{})
				if got := w.status(asked); got != turn.Waiting {
					t.Fatalf("before its term has passed the turn is %s", got)
				}
				time.Sleep(time.Millisecond)
				w.want(w.sweep(), reaper.Report{Dropped: 1})
				open, err := wait.Open(w.Context(), w.store, "t", "")
				if err != nil || len(open) != 0 || w.status(asked) != turn.Cancelled || len(w.marksOf(due.Expire)) != 0 {
					t.Errorf("open %+v, %v; the turn is %s, left %+v", open, err, w.status(asked), w.marksOf(due.Expire))
				}
			})
		})
	}
}

func TestWhatWasAnsweredIsNotClosedAgain(t *testing.T) {
	bubble(t, func(w *world) {
		asked := w.ask("t", wait.Confirmation)
		open, err := wait.Find(w.Context(), w.store, "t", "t", asked)
		w.must(err)
		mark := w.marksOf(due.Expire)[0]
		w.write(open.Close()...)
		w.write(mark.Put()) // as if the reaper had just read it
		time.Sleep(wait.Confirmation.Term() + time.Second)
		w.want(w.sweep(), reaper.Report{Dropped: 1})
		if got := w.status(asked); got != turn.Waiting || len(w.marksOf(due.Expire)) != 0 {
			t.Errorf("the turn is %s, left %+v", got, w.marksOf(due.Expire))
		}
	})
}

func TestAnAnswerAndAnExpiryCannotBothSucceed(t *testing.T) {
	bubble(t, func(w *world) {
		asked := w.ask("t", wait.Confirmation)
		open, err := wait.Find(w.Context(), w.store, "t", "t", asked)
		w.must(err)
		time.Sleep(wait.Confirmation.Term() + time.Second)
		w.beforeWrite(func() { w.write(open.Close()...) })
		w.want(w.sweep(), reaper.Report{})
		if got := w.status(asked); got != turn.Waiting {
			t.Errorf("what was answered is %s", got)
		}
	})
}

// beforeWrite has something happen once, just before the next write.
func (w *world) beforeWrite(do func()) {
	var begun atomic.Bool
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		if c.Method == tabletest.MethodWrite && begun.CompareAndSwap(false, true) {
			do()
		}
		return tabletest.Fault{}
	}
}

// own is the session that a conversation has to itself.
var own = turn.ConversationSession("t", route)

// rested runs a turn in a conversation's own session up to its end.
func (w *world) rested() {
	w.Helper()
	w.sayIn(own)
	w.must(w.start(own).End(w.Context(), turn.Ending{Status: turn.Succeeded, At: time.Now()}))
}

func (w *world) epoch(session id.Session) int64 {
	w.Helper()
	item, err := w.store.Get(w.Context(), turn.FenceKey(session))
	w.must(err)
	var f turn.Fence
	_, err = table.Decode(item, &f)
	w.must(err)
	return f.Epoch
}

func TestASessionThatHasBeenIdleForAWeekIsDropped(t *testing.T) {
	bubble(t, func(w *world) {
		w.rested()
		time.Sleep(turn.RestTerm)
		w.want(w.sweep(), reaper.Report{})
		time.Sleep(time.Millisecond)
		w.want(w.sweep(), reaper.Report{Dropped: 1})
		if got := w.epoch(own); got != 2 || len(w.marksOf(due.Rest)) != 0 {
			t.Errorf("the epoch is %d, left %+v", got, w.marksOf(due.Rest))
		}
	})
}

func TestASessionThatWorkedMeanwhileIsLookedAtAgainWhenItHasBeenIdleForAWeek(t *testing.T) {
	bubble(t, func(w *world) {
		w.rested()
		time.Sleep(3 * 24 * time.Hour)
		w.rested()
		ended := time.Now()
		time.Sleep(4*24*time.Hour + time.Second)
		w.want(w.sweep(), reaper.Report{})
		marks := w.marksOf(due.Rest)
		if len(marks) != 1 || !marks[0].At.Equal(ended.Add(turn.RestTerm)) || w.epoch(own) != 2 {
			t.Fatalf("the marks are %+v, the epoch %d", marks, w.epoch(own))
		}
		time.Sleep(3 * 24 * time.Hour)
		w.want(w.sweep(), reaper.Report{Dropped: 1})
		if got := w.epoch(own); got != 3 {
			t.Errorf("then the epoch is %d", got)
		}
	})
}

func TestASessionThatRunsIsNotDropped(t *testing.T) {
	for name, start := range map[string]func(*world){
		"when it is looked at": func(w *world) { w.start(own) },
		"just then":            func(w *world) { w.beforeWrite(func() { w.start(own) }) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.rested()
				time.Sleep(turn.RestTerm + time.Second)
				next := w.sayIn(own).Turn.ID
				start(w)
				if got := w.sweep(); got.Failed != 0 || got.Dropped != 0 {
					t.Errorf("got %+v", got)
				}
				if got := w.epoch(own); got != 2 || w.status(next) != turn.Running || len(w.marksOf(due.Rest)) == 0 {
					t.Errorf("the epoch is %d, the turn %s, the marks %+v", got, w.status(next), w.marksOf(due.Rest))
				}
			})
		})
	}
}

func TestASweepFarAheadDropsNoSessionBeforeItsTerm(t *testing.T) {
	bubble(t, func(w *world) {
		w.rested()
		_, err := w.Sweep(w.Context(), time.Now().Add(10*turn.RestTerm))
		w.must(err)
		if got := w.epoch(own); got != 1 || len(w.marksOf(due.Rest)) != 1 {
			t.Errorf("the epoch is %d, the marks %+v", got, w.marksOf(due.Rest))
		}
	})
}
