package inbox_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

const notOpen = "That is not open any more."

// confirmation has the chat ask for a confirmation.
func (w *world) confirmation() id.Turn {
	w.Helper()
	w.accept(on(1, "mail Bea"))
	return w.asks(w.chat(), wait.Confirmation)
}

// press answers by a button: the message has no text.
func (w *world) press(update string, asked id.Turn, yes bool) inbox.Receipt {
	w.Helper()
	m := say("7", update)
	m.Text = ""
	r, err := w.Answer(w.Context(), noon.Add(time.Second), m, asked, yes)
	w.must(err)
	return r
}

// wantResumed demands that the receipt's turn goes on from the one that asked, with the action as it was stored.
func (w *world) wantResumed(r inbox.Receipt, asked id.Turn, yes bool) turn.Entry {
	w.Helper()
	w.want(r, inbox.Accepted)
	got, e, err := w.desk().Find(w.Context(), r.Turn)
	w.must(err)
	if e == nil {
		w.Fatalf("turn %q is not queued", r.Turn)
	}
	if got.Source != turn.Resume || got.Continues != asked || got.Session != w.turn(asked).Session {
		w.Errorf("the turn is %+v, want one that goes on from %s", got, asked)
	}
	want := &turn.Resumption{Yes: yes, Action: &wait.Action{Key: "key", Tool: "mail", Arguments: []byte(`{"to":"bea"}`)}}
	if diff := cmp.Diff(want, e.Resume); diff != "" {
		w.Errorf("what it goes on with: want (-), got (+):\n%s", diff)
	}
	if open := w.open(); len(open) != 0 {
		w.Errorf("open: %v", open)
	}
	w.wantStatus(asked, turn.Waiting) // and stays it
	return *e
}

func TestAnAnswerMakesTheTurnThatGoesOn(t *testing.T) {
	t.Parallel()
	for word, yes := range map[string]bool{"Yes": true, "No": false} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			asked := w.confirmation()
			w.sent = nil
			e := w.wantResumed(w.press("answer", asked, yes), asked, yes)
			if e.Text != word {
				t.Errorf("the owner said %q, want %q", e.Text, word)
			}
			w.wantTexts("the thread", []string{"mail Bea", "Shall I?", word}, w.texts(w.ada.Thread))
			if len(w.sent) != 1 || w.sent[0] != wake.Session(w.chat(), w.ada.Thread).Message(string(e.Turn.ID)) {
				t.Errorf("sent %v, want the session woken", w.sent)
			}
		})
	}
}

func TestAConfirmationIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.confirmation()
	first := w.press("answer", asked, true)
	w.wantResumed(first, asked, true)
	again := w.press("answer", asked, true)
	w.want(again, inbox.Duplicate)
	if again.Turn != first.Turn {
		t.Errorf("delivered again it is turn %s, want %s", again.Turn, first.Turn)
	}
	w.wantTold(w.press("another", asked, false), inbox.Obeyed, notOpen)
	if n := w.count("turn#"); n != 2 {
		t.Errorf("there are %d turns, want the one that asked and the one that goes on", n)
	}
}

func TestOfAYesAndANoAtOnceOneCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.confirmation()
	var first inbox.Receipt
	w.beforeWrite(func() { first = w.press("no", asked, false) })
	w.wantTold(w.press("yes", asked, true), inbox.Obeyed, notOpen)
	w.wantResumed(first, asked, false)
}

func TestAnAnswerToWhatIsNotOpenMakesNoTurn(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]func(*world) id.Turn{
		"no such turn":         func(*world) id.Turn { return "none" },
		"a turn that asks not": func(w *world) id.Turn { return w.accept(on(1, "hello")).Turn },
		"a question": func(w *world) id.Turn {
			w.accept(on(1, "ask me"))
			return w.asks(w.chat(), wait.Question)
		},
		"stopped": func(w *world) id.Turn {
			asked := w.confirmation()
			w.halt(on(2, "/stop"))
			return asked
		},
		"another owner's": func(w *world) id.Turn {
			asked := w.confirmation()
			bea, err := w.Book.Add(w.Context(), "Bea", noon)
			w.must(err)
			w.give(bea)
			return asked
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			to := asked(w)
			before := w.count("turn#")
			w.wantTold(w.press("answer", to, true), inbox.Obeyed, notOpen)
			if n := w.count("turn#"); n != before {
				t.Errorf("%d turns were made", n-before)
			}
		})
	}
}

func TestAnAnswerIsTakenThoughTheQueueIsFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.confirmation()
	w.fill()
	w.wantResumed(w.press("answer", asked, true), asked, true)
	w.want(w.accept(on(60, "too many")), inbox.Refused)
}

func TestAPlainYesOrNoAnswersTheOnlyConfirmation(t *testing.T) {
	t.Parallel()
	for text, yes := range map[string]bool{"yes": true, "\tYes!\n": true, "👍": true, "no": false, "Nein.": false} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			asked := w.confirmation()
			m := on(2, text)
			w.wantResumed(w.accept(m), asked, yes)
			w.want(w.accept(m), inbox.Duplicate)
		})
	}
}

func TestAPlainYesInAnotherConversationOfItsOwnerAnswersToo(t *testing.T) {
	t.Parallel()
	w := newWorldOfTwo(t)
	asked := w.confirmation()
	w.wantResumed(w.accept(elsewhere("yes")), asked, true)
}

