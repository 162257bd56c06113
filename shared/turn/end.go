package turn

import (
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

// Held is a running turn with all the records that its end changes, as they stand.
type Held struct {
	Turn     Turn
	Revision table.Revision // of the turn's head
	Fence    Fence
	Head     Head
}

// Ending is how a turn ends.
type Ending struct {
	Status      Status
	At          time.Time
	Text        string      // what the owner is told; "" for nothing
	From        thread.From // who says so
	Error       string      // with Failed: as raised, secrets cut out
	Interrupted bool        // with Failed: the worker died
	Cause       error       // with Failed: for the operator's log, where there is more to say; not kept
}

// End returns the operations that end a running turn: live, failed and found dead alike. The fence comes first: it is
// what shows whether the write was ours. The manifest of h.Head is committed with it.
func End(h Held, e Ending) ([]table.Op, error) {
	t := h.Turn
	status, err := t.Status.Become(e.Status)
	if err != nil {
		return nil, err
	}
	t.Status, t.Ended, t.Error = status, e.At, e.Error
	head := h.Head
	head.Thread, head.Previous = t.Thread, nil
	if status == Failed {
		head.Previous = &Failure{
			Turn: t.ID, Error: e.Error, Interrupted: e.Interrupted, Message: t.Message,
			Earlier: h.Head.Previous.newest(maxFailures - 1),
		}
	}
	if e.Text != "" {
		head.Told, head.Conversation = after(t, head.Told, e.At), sentTo(t)
	}
	ops := []table.Op{
		Fence{Epoch: h.Fence.Epoch}.put(t.Session, table.At(h.Fence.Revision)),
		t.Put(table.At(h.Revision)),
		head.put(t.Session),
		table.DeleteBlind(LeaseKey(t.Session)),
		table.DeleteBlind(thread.RunKey(t.Thread, t.Session)),
		leaseMark(t).Settle(),
	}
	if e.Text == "" {
		return ops, nil
	}
	return append(ops, outbox.Enqueue(
		outbox.Row{Thread: t.Thread, Route: t.Route, Session: t.Session, Turn: t.ID},
		thread.Message{ID: ReplyID(t.ID), At: head.Told, From: e.From, Text: e.Text, Turn: t.ID},
	)...), nil
}

// Interruption is the ending of a turn whose worker died or was shut down.
func Interruption(at time.Time) Ending {
	return Ending{
		Status: Failed, At: at, Text: InterruptedNotice, From: thread.Notice, Error: "the worker was interrupted",
		Interrupted: true,
	}
}

// Unexpected is the ending of a turn that something broke which is not the owner's to know.
func Unexpected(err error, at time.Time) Ending {
	return Ending{Status: Failed, At: at, Text: GenericNotice, From: thread.Notice, Error: bounded(err.Error())}
}

// maxError bounds the error that is kept with a turn and told to the session's next one, in bytes.
const maxError = 2 << 10

func bounded(s string) string {
	if len(s) <= maxError {
		return s
	}
	return strings.ToValidUTF8(s[:maxError], "") + " …"
}

// What the owner is told when there are no better words.
const (
	// InterruptedNotice is for a turn whose worker died.
	InterruptedNotice = "I was interrupted while working on this. Something may already have been done outside: " +
		"check before you ask for it again, or say “continue”."
	// GenericNotice is for an error whose words are not meant for the owner.
	GenericNotice = "Something went wrong processing that — please try again."
)

// ReplyID is the ID of the one message that ends a turn.
func ReplyID(t id.Turn) id.Message { return id.Message(id.From("reply", string(t))) }

// sentTo is the conversation in which the turn's message must be sent; "" when storing is delivering.
func sentTo(t Turn) string {
	if t.Route.Stored() {
		return ""
	}
	return t.Route.Key()
}

// after is when a message to the owner stands in the conversation: now, but behind what it answers and behind the last
// one of its session, whatever the clocks of two workers say.
func after(t Turn, last, now time.Time) time.Time {
	for _, earliest := range []time.Time{t.Created.Add(time.Millisecond), last.Add(time.Microsecond)} {
		if now.Before(earliest) {
			now = earliest
		}
	}
	return now.Truncate(time.Microsecond)
}
