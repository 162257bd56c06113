package turn

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/wait"
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
	Ask         *wait.Ask   // with Waiting: for what
	From        thread.From // who says so
	Error       string      // with Failed: as raised, secrets cut out
	Interrupted bool        // with Failed: the worker died
	Cause       error       // with Failed: for the operator's log, where there is more to say; not kept
}

// End returns the operations that end a running turn: live, failed, stopped and found dead alike. The fence comes first:
// it is what shows whether the write was ours. The manifest of h.Head is committed with it.
func End(h Held, e Ending) ([]table.Op, error) {
	t := h.Turn
	status, err := t.Status.Become(e.Status)
	if err != nil {
		return nil, err
	}
	t.Status, t.Ended, t.Error = status, e.At, e.Error
	if t.Background() && e.From == thread.Notice {
		e.Text = "" // nobody waits for it; its error stands in the turn
	}
	head := h.Head.after(t, e)
	ops := []table.Op{
		Fence{Epoch: h.Fence.Epoch, Rests: h.Fence.Rests}.put(t.Session, table.At(h.Fence.Revision)),
		t.Put(table.At(h.Revision)),
		head.put(t.Session),
		table.DeleteBlind(LeaseKey(t.Session)),
		table.DeleteBlind(thread.RunKey(t.Thread, t.Session)),
		leaseMark(t).Settle(),
	}
	if t.Slot != nil {
		ops = append(ops, capacity.Free(*t.Slot))
	}
	if t.Sole {
		ops = append(ops, table.DeleteBlind(SoleKey(t.Session)))
	}
	if e.Ask != nil {
		ops = append(ops, asks(t, h.newest(), e).Put()...)
	}
	if e.Text == "" {
		return ops, nil
	}
	return append(ops, outbox.Enqueue(
		outbox.Row{Thread: t.Thread, Route: t.Route, Session: t.Session, Turn: t.ID},
		thread.Message{ID: ReplyID(t.ID), At: head.Told, From: e.From, Text: e.Text, Turn: t.ID},
	)...), nil
}

// after is the session's head once the turn has ended.
func (h Head) after(t Turn, e Ending) Head {
	failure := Failure{
		Turn: t.ID, Error: e.Error, Interrupted: e.Interrupted, Message: t.Message,
		Earlier: h.Previous.newest(maxFailures - 1),
	}
	h.Thread, h.Previous, h.Ended, h.Taken = t.Thread, nil, e.At, nil
	switch t.Status {
	case Failed:
		h.Previous = &failure
	case Cancelled:
		failure.Stopped, failure.Message = true, ""
		h.Previous = &failure
	case Waiting:
		h.Waits = append(slices.Clone(h.Waits), t.ID)
	case Queued, Running, Succeeded:
	}
	if e.Text != "" {
		h.Told, h.Conversation = after(t, h.Told, e.At), sentTo(t)
	}
	return h
}

// asks is the wait with which the turn ends.
func asks(t Turn, newest thread.Place, e Ending) wait.Wait {
	return wait.Wait{
		Ask: *e.Ask, Turn: t.ID, Owner: t.Owner, Thread: t.Thread, Session: t.Session, Route: t.Route,
		Place: newest, Asked: e.At,
	}
}

// Interruption is the ending of a turn whose worker died or was shut down.
func Interruption(at time.Time) Ending {
	return Ending{
		Status: Failed, At: at, Text: InterruptedNotice, From: thread.Notice, Error: "the worker was interrupted",
		Interrupted: true,
	}
}

// Crowded is the ending of a turn for which there was neither a permit nor a place in the line for one.
func Crowded(at time.Time) Ending {
	return Ending{Status: Failed, At: at, Text: CrowdedNotice, From: thread.Notice, Error: "too many turns were waiting to run"}
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
	// CrowdedNotice is for a message for which there is no capacity.
	CrowdedNotice = "I'm at capacity right now — please try again in a minute."
	// GenericNotice is for an error whose words are not meant for the owner.
	GenericNotice = "Something went wrong processing that — please try again."
)

// ReplyID is the ID of the one message that ends a turn.
func ReplyID(t id.Turn) id.Message { return id.Message(id.From("reply", string(t))) }

// LineID is the ID of what a turn writes to its owner at a step, before it ends.
func LineID(t Turn) id.Message {
	return id.Message(id.From("line", string(t.ID), strconv.Itoa(t.Steps)))
}

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