func TestAYesThatMayMeanSomethingElseIsAMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open func(*world)
		text string
	}{
		"nothing is open": {func(*world) {}, "yes"},
		"two are open": {func(w *world) {
			w.confirmation()
			w.inSession("task")
			w.asks("task", wait.Confirmation)
		}, "yes"},
		"a question is open": {func(w *world) {
			w.accept(on(1, "ask me"))
			w.asks(w.chat(), wait.Question)
		}, "yes"},
		"a question is open, too": {func(w *world) {
			w.confirmation()
			w.inSession("task")
			w.asks("task", wait.Question)
		}, "no"},
		"it is no plain one": {func(w *world) { w.confirmation() }, "yes, but to Bob"},
		"something else was written since": {func(w *world) {
			w.confirmation()
			said := thread.Message{ID: "since", At: noon.Add(time.Second), From: thread.Owner, Text: "and the weather?"}
			if err := w.store.Write(w.Context(), table.Write{ID: "since", Ops: []table.Op{said.Put(w.ada.Thread, table.Absent())}}); err != nil {
				w.Fatal(err)
			}
		}, "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.open(w)
			before := len(w.open())
			r := w.accept(on(2, c.text))
			w.want(r, inbox.Accepted)
			if got := w.turn(r.Turn); got.Source != turn.User || got.Session != w.chat() {
				t.Errorf("the turn is %+v, want the chat's", got)
			}
			if open := w.open(); len(open) != before {
				t.Errorf("open: %v, want all that was", open)
			}
		})
	}
}

// reply is a message that answers the one whose channel ID is to.
func reply(place int64, text, to string) inbox.Message {
	m := on(place, text)
	m.Reply = to
	return m
}

func TestAPlainReplyAnswersTheConfirmationItRepliesTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.inSession("task")
	asked := w.asks("task", wait.Confirmation)
	w.deliver()
	w.inSession("other")
	w.asks("other", wait.Question) // so that a plain yes alone would be an ordinary message
	r := w.accept(reply(2, "yes", "Shall I?"))
	w.want(r, inbox.Accepted)
	if got := w.turn(r.Turn); got.Source != turn.Resume || got.Continues != asked {
		t.Errorf("the turn is %+v, want one that goes on from %s", got, asked)
	}
	w.wantTexts("open", []string{string(wait.Question)}, texts(w.open()))
}

func texts(kinds []wait.Kind) (all []string) {
	for _, k := range kinds {
		all = append(all, string(k))
	}
	return all
}

func TestAReplyGoesToTheSessionThatAsksByTheMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind wait.Kind
		m    inbox.Message
		want id.Session // "" for the chat
	}{
		"a question":                  {wait.Question, reply(2, "blue", "Shall I?"), "task"},
		"a question, and plainly":     {wait.Question, reply(2, "yes", "Shall I?"), "task"},
		"a form":                      {wait.Form, reply(2, "what is it for?", "Shall I?"), "task"},
		"words to a confirmation":     {wait.Confirmation, reply(2, "to whom?", "Shall I?"), ""},
		"a message that nobody knows": {wait.Question, reply(2, "blue", "Who?"), ""},
		"none":                        {wait.Question, on(2, "blue"), ""},
		"from another conversation":   {wait.Question, func() inbox.Message { m := elsewhere("blue"); m.Reply = "Shall I?"; return m }(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldOfTwo(t)
			w.inSession("task")
			w.asks("task", c.kind)
			w.deliver()
			if c.want == "" {
				c.want = w.chat()
			}
			r := w.accept(c.m)
			w.want(r, inbox.Accepted)
			if got := w.turn(r.Turn); got.Session != c.want || got.Source != turn.User {
				t.Errorf("the turn is of session %s, source %s; want an owner's in %s", got.Session, got.Source, c.want)
			}
			if open := w.open(); len(open) != 1 {
				t.Errorf("open: %v, want what was: its session's next turn closes it", open)
			}
		})
	}
}

func TestAReplyToWhatIsAnsweredGoesToTheChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.inSession("task")
	w.asks("task", wait.Question)
	w.deliver()
	w.accept(reply(2, "blue", "Shall I?"))
	w.end(w.claim("task"))
	r := w.accept(reply(3, "or red", "Shall I?"))
	if got := w.turn(r.Turn).Session; got != w.chat() {
		t.Errorf("it went to session %s, want the chat", got)
	}
}

// A chat may have been another owner's when the message was sent in it.
func TestAReplyInAFormerOwnersChatGoesToOnesOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.inSession("task")
	w.asks("task", wait.Question)
	w.deliver()
	bea, err := w.Book.Add(t.Context(), "Bea", noon)
	w.must(err)
	w.give(bea)
	r := w.accept(reply(2, "blue", "Shall I?"))
	if got := w.turn(r.Turn); got.Thread != bea.Thread || got.Session != id.Session(bea.Thread) {
		t.Errorf("the turn is of thread %s, session %s; want Bea's chat", got.Thread, got.Session)
	}
}

func TestAnAnswerOnThePageIsTheOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.Book.Link(t.Context(), w.ada, channel.Web, "page", noon))
	asked := w.confirmation()
	m := say("page", "answer")
	m.Route = channel.Route{Connection: channel.Web, Conversation: string(w.ada.Thread)}
	r, err := w.Answer(t.Context(), noon.Add(time.Second), m, asked, true)
	w.must(err)
	e := w.wantResumed(r, asked, true)
	if e.Turn.Route != m.Route {
		t.Errorf("it answers to %+v, want the page", e.Turn.Route)
	}
	log, err := thread.After(t.Context(), w.store, w.ada.Thread, "", 10)
	w.must(err)
	if last := log.Messages[len(log.Messages)-1]; last.From != thread.Owner || last.Turn != r.Turn {
		t.Errorf("the thread ends with %+v", last)
	}
}
