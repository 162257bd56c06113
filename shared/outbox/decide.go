package outbox

import (
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

const (
	// patience is how long a message is tried before its channel counts as refusing it.
	patience = 24 * time.Hour
	// firstPause and longestPause bound the growing wait after a refusal that names none.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
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
	expire                 // the channel has put it off for too long
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
	if r.Born == "" {
		r.Born = r.Revision
	}
	r.Doubt = r.Doubt || r.Sending > 0
	r.Sending++
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
		pause = min(firstPause<<min(r.Tries, 16), longestPause)
	}
	r.Sending, r.Tries, r.After = r.Sending-1, r.Tries+1, now.Add(pause)
	return r
}

// settle lists the operations that end the row: it goes, its message says what became of it, its parts can be replied
// to.
func (r Row) settle(state thread.State, reason string) []table.Op {
	ops := []table.Op{table.Delete(r.key(), table.At(r.Revision)), r.mark().Settle()}
	if r.Thread == "" {
		return ops
	}
	ops = append(ops, r.told(state, reason).Put(r.Thread, table.At(r.Born)))
	for _, external := range slices.Compact(slices.Sorted(slices.Values(r.Sent[:min(len(r.Sent), maxRefs)]))) {
		ops = append(ops, r.refer(external))
	}
	return ops
}

// told is the message as it stands in its thread afterwards.
func (r Row) told(state thread.State, reason string) thread.Message {
	return thread.Message{
		ID: r.ID, At: r.At, From: r.From, Text: r.Text, Via: r.Route.Connection, Turn: r.Turn, State: state,
		Error: reason, External: r.Sent,
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
