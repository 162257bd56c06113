package turn_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

var route = channel.Route{Connection: bot, Conversation: "7"}

// press has the owner stop the thread after all that was said so far.
func (w *world) press() turn.Stop {
	w.Helper()
	w.said++
	return w.pressAt(int64(w.said))
}

// pressAt is press of a stop that has this place in the conversation, whatever came before it.
func (w *world) pressAt(sequence int64) turn.Stop {
	w.Helper()
	head, err := thread.Load(w.Context(), w.store, w.in)
	w.must(err)
	head, raised := head.Raise(thread.Stop{Conversation: route.Key(), Order: turn.Order(noon, sequence, 0), Pressed: noon.Add(time.Minute)})
	s := turn.Stop{Stop: raised, ID: fmt.Sprint("stop ", sequence), Thread: w.in, Route: route, Raised: noon.Add(time.Minute)}
	w.write(append(s.Press(), head.Put())...)
	return s
}

// pressIn is a stop of one session.
func (w *world) pressIn(session id.Session) turn.Stop {
	w.Helper()
	w.said++
	s := turn.Stop{
		Stop: thread.Stop{
			Session: session, Conversation: route.Key(), Order: turn.Order(noon, int64(w.said), 0), Pressed: noon.Add(time.Minute),
		},
		ID: fmt.Sprint("stop ", w.said), Thread: w.in, Route: route, Raised: noon.Add(time.Minute),
	}
	w.write(s.Press()...)
	return s
}

func (w *world) write(ops ...table.Op) {
	w.Helper()
	w.must(w.store.Write(w.Context(), table.Write{ID: w.ids.New(noon), Ops: ops}))
}

func (w *world) halt(d *turn.Desk, s turn.Stop) *turn.Stop {
	w.Helper()
	done, err := d.Halt(w.Context(), s.Thread, s.Record())
	w.must(err)
	return done
}

// enqueue queues a turn that nobody said anything for, in any session.
func (w *world) enqueue(session id.Session, source turn.Source) turn.Entry {
	w.Helper()
	w.said++
	e := turn.Entry{
		Turn: turn.Turn{
			ID: id.Turn(fmt.Sprint("turn ", w.said)), Owner: "o", Thread: w.in, Session: session, Source: source, Status: turn.Queued,
			Route: route, Created: noon, Order: turn.Order(noon, int64(w.said), 0), Generation: w.generation(),
		},
		Text: fmt.Sprint("work ", w.said), WakeAt: noon.Add(10 * time.Second),
	}
	w.write(e.Enqueue()...)
	return e
}

func (w *world) generation() int64 {
	w.Helper()
	head, err := thread.Load(w.Context(), w.store, w.in)
	w.must(err)
	return head.Generation
}

// start claims the oldest queued turn of any session.
func (w *world) start(d *turn.Desk, session id.Session) *turn.Run {
	w.Helper()
	return w.startAt(d, session, noon)
}

func (w *world) startAt(d *turn.Desk, session id.Session, now time.Time) *turn.Run {
	w.Helper()
	v, err := d.Look(w.Context(), session, w.in)
	w.must(err)
	run, err := d.Claim(w.Context(), v, now)
	w.must(err)
	w.must(run.Open(w.Context(), w.blobs))
	return run
}

// ask has the session's next turn end as waiting.
func (w *world) ask(session id.Session, kind wait.Kind) id.Turn {
	w.Helper()
	w.enqueue(session, turn.User)
	run := w.start(w.a, session)
	w.must(run.End(w.Context(), waiting(kind)))
	return run.Turn().ID
}

func waiting(kind wait.Kind) turn.Ending {
	return turn.Ending{
		Status: turn.Waiting, At: noon.Add(time.Second), Text: "Well?", From: thread.Agent, Ask: &wait.Ask{Kind: kind, Text: "Well?"},
	}
}

// statuses are those of turns, in order.
func (w *world) statuses(turns ...id.Turn) (out []turn.Status) {
	w.Helper()
	for _, t := range turns {
		out = append(out, w.status(t).Status)
	}
	return out
}

// busy is a thread in which everything is under way: in the chat a turn waits, one runs that has done something and is
// doing something, two are queued; in a task one runs and one is queued; and one more message of the chat was sent after the
// stop.
type busy struct {
	*world
	stop     turn.Stop
	chat     *turn.Run
	hit      []id.Turn // what the stop is to end
	survivor id.Turn
}

const task = id.Session("task")

