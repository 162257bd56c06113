package outbox

import (
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

const (
	// patience is how long a message is tried before its channel counts as refusing it.
	patience = 24 * time.Hour
	// firstPause and longestPause bound the growing wait after a refusal that names none.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	// doubtPause is how long a part at least waits of which nothing is known: sent again at once, it would meet the same
	// trouble, and it is sent again only once.
	doubtPause = 7 * time.Second
	// setupPause is how long a message waits whose connection is not set up in this process.
	setupPause = 5 * time.Minute
)

// doubtLine goes before a part that may have arrived already.
const doubtLine = "_The next message may be a repeat: I could not see whether it had arrived._"

// move is what to do about the first row of a conversation.
type move uint8

const (
	send   move = iota + 1 // send the row's part
	resend                 // send it again, saying so: a sending began and nobody confirmed it
	lost                   // that happened twice: give up, and say so where the owner looks
	wait                   // not yet
	expire                 // it has been put off for too long
)

func decide(r Row, now time.Time) move {
	late := r.Tries > 0 && now.Sub(r.At) > patience
	switch {
	case now.Before(r.After):
		return wait
	case late && r.Sending == 0:
		return expire
	case r.Sending == 0:
		return send
	case late, r.Sending > 1:
		return lost
	default:
		return resend
	}
}

// begin is the row as it stands while its part is being sent.
func (r Row) begin() Row {
	r = r.born()
	r.Doubt = r.Doubt || r.Sending > 0
	r.Sending++
	return r
}

// born is the row with the revision of its message, which is the row's own until the row is put again.
func (r Row) born() Row {
	if r.Born == "" {
		r.Born = r.Revision
	}
	return r
}

// confirm is the row after the part has been taken by the channel.
func (r Row) confirm(externalID string) Row {
	r.Part++
	r.Sending, r.Tries = 0, 0
	r.Sent = append(slices.Clip(r.Sent), externalID)
	return r
}

// postpone is the row after the channel has said that it did not send the part. That takes back this attempt, not the
// doubt about the one before it.
func (r Row) postpone(v fault.Verdict, now time.Time) Row {
	pause := v.After
	if pause <= 0 {
		pause = r.pause(firstPause)
	}
	r.Sending--
	return r.putOff(pause, now)
}

// putOff is the row after it has been found that its part can't be sent now.
func (r Row) putOff(pause time.Duration, now time.Time) Row {
	r = r.born()
	r.Tries, r.After = r.Tries+1, now.Add(pause)
	return r
}

// doubtful is the row after a sending of its part of which nothing is known: the doubt stays, and a repeat has to wait.
func (r Row) doubtful(now time.Time) Row {
	r.After = now.Add(r.pause(doubtPause))
	return r
}

// pause grows from the first with every time that the row was put off.
func (r Row) pause(first time.Duration) time.Duration {
	return min(first<<min(r.Tries, 16), longestPause)
}

// end is what becomes of a row.
type end struct {
	state  thread.State
	reason string // in words fit for the owner
	// missed means that the owner may not have the message, and that the channel may take a notice of that.
	missed bool
}

// MissedNotice is what the owner is told who may not have had a reply.
const MissedNotice = "A reply of mine may not have reached you; it is on my page."

// MissedID is the ID of the notice that a reply may not have reached its owner.
func MissedID(reply id.Message) id.Message { return id.Message(id.From("missed", string(reply))) }

// notify lists the operations that enqueue the notice of a reply's end, if there has to be one, and gives the notice.
// There is none for strangers, and none of the notice itself.
func (r Row) notify(e end, now time.Time) ([]table.Op, *thread.Message) {
	if !e.missed || r.Thread == "" || r.Missed {
		return nil, nil
	}
	if earliest := r.At.Add(time.Microsecond); now.Before(earliest) {
		now = earliest // it stands behind the reply, whatever the clocks say
	}
	m := thread.Message{ID: MissedID(r.ID), At: now.Truncate(time.Microsecond), From: thread.Notice, Text: MissedNotice}
	return Enqueue(Row{Thread: r.Thread, Route: r.Route, Session: r.Session, Missed: true}, m), &m
}

// settle lists the operations that end the row: it goes, its message says what became of it, its parts can be replied
// to.
func (r Row) settle(e end) []table.Op {
	ops := []table.Op{table.Delete(r.key(), table.At(r.Revision)), r.mark().Settle()}
	if r.Thread == "" {
		return ops
	}
	ops = append(ops, r.told(e).Put(r.Thread, table.At(r.Born)))
	for _, external := range slices.Compact(slices.Sorted(slices.Values(r.Sent[:min(len(r.Sent), maxRefs)]))) {
		ops = append(ops, r.refer(external))
	}
	return ops
}

// told is the message as it stands in its thread afterwards.
func (r Row) told(e end) thread.Message {
	return thread.Message{
		ID: r.ID, At: r.At, From: r.From, Text: r.Text, Via: r.Route.Connection, Turn: r.Turn, State: e.state,
		Error: e.reason, External: r.Sent,
	}
}

// maxRefs keeps a message of very many parts within one write.
const maxRefs = 80

func (r Row) refer(external string) table.Op {
	value := table.Encode(Ref{r.Thread, r.Session, r.Turn})
	return table.PutExpiring(refKey(r.Route.Key(), external), value, table.Absent(), r.At.Add(refTerm))
}

const refPrefix = "ref#"

func refKey(conversation, external string) table.Key {
	return table.Key{Partition: refPrefix + conversation + "#" + external, Sort: "-"}
}
