package inbox_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// halt stops by a message.
func (w *world) halt(m inbox.Message) inbox.Receipt {
	w.Helper()
	r, err := w.Stop(w.Context(), noon, m)
	w.must(err)
	return r
}

func TestAStopEndsWhatRunsWaitsAndIsQueuedInEverySession(t *testing.T) {
	t.Parallel()
	w := newWorldOfTwo(t)
	w.inSession("asking")
	asked := w.asks("asking", wait.Confirmation)
	running := w.accept(on(1, "running")).Turn
	run := w.claim(w.chat())
	queued := w.accept(on(2, "queued")).Turn
	var ended []id.Turn
	w.Ended = func(_ id.Thread, turns ...id.Turn) { ended = append(ended, turns...) }
	r := w.halt(on(3, "/stop"))
	w.want(r, inbox.Obeyed)
	for _, hit := range []id.Turn{asked, running, queued} {
		w.wantStatus(hit, turn.Cancelled)
		if !slices.Contains(ended, hit) {
			t.Errorf("nobody was told of the end of %s", hit)
		}
	}
	if err := run.Checkpoint(t.Context(), noon); err == nil {
		t.Error("the stopped turn could still save something")
	}
	if open := w.open(); len(open) != 0 {
		t.Errorf("open: %v", open)
	}
	w.wantTexts("told", []string{
		"Stopped. No action had been begun. Not started: 1 message that waited. Closed: 1 open question.",
	}, w.notices())
	w.want(w.accept(on(4, "after")), inbox.Accepted)
	w.end(w.claim(w.chat()))
}

// What stands of a running turn says what was done, and what nobody knows the end of.
func TestAStopSaysWhatWasDoneAndWhatIsUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(on(1, "work"))
	run := w.claim(w.chat())
	for _, tools := range [][]string{{"clock", "clock"}, {"search"}, {"mail"}} {
		_, err := run.Begin(t.Context(), noon, tools, "")
		w.must(err)
		if tools[0] != "mail" {
			run.Answered()
		}
	}
	w.halt(on(2, "/stop"))
	w.wantTexts("told", []string{
		"Stopped. Done before that: clock (2 times), search. " +
			"Under way, and its outcome unknown: mail. Check before you ask for it again.",
	}, w.notices())
}

func TestAStopWithNothingToStopSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(w.halt(on(1, "/stop")), inbox.Obeyed)
	w.wantTexts("the thread", []string{"/stop", "There was nothing to stop."}, w.texts(w.ada.Thread))
	if marks := w.marks(); len(marks) != 1 || marks[0].Kind != due.Send {
		t.Errorf("the due marks are %+v, want that of the notice", marks)
	}
}

func TestAStopDeliveredTwiceIsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := on(1, "/stop")
	w.want(w.halt(stop), inbox.Obeyed)
	after := w.accept(on(0, "sent before, delivered after, and under the new generation")).Turn
	w.want(w.halt(stop), inbox.Duplicate)
	w.wantStatus(after, turn.Queued)
	if notices := w.notices(); len(notices) != 1 {
		t.Errorf("told %q, want one notice", notices)
	}
	if head := w.head(); head.Generation != 1 || len(head.Stops) != 1 {
		t.Errorf("the thread counts %d stops and keeps %v, want one", head.Generation, head.Stops)
	}
}

// A process may die once a stop is stored, and before it has ended anything.
func TestAStopDeliveredAgainGoesOnWhereTheFirstDied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hit := w.accept(on(1, "hit")).Turn
	stored := false
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		if stored {
			return tabletest.Fault{Kind: tabletest.Refused}
		}
		stored = c.Method == tabletest.MethodWrite
		return tabletest.Fault{}
	}
	if _, err := w.Stop(t.Context(), noon, on(2, "/stop")); err == nil {
		t.Fatal("a stop of which nothing has been carried out is a success")
	}
	w.store.Fault = nil
	w.wantStatus(hit, turn.Queued)
	if !slices.ContainsFunc(w.marks(), func(m due.Mark) bool { return m.Kind == due.Stop && m.Thread == w.ada.Thread }) {
		t.Error("no mark has the stop carried out")
	}
	w.want(w.halt(on(2, "/stop")), inbox.Duplicate)
	w.wantStatus(hit, turn.Cancelled)
	w.wantTexts("told", []string{"Stopped. Not started: 1 message that waited."}, w.notices())
}

func TestAStopThatCanNotBeStoredIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		hit := w.accept(on(1, "hit")).Turn
		w.store.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Fault{Kind: tabletest.Refused} }
		if _, err := w.Stop(t.Context(), noon, on(2, "/stop")); err == nil {
			t.Error("want an error, so that it is delivered again")
		}
		w.store.Fault = nil
		w.wantStatus(hit, turn.Queued)
	})
}

// Deliveries overtake each other. What counts is the order in which they were sent.
func TestAMessageSentAfterAStopRunsThoughItCameBeforeIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before, after := w.accept(on(1, "before")).Turn, w.accept(on(3, "after")).Turn
	w.sent = nil
	w.halt(on(2, "/stop"))
	w.wantStatus(before, turn.Cancelled)
	w.wantStatus(after, turn.Queued)
	stop := id.From("stop", bot, "/stop")
	if want := wake.Session(w.chat(), w.ada.Thread).Message(stop); !slices.Contains(w.sent, want) {
		t.Errorf("sent %v; want the session woken for what is left: %v", w.sent, want)
	}
	w.end(w.claim(w.chat()))
	w.wantStatus(after, turn.Succeeded)
}