func newBusy(t *testing.T) *busy {
	t.Helper()
	b := &busy{world: newWorld(t)}
	asked := b.ask(b.session, wait.Confirmation)
	b.chat = b.claim(b.a, noon)
	for _, tools := range [][]string{{"search", "search"}, {"mail"}} {
		b.chat.Answered()
		_, err := b.chat.Begin(t.Context(), noon, tools, "")
		b.must(err)
	}
	b.enqueue(task, turn.Task)
	other := b.start(b.b, task)
	b.hit = []id.Turn{
		b.say("one"), b.say("two"), b.chat.Turn().ID, b.enqueue(task, turn.Task).Turn.ID, other.Turn().ID, asked,
	}
	b.stop = b.press()
	b.survivor = b.say("after it")
	return b
}

const busyAnswer = "Stopped. Done before that: search (2 times). Under way, and its outcome unknown: mail. " +
	"Check before you ask for it again. Not started: 3 messages that waited. Closed: 1 open question."

// complete checks that the stop has ended all it hits, once, has said so, once, and has left nothing.
func (b *busy) complete() {
	b.Helper()
	for i, got := range b.statuses(b.hit...) {
		if got != turn.Cancelled {
			b.Errorf("turn %d is %s", i, got)
		}
	}
	if got := b.status(b.survivor).Status; got != turn.Queued {
		b.Errorf("what was sent after the stop is %s", got)
	}
	if diff := cmp.Diff([]string{"Well?", busyAnswer}, b.told()); diff != "" {
		b.Errorf("told: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"q", "wake"}, slices.Sorted(slices.Values(b.left()))); diff != "" {
		b.Errorf("left: want (-), got (+):\n%s", diff)
	}
	if found, err := b.a.FindStop(b.Context(), b.in, b.stop.Record()); found != nil || err != nil {
		b.Errorf("the stop's record is %+v, %v", found, err)
	}
	for _, item := range b.store.Items() {
		if slices.Contains([]string{"stop", "expire", "wait"}, kind(item)) {
			b.Errorf("left: %s", item.Key)
		}
	}
	b.countsAreRight()
}

func TestAStopEndsAllThatWasSentBeforeItAndNothingElse(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	done := b.halt(b.a, b.stop)
	b.complete()
	if got := done.Tally; got.Queued != 3 || got.Running != 2 || got.Waiting != 1 {
		t.Errorf("counted %+v", got)
	}
	if diff := cmp.Diff(b.hit, done.Tally.Ended); diff != "" {
		t.Errorf("ended in this order: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff([]id.Session{b.session, task}, done.Tally.Sessions); diff != "" {
		t.Errorf("in these sessions: want (-), got (+):\n%s", diff)
	}
	if again := b.halt(b.b, b.stop); again != nil {
		t.Errorf("carried out again: %+v", again)
	}
	next := b.claimNext(b.b, noon)
	if got := next.Previous(); next.Turn().ID != b.survivor || len(got) != 1 || !got[0].Stopped || got[0].Turn != b.chat.Turn().ID {
		t.Errorf("the next turn is %s, told of %+v", next.Turn().ID, got)
	}
}

func TestAStoppedTurnCanWriteNothing(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	b.chat.Log().Append(answer("late"))
	b.halt(b.b, b.stop)
	before := b.store.Items()
	if mine, err := b.chat.Mine(t.Context()); mine || err != nil {
		t.Errorf("the turn is still this worker's: %v, %v", mine, err)
	}
	_, err := b.chat.Begin(t.Context(), noon, []string{"pay"}, "now")
	fenced(t, "begin", err)
	_, err = b.steer(b.chat)
	fenced(t, "steer", err)
	fenced(t, "checkpoint", b.chat.Checkpoint(t.Context(), noon))
	fenced(t, "handover", b.chat.Handover(t.Context(), noon))
	fenced(t, "renew", b.chat.Renew(t.Context(), noon))
	fenced(t, "end", b.chat.End(t.Context(), done("late")))
	fenced(t, "abandon", b.chat.Abandon(t.Context(), done("late")))
	if diff := cmp.Diff(before, b.store.Items()); diff != "" {
		t.Errorf("the stopped worker changed the store (-before +after):\n%s", diff)
	}
}

// A process that dies between two writes of the stop leaves it to whoever goes on. All the places where that can happen
// are tried: the first writes are heard of, then one is refused or applied unheard, and then there is silence.
func TestAStopThatWasBrokenOffAnywhereIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []tabletest.Kind{tabletest.Refused, tabletest.Unheard} {
		for n, whole := 1, false; !whole; n++ {
			t.Run(fmt.Sprintf("kind %d in write %d", kind, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBusy(t)
					b.dieAfter(n, kind)
					_, err := b.a.Halt(t.Context(), b.in, b.stop.Record())
					whole = err == nil
					b.store.Fault = nil
					b.halt(b.b, b.stop)
					b.complete()
				})
			})
			if n > 20 {
				t.Fatal("it never ends")
			}
		}
	}
}

