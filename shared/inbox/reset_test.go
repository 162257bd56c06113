package inbox_test

import (
	"slices"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

const (
	fresh   = "Done: your next message begins a new conversation. Files stay as they are."
	running = "I am working on something here. Wait until it is done, or send /stop first."
)

// remembers runs a turn of a session that leaves an entry in its transcript.
func (w *world) remembers(session id.Session) {
	w.Helper()
	run := w.claim(session)
	run.Log().Append(transcript.Entry{Kind: transcript.Owner, Turn: run.Turn().ID, Blocks: []model.Block{{Text: "kept"}}})
	w.end(run)
}

// memory is how many entries a session's next turn finds.
func (w *world) memory(session id.Session, next inbox.Message) int {
	w.Helper()
	w.want(w.accept(next), inbox.Accepted)
	run := w.claim(session)
	defer w.end(run)
	return len(run.Log().Entries())
}

func TestAResetMakesTheSessionForget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule(inbox.Rules{Reset: "/new"})
	w.accept(on(1, "first"))
	w.remembers(w.chat())
	if got := w.memory(w.chat(), on(2, "second")); got != 1 {
		t.Fatalf("without a reset a turn finds %d entries, want 1", got)
	}
	epoch := w.view().Fence.Epoch
	reset := on(3, " /new\n")
	w.wantTold(w.accept(reset), inbox.Obeyed, fresh)
	w.want(w.accept(reset), inbox.Duplicate)
	if got := w.view().Fence.Epoch; got != epoch+1 {
		t.Errorf("the epoch is %d, want %d: nothing late may land in what begins now", got, epoch+1)
	}
	w.wantTexts("told", []string{fresh}, w.notices())
	if n := w.count("turn#"); n != 2 {
		t.Errorf("there are %d turns; a reset is none", n-2)
	}
	if got := w.memory(w.chat(), on(4, "third")); got != 0 {
		t.Errorf("after a reset a turn finds %d entries", got)
	}
}

// view is what a worker sees of the chat.
func (w *world) view() turn.View {
	w.Helper()
	view, err := w.desk().Look(w.Context(), w.chat(), w.ada.Thread)
	w.must(err)
	return view
}

func TestOnlyTheDeclaredTextIsAReset(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		declared string
		m        inbox.Message
	}{
		"none is declared":     {"", on(1, "/reset")},
		"another is declared":  {"/new", on(1, "/reset")},
		"it is part of a text": {"/new", on(1, "/new idea")},
		"it came with a quote": {"/new", func() inbox.Message { m := on(1, "/new"); m.Quote = "forwarded"; return m }()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.rule(inbox.Rules{Reset: c.declared})
			w.want(w.accept(c.m), inbox.Accepted)
		})
	}
}

func TestAResetIsRefusedWhileATurnRuns(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*world){
		"before it":              func(w *world) { w.claim(w.chat()) },
		"between look and write": func(w *world) { w.beforeWrite(func() { w.claim(w.chat()) }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.rule(inbox.Rules{Reset: "/reset"})
			w.accept(on(1, "first"))
			w.remembers(w.chat())
			w.accept(on(2, "second"))
			begin(w)
			w.wantTold(w.accept(on(3, "/reset")), inbox.Obeyed, running)
			w.wantTexts("told", []string{running}, w.notices())
			if fence := w.view().Fence; fence.Turn == "" {
				t.Error("nothing runs any more")
			}
		})
	}
}

func TestAResetIsDoneWhenAStopWasQuickerThanItsRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule(inbox.Rules{Reset: "/reset"})
	w.accept(on(1, "first"))
	w.claim(w.chat())
	w.beforeWrite(func() { w.halt(on(2, "/stop")) })
	w.wantTold(w.accept(on(3, "/reset")), inbox.Obeyed, fresh)
	told := slices.Sorted(slices.Values(w.notices())) // both are of one millisecond
	w.wantTexts("told", []string{fresh, "Stopped. No action had been begun."}, told)
}

func TestAResetClosesWhatTheSessionWaitsFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule(inbox.Rules{Reset: "/reset"})
	w.accept(on(1, "ask me"))
	asked := w.asks(w.chat(), wait.Confirmation)
	w.inSession("other")
	w.asks("other", wait.Form)
	w.wantTold(w.accept(on(2, "/reset")), inbox.Obeyed, fresh)
	w.wantStatus(asked, turn.Cancelled)
	if open := w.open(); len(open) != 1 || open[0] != wait.Form {
		t.Errorf("open: %v, want what the other session waits for", open)
	}
}

