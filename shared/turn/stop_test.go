package turn_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

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