// A turn answers the newest message that it took, so that decides.
func TestARunningTurnThatTookAMessageSentAfterTheStopGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.accept(on(1, "first")).Turn
	run := w.claim(w.chat())
	w.accept(on(3, "and this"))
	taken, err := run.Steer(t.Context(), noon, func(turn.Entry) []model.Block { return nil })
	if err != nil || len(taken) != 1 {
		t.Fatalf("took %v, %v", taken, err)
	}
	w.halt(on(2, "/stop"))
	w.wantStatus(first, turn.Running)
	w.halt(on(4, "/stop again"))
	w.wantStatus(first, turn.Cancelled)
}

func TestAStopHitsOtherConversationsByWhenItWasPressed(t *testing.T) {
	t.Parallel()
	w := newWorldOfTwo(t)
	page := say("page", "0198c0de-0000-7000-8000-000000000001")
	page.Route, page.Text = channel.Route{Connection: channel.Web, Conversation: string(w.ada.Thread)}, ""
	w.must(w.Book.Link(t.Context(), w.ada, channel.Web, "page", noon))
	before, after := elsewhere("before"), elsewhere("after")
	first, err := w.Accept(t.Context(), noon.Add(-20*time.Second), before)
	w.must(err)
	second, err := w.Accept(t.Context(), noon.Add(-10*time.Second), after)
	w.must(err)
	page.Sent = noon.Add(-15*time.Second + time.Microsecond) // pressed so long ago
	page.Sequence = page.Sent.UnixMicro()
	w.want(w.halt(page), inbox.Obeyed)
	w.wantStatus(first.Turn, turn.Cancelled)
	w.wantStatus(second.Turn, turn.Queued)
	w.wantTexts("told on the page", []string{"Stopped. Not started: 1 message that waited."}, w.notices())
	if got := w.replies(); len(got) != 0 {
		t.Errorf("sent %q, want nothing: what is stored on the page is delivered", got)
	}
}

// Telegram tells the second of a message only: what was accepted within it may have been sent before the stop.
func TestAStopWhoseSecondIsAllThatIsKnownHitsAllOfIt(t *testing.T) {
	t.Parallel()
	w := newWorldOfTwo(t)
	within, err := w.Accept(t.Context(), noon.Add(900*time.Millisecond), elsewhere("within"))
	w.must(err)
	beyond, err := w.Accept(t.Context(), noon.Add(time.Second), elsewhere("beyond"))
	w.must(err)
	_, err = w.Stop(t.Context(), noon.Add(2*time.Second), on(1, "/stop"))
	w.must(err)
	w.wantStatus(within.Turn, turn.Cancelled)
	w.wantStatus(beyond.Turn, turn.Queued)
}

func TestAStopOfAStrangersIsGreetedAndStopsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	queued := w.accept(on(1, "hello")).Turn
	w.want(w.halt(say("stranger", "/stop")), inbox.Stranger)
	w.wantStatus(queued, turn.Queued)
	if got := w.replies(); len(got) != 1 || !strings.Contains(got[0], "private") {
		t.Errorf("the replies are %q", got)
	}
}

func TestAStopLeavesOtherOwnersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bea, err := w.Book.Add(t.Context(), "Bea", noon)
	w.must(err)
	w.must(w.Book.Link(t.Context(), bea, bot, "8", noon))
	hers := w.accept(say("8", "hers")).Turn
	w.halt(on(1, "/stop"))
	w.wantStatus(hers, turn.Queued)
}

// A message is accepted under the generation that its thread had; a stop between look and write moves that.
func TestAMessageAcceptedWhileAStopIsUnderWayIsBeforeOrAfterIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.beforeWrite(func() { w.halt(on(1, "/stop")) })
	r := w.accept(on(2, "after"))
	w.want(r, inbox.Accepted)
	if got := w.turn(r.Turn); got.Generation != 1 || got.Status != turn.Queued {
		t.Errorf("the turn is %s of generation %d, want it queued under the stop's", got.Status, got.Generation)
	}
}

// What is queued in a session that nothing runs in is not looked for: whoever wakes that session cancels it.
func TestWhatAStopDoesNotFindIsNeverRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.inSession("elsewhere")
	w.halt(on(1, "/stop"))
	view, err := w.desk().Look(t.Context(), "elsewhere", w.ada.Thread)
	w.must(err)
	if got := turn.Decide(view, noon); got != turn.Strike {
		t.Errorf("step %d is to be done about what was queued before the stop, want %d", got, turn.Strike)
	}
}

func TestAStopsRecordIsGoneWhenItIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(on(1, "hello"))
	w.halt(on(2, "/stop"))
	key := table.Key{Partition: "thread#" + string(w.ada.Thread), Sort: "stop#"}
	if n := w.count(key.String()); n != 0 {
		t.Errorf("%d stops are under way", n)
	}
	for _, m := range w.marks() {
		if m.Kind == due.Stop || m.Kind == due.Wake {
			t.Errorf("the mark %+v is left", m)
		}
	}
}