func TestAResetConcernsItsOwnConversationWhereThoseAreApart(t *testing.T) {
	t.Parallel()
	w := newWorldOfTwo(t)
	w.rule(inbox.Rules{Scope: inbox.ConversationScope, Reset: "/reset"})
	here, there := on(1, "here"), elsewhere("there")
	for _, m := range []inbox.Message{here, there} {
		w.accept(m)
		w.remembers(w.conversation(m.Route))
	}
	w.accept(on(2, "/reset"))
	if got := w.memory(w.conversation(here.Route), on(3, "here again")); got != 0 {
		t.Errorf("the session that was reset finds %d entries", got)
	}
	if got := w.memory(w.conversation(there.Route), elsewhere("there again")); got != 1 {
		t.Errorf("the other conversation's finds %d entries, want 1", got)
	}
}

// conversation is the session of a conversation that has one to itself.
func (w *world) conversation(r channel.Route) id.Session {
	return turn.ConversationSession(w.ada.Thread, r)
}

func TestAResetOfWhatNeverBeganIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule(inbox.Rules{Reset: "/reset"})
	w.wantTold(w.accept(on(1, "/reset")), inbox.Obeyed, fresh)
	w.want(w.accept(on(2, "hello")), inbox.Accepted)
}

func TestAStrangersResetIsGreeted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule(inbox.Rules{Reset: "/reset"})
	m := on(1, "/reset")
	m.Sender = "stranger"
	w.want(w.accept(m), inbox.Stranger)
	w.wantTexts("told", nil, w.notices())
}

func TestClearingPutsTheConversationAwayAndBeginsAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	running := w.accept(on(1, "running")).Turn
	w.claim(w.chat())
	queued := w.accept(on(2, "queued")).Turn
	w.inSession("asking")
	asked := w.asks("asking", wait.Form)
	r, err := w.Clear(t.Context(), noon, say("7", "clear"))
	w.must(err)
	w.want(r, inbox.Obeyed)
	for _, old := range []id.Turn{running, queued, asked} {
		w.wantStatus(old, turn.Cancelled)
	}
	if head := w.head(); head.Status != thread.Archived {
		t.Errorf("the thread is %s", head.Status)
	}
	w.wantTexts("told in the old thread", nil, w.notices())
	next := w.turn(w.accept(on(3, "after")).Turn)
	active, err := w.Book.ActiveThread(t.Context(), w.ada.ID)
	w.must(err)
	if next.Thread == w.ada.Thread || next.Thread != active || next.Session != id.Session(active) {
		t.Errorf("the next message is of thread %s, want the new one, %s", next.Thread, active)
	}
}

func TestClearingTwiceIsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, want := range []inbox.Outcome{inbox.Obeyed, inbox.Duplicate} {
		r, err := w.Clear(t.Context(), noon, say("7", "clear"))
		w.must(err)
		w.want(r, want)
	}
	kept, err := w.Book.ActiveThread(t.Context(), w.ada.ID)
	w.must(err)
	head, err := thread.Load(t.Context(), w.store, kept)
	w.must(err)
	if head.Status != thread.Active || kept == w.ada.Thread {
		t.Errorf("the active thread is %s, which is %s", kept, head.Status)
	}
}

// Another process may have the old thread in its memory, and a message on its way into it.
func TestAMessageOnItsWayIntoAThreadThatIsClearedLandsInTheNewOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(on(1, "before"))
	other := &inbox.Inbox{Table: w.store, Queue: w.Queue, Book: w.Book, IDs: w.IDs}
	w.beforeWrite(func() {
		_, err := other.Clear(t.Context(), noon, say("7", "clear"))
		w.must(err)
	})
	if got := w.turn(w.accept(on(2, "after")).Turn); got.Thread == w.ada.Thread {
		t.Error("the message is in the thread that was cleared, where it never runs")
	}
}

func TestAStrangerClearsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, err := w.Clear(t.Context(), noon, say("stranger", "clear"))
	w.must(err)
	w.want(r, inbox.Stranger)
	if head := w.head(); head.Status != thread.Active {
		t.Errorf("the thread is %s", head.Status)
	}
}
