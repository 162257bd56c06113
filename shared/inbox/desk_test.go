package inbox_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// on is the message at a place of its conversation: what is sent later has a higher sequence.
func on(place int64, text string) inbox.Message {
	m := say("7", text)
	m.Sequence = place
	return m
}

// elsewhere is a message of Ada's in the other conversation of newWorldOfTwo.
func elsewhere(text string) inbox.Message {
	m := say("7b", text)
	m.Route.Conversation = "other"
	return m
}

// newWorldOfTwo is a world in which Ada is "7b" on the bot, too.
func newWorldOfTwo(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.must(w.Book.Link(t.Context(), w.ada, bot, "7b", noon))
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// rule has all messages taken by the rules.
func (w *world) rule(r inbox.Rules) { w.Rules = func(string) inbox.Rules { return r } }

func (w *world) desk() *turn.Desk { return &turn.Desk{Table: w.store, IDs: w.IDs, Holder: "worker"} }

// chat is the session of Ada's thread.
func (w *world) chat() id.Session { return id.Session(w.ada.Thread) }

// claim runs the oldest queued turn of a session, as a worker does.
func (w *world) claim(session id.Session) *turn.Run {
	w.Helper()
	view, err := w.desk().Look(w.Context(), session, w.ada.Thread)
	w.must(err)
	if step := turn.Decide(view, noon); step != turn.Claim {
		w.Fatalf("there is step %d to do about session %s, and no turn to claim", step, session)
	}
	run, err := w.desk().Claim(w.Context(), view, noon)
	w.must(err)
	w.must(run.Open(w.Context(), &w.blobs))
	return run
}

func (w *world) end(run *turn.Run) {
	w.Helper()
	w.must(run.End(w.Context(), turn.Ending{Status: turn.Succeeded, At: noon, From: thread.Agent, Text: "done"}))
}

// asks has the oldest queued turn of a session end by asking.
func (w *world) asks(session id.Session, kind wait.Kind) id.Turn {
	w.Helper()
	run := w.claim(session)
	ask := wait.Ask{Kind: kind, Text: "Shall I?"}
	if kind == wait.Confirmation {
		ask.Action = &wait.Action{Key: "key", Tool: "mail", Arguments: []byte(`{"to":"bea"}`)}
	}
	w.must(run.End(w.Context(), turn.Ending{Status: turn.Waiting, At: noon, From: thread.Agent, Text: ask.Text, Ask: &ask}))
	return run.Turn().ID
}

// inSession queues a turn of a session other than the chat, as a task's is.
func (w *world) inSession(session id.Session) {
	w.Helper()
	e := turn.Entry{Text: "work", WakeAt: noon, Turn: turn.Turn{
		ID: id.Turn(id.From(string(session))), Owner: w.ada.ID, Thread: w.ada.Thread, Session: session, Source: turn.Task,
		Status: turn.Queued, Route: say("7", "").Route, Created: noon, Order: turn.Order(noon, 0, 0),
	}}
	w.must(w.store.Write(w.Context(), table.Write{ID: w.IDs.New(noon), Ops: e.Enqueue()}))
}

// turn reads a turn.
func (w *world) turn(t id.Turn) turn.Turn {
	w.Helper()
	found, _, err := w.desk().Find(w.Context(), t)
	w.must(err)
	if found == nil {
		w.Fatalf("there is no turn %s", t)
	}
	return *found
}

func (w *world) wantStatus(t id.Turn, want turn.Status) {
	w.Helper()
	if got := w.turn(t).Status; got != want {
		w.Errorf("turn %s is %s, want %s", t, got, want)
	}
}

// open lists the kinds of what Ada's thread waits for.
func (w *world) open() (kinds []wait.Kind) {
	w.Helper()
	waits, err := wait.Open(w.Context(), w.store, w.ada.Thread, "")
	w.must(err)
	for _, o := range waits {
		kinds = append(kinds, o.Kind)
	}
	return kinds
}

// queued are the texts of what waits in a session.
func (w *world) queued(session id.Session) (texts []string) {
	w.Helper()
	entries, err := w.desk().Queued(w.Context(), session, 0)
	w.must(err)
	for _, e := range entries {
		texts = append(texts, e.Text)
	}
	return texts
}

// deliver sends what is to be sent to Ada's chat; the channel's ID of a message is its text.
func (w *world) deliver() {
	w.Helper()
	s := &outbox.Sender{Table: w.store, IDs: w.IDs, Holder: "sender", Channel: func(string) (channel.Channel, bool) { return named{}, true }}
	_, err := s.Flush(w.Context(), say("7", "").Route.Key())
	w.must(err)
}

// named is a channel that gives a message its text for an ID.
type named struct{}

func (named) Render(markdown string) []channel.Part { return []channel.Part{{Plain: markdown}} }

func (named) Send(_ context.Context, _ channel.Route, part channel.Part) (string, error) {
	return part.Plain, nil
}

// beforeWrite has something happen once, after all that the next write is decided from has been read.
func (w *world) beforeWrite(do func()) {
	done := false
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		if c.Method == tabletest.MethodWrite && !done {
			done = true
			do()
		}
		return tabletest.Fault{}
	}
}

// notices are what Ada has been told that no turn said.
func (w *world) notices() (texts []string) {
	w.Helper()
	log, err := thread.After(w.Context(), w.store, w.ada.Thread, "", 100)
	w.must(err)
	for _, m := range log.Messages {
		if m.From == thread.Notice {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

func (w *world) wantTexts(what string, want []string, got []string) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("%s: want (-), got (+):\n%s", what, diff)
	}
}

// head reads Ada's thread's.
func (w *world) head() thread.Head {
	w.Helper()
	head, err := thread.Load(w.Context(), w.store, w.ada.Thread)
	w.must(err)
	return head
}