// dieAfter lets n-1 writes through; of the next one kind becomes, and all that follow are refused.
func (w *world) dieAfter(n int, kind tabletest.Kind) {
	seen := map[string]bool{}
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.Method != tabletest.MethodWrite {
			return tabletest.Fault{}
		}
		again := seen[c.Write.ID]
		seen[c.Write.ID] = true
		switch {
		case len(seen) < n:
			return tabletest.Fault{}
		case len(seen) == n && !again:
			return tabletest.Fault{Kind: kind}
		}
		return tabletest.Fault{Kind: tabletest.Refused}
	}
}

func TestAStopThatSeveralCarryOutAtOnceIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]time.Duration{"in step": time.Millisecond, "at once": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBusy(t)
				if slow > 0 {
					b.store.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Slow(slow) }
				}
				var group sync.WaitGroup
				for _, d := range []*turn.Desk{b.a, b.b, b.a} {
					group.Go(func() {
						if _, err := d.Halt(t.Context(), b.in, b.stop.Record()); err != nil {
							t.Errorf("got %v", err)
						}
					})
				}
				group.Wait()
				b.store.Fault = nil
				b.complete()
			})
		})
	}
}

// Each of the two would tell the owner at a time of its own.
func TestAStopThatAnotherHasJustAnsweredIsNotAnsweredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := turn.Stop{ID: "stop", Thread: w.in, Route: route, Raised: time.Now()}
		w.write(s.Press()...)
		answers := func(write table.Write) bool {
			return slices.ContainsFunc(write.Ops, func(op table.Op) bool {
				return op.Kind == table.OpDelete && op.Key.Sort == s.Record()
			})
		}
		w.beforeWrite(answers, func() {
			time.Sleep(time.Second)
			w.halt(w.b, s)
		})
		if again := w.halt(w.a, s); again != nil {
			t.Errorf("the first carried out %+v", again)
		}
		if diff := cmp.Diff([]string{"There was nothing to stop."}, w.told()); diff != "" {
			t.Errorf("told: want (-), got (+):\n%s", diff)
		}
	})
}

func TestAStopOfASessionLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chat := w.claim(w.a, noon)
	queued := w.say("one")
	asked := w.ask(task, wait.Form)
	running := w.enqueue(task, turn.Task).Turn.ID
	w.start(w.b, task)
	s := w.pressIn(task)
	after := w.enqueue(task, turn.Task).Turn.ID
	done := w.halt(w.b, s)
	want := []turn.Status{turn.Running, turn.Queued, turn.Cancelled, turn.Cancelled, turn.Queued}
	if diff := cmp.Diff(want, w.statuses(chat.Turn().ID, queued, asked, running, after)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff([]id.Session{task}, done.Tally.Sessions); diff != "" {
		t.Errorf("the sessions: want (-), got (+):\n%s", diff)
	}
	if w.generation() != 0 {
		t.Errorf("the thread's generation is %d", w.generation())
	}
	w.must(chat.End(t.Context(), turn.Ending{Status: turn.Succeeded, At: noon.Add(time.Second)}))
}

func TestAMessageThatWasSentAfterAStopSurvivesItHoweverItArrives(t *testing.T) {
	t.Parallel()
	for name, arrive := range map[string]func(*world) (turn.Stop, id.Turn){
		"after the stop": func(w *world) (turn.Stop, id.Turn) {
			s := w.press()
			return s, w.say("later")
		},
		"before the stop": func(w *world) (turn.Stop, id.Turn) {
			w.said += 5
			later := w.say("later")
			return w.pressAt(4), later
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.claim(w.a, noon)
			s, later := arrive(w)
			done := w.halt(w.b, s)
			if got := w.claimNext(w.b, noon).Turn().ID; got != later || done.Tally.Running != 1 || done.Tally.Queued != 0 {
				t.Errorf("then runs %s, want %s; ended %+v", got, later, done.Tally)
			}
		})
	}
}

func TestARunningTurnThatTookALaterMessageIsNotStopped(t *testing.T) {
	t.Parallel()
	for name, stopped := range map[string]func(*world) turn.Stop{
		"the thread":  func(w *world) turn.Stop { return w.press() },
		"its session": func(w *world) turn.Stop { return w.pressIn(w.session) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := w.claim(w.a, noon)
			s := stopped(w)
			w.say("go on, but shorter")
			if taken, err := w.steer(run); err != nil || len(taken) != 1 {
				t.Fatalf("taken %q, %v", taken, err)
			}
			w.halt(w.b, s)
			w.must(run.End(t.Context(), turn.Ending{Status: turn.Succeeded, At: noon.Add(time.Hour), Text: "short", From: thread.Agent}))
			if diff := cmp.Diff([]string{"There was nothing to stop.", "short"}, w.told()); diff != "" {
				t.Errorf("told: want (-), got (+):\n%s", diff)
			}
		})
	}
}

