package inbox_test

import (
	"slices"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// withdraw cancels a turn by a message.
func (w *world) withdraw(m inbox.Message, t id.Turn) inbox.Receipt {
	w.Helper()
	r, err := w.Cancel(w.Context(), noon, m, t)
	w.must(err)
	return r
}

func (w *world) wantTold(r inbox.Receipt, outcome inbox.Outcome, told string) {
	w.Helper()
	w.want(r, outcome)
	if r.Told != told {
		w.Errorf("told %q, want %q", r.Told, told)
	}
}

func TestAWithdrawnMessageNeverRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ended []id.Turn
	w.Ended = func(_ id.Thread, turns ...id.Turn) { ended = append(ended, turns...) }
	first, second := w.accept(on(1, "first")).Turn, w.accept(on(2, "second")).Turn
	w.wantTold(w.withdraw(say("7", "cancel"), first), inbox.Obeyed, "")
	w.wantStatus(first, turn.Cancelled)
	w.wantTexts("queued", []string{"second"}, w.queued(w.chat()))
	if !slices.Equal(ended, []id.Turn{first}) {
		t.Errorf("told of the end of %v, want %v", ended, first)
	}
	if marks := w.marks(); len(marks) != 1 || marks[0].Turn != second {
		t.Errorf("the due marks are %+v, want the second message's alone", marks)
	}
	w.wantTold(w.withdraw(say("7", "cancel"), first), inbox.Obeyed, "That has been withdrawn.")
	w.wantTold(w.withdraw(say("7", "cancel again"), first), inbox.Obeyed, "That has been withdrawn.")
}

func TestWhatHasBegunIsNotWithdrawn(t *testing.T) {
	t.Parallel()
	const started = "That has been started already: use Stop to end it."
	for name, begin := range map[string]func(*world, id.Turn){
		"running": func(w *world, _ id.Turn) { w.claim(w.chat()) },
		"ended":   func(w *world, _ id.Turn) { w.end(w.claim(w.chat())) },
		"claimed between look and write": func(w *world, _ id.Turn) {
			w.beforeWrite(func() { w.claim(w.chat()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			begun := w.accept(on(1, "hello")).Turn
			begin(w, begun)
			w.wantTold(w.withdraw(say("7", "cancel"), begun), inbox.Obeyed, started)
			if got := w.turn(begun).Status; got == turn.Cancelled {
				t.Error("it was cancelled")
			}
		})
	}
}

func TestAMessageThatARunningTurnTookIsNotWithdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(on(1, "first"))
	run := w.claim(w.chat())
	taken := w.accept(on(2, "second")).Turn
	_, err := run.Steer(t.Context(), noon, func(turn.Entry) []model.Block { return nil })
	w.must(err)
	w.wantTold(w.withdraw(say("7", "cancel"), taken), inbox.Obeyed, "That has been started already: use Stop to end it.")
}

func TestOnlyOnesOwnMessageIsWithdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bea, err := w.Book.Add(t.Context(), "Bea", noon)
	w.must(err)
	w.must(w.Book.Link(t.Context(), bea, bot, "8", noon))
	hers := w.accept(say("8", "hers")).Turn
	w.wantTold(w.withdraw(say("7", "cancel"), hers), inbox.Obeyed, "There is no such message.")
	w.wantTold(w.withdraw(say("7", "cancel"), "none"), inbox.Obeyed, "There is no such message.")
	w.want(w.withdraw(say("stranger", "cancel"), hers), inbox.Stranger)
	w.wantStatus(hers, turn.Queued)
}

// A process that is warm remembers the thread that was active when it looked last.
func TestAMessageOfANewThreadIsWithdrawnByAProcessThatKnewTheOld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(on(1, "before"))
	other := &inbox.Inbox{Table: w.store, Queue: w.Queue, Book: w.Book, IDs: w.IDs}
	_, err := other.Clear(t.Context(), noon, say("7", "clear"))
	w.must(err)
	r, err := other.Accept(t.Context(), noon, on(2, "after"))
	w.must(err)
	w.wantTold(w.withdraw(say("7", "cancel"), r.Turn), inbox.Obeyed, "")
	w.wantStatus(r.Turn, turn.Cancelled)
}

func TestAWithdrawnMessageMakesRoomForAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	turns := w.fill()
	w.want(w.accept(on(50, "too many")), inbox.Refused)
	w.withdraw(say("7", "cancel"), turns[3])
	w.want(w.accept(on(51, "there is room")), inbox.Accepted)
}

// fill queues as many messages as the chat takes.
func (w *world) fill() (turns []id.Turn) {
	w.Helper()
	for n := range turn.MaxQueued {
		r := w.accept(on(int64(n+1), id.From("message", string(rune('a'+n)))))
		w.want(r, inbox.Accepted)
		turns = append(turns, r.Turn)
	}
	return turns
}