// A turn stands where the newest of its messages does, whichever of them it took last.
func TestARunningTurnOfALaterMessageIsNotStoppedForAnOlderOneThatItTook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.said = 8
	run := w.claim(w.a, noon)
	w.said = 2
	w.say("sent before it, delivered after it")
	if taken, err := w.steer(run); err != nil || len(taken) != 1 {
		t.Fatalf("taken %q, %v", taken, err)
	}
	if done := w.halt(w.b, w.pressAt(5)); done.Tally.Running != 0 || w.status(run.Turn().ID).Status != turn.Running {
		t.Errorf("ended %+v", done.Tally)
	}
}

func TestAQuestionAboutALaterMessageIsNotStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	s := w.press()
	w.say("something else")
	_, err := w.steer(run)
	w.must(err)
	w.must(run.End(t.Context(), waiting(wait.Question)))
	w.halt(w.b, s)
	w.isOpen(run.Turn().ID)
	w.halt(w.b, w.press())
	w.isOpen()
	if got := w.status(run.Turn().ID).Status; got != turn.Cancelled {
		t.Errorf("after a second stop the turn is %s", got)
	}
}

// What a turn took before it handed the turn over counts for whoever goes on; what its forerunner took does not.
func TestWhatATurnTookIsRememberedAcrossAHandoverAndForgottenAtItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	first := w.press()
	w.say("after the first stop")
	_, err := w.steer(run)
	w.must(err)
	w.must(run.Handover(t.Context(), noon))
	w.halt(w.b, first)
	if got := w.status(run.Turn().ID).Status; got != turn.Running {
		t.Fatalf("the turn is %s", got)
	}
	w.halt(w.b, w.press()) // of which nothing is later
	if got := w.status(run.Turn().ID).Status; got != turn.Cancelled {
		t.Errorf("after a second stop the turn is %s", got)
	}
	next := w.claim(w.b, noon)
	w.halt(w.a, w.press())
	if got := w.status(next.Turn().ID).Status; got != turn.Cancelled {
		t.Errorf("the next turn is %s", got)
	}
}

func TestAStopLooksAgainWhenWhatItEndsHasChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(*world, *turn.Run)
		want      string
	}{
		"the running turn has ended": {
			func(w *world, run *turn.Run) { w.must(run.End(w.Context(), done("ok"))) },
			"Stopped. Not started: 2 messages that waited.",
		},
		"the running turn has taken the others": {
			func(w *world, run *turn.Run) { _, err := w.steer(run); w.must(err) },
			"Stopped. No action had been begun.",
		},
		"a message was withdrawn": {
			func(w *world, _ *turn.Run) { w.withdraw(w.queued()[0]) },
			"Stopped. No action had been begun. Not started: 1 message that waited.",
		},
		"the turn was handed over": {
			func(w *world, run *turn.Run) { w.must(run.Handover(w.Context(), noon)) },
			"Stopped. No action had been begun. Not started: 2 messages that waited.",
		},
		"another turn has begun": {
			func(w *world, run *turn.Run) {
				w.must(run.End(w.Context(), done("ok")))
				w.start(w.b, w.session)
			},
			"Stopped. No action had been begun. Not started: 1 message that waited.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := w.claim(w.a, noon)
			w.say("one")
			w.say("two")
			s := w.pressIn(w.session)
			w.beforeWrite(func(table.Write) bool { return true }, func() { c.meanwhile(w, run) })
			w.halt(w.b, s)
			told := w.told()
			if diff := cmp.Diff(c.want, told[len(told)-1]); diff != "" || len(w.left()) != 0 {
				t.Errorf("left %v; told: want (-), got (+):\n%s", w.left(), diff)
			}
			w.countsAreRight()
		})
	}
}

func TestAFullQueueIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range turn.MaxQueued {
		w.say("more")
	}
	done := w.halt(w.a, w.press())
	if done.Tally.Queued != turn.MaxQueued || len(w.left()) != 0 {
		t.Errorf("counted %+v, left %v", done.Tally, w.left())
	}
	w.countsAreRight()
}

func TestAStopThatNobodyIsToBeToldOfIsAnsweredByNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim(w.a, noon)
	s := w.press()
	s.ID, s.Route = "silent", channel.Route{}
	w.write(s.Press()...)
	if done := w.halt(w.a, s); done.Tally.Running != 1 || len(w.told()) != 0 {
		t.Errorf("ended %+v, told %q", done.Tally, w.told())
	}
}

func TestAStopThatDoesNotExistIsCarriedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if done, err := w.a.Halt(t.Context(), w.in, "stop#none"); done != nil || err != nil {
		t.Errorf("got %+v, %v", done, err)
	}
}
