package inbox

import (
	"context"
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

type seen struct {
	Turn id.Turn `json:"turn,omitempty"`
}

// message drafts the queued turn of a message. What tells a duplicate is the delivery, and its turn should nobody
// remember the delivery any more.
func (b *Inbox) message(ctx context.Context, m Message, p place, session id.Session, rules Rules, now time.Time) (draft, error) {
	e := entry(m, p, session, now)
	e.Turn.Apart, e.Turn.Sole = rules.Busy == QueueUp || rules.Busy == Refuse, rules.Busy == Refuse
	if gather := rules.gather(m); gather > 0 {
		e.Ready = now.Add(gather)
		e.WakeAt = e.Ready.Add(firstWake)
	}
	if !e.Turn.Sole {
		return drafted(m, e, now), nil
	}
	next, err := b.desk().Next(ctx, session)
	if err != nil {
		return draft{}, err
	}
	if next != nil && m.Group != "" && next.Turn.Group == m.Group { // what it was sent together with has been taken
		e.Turn.Sole = false
		return drafted(m, e, now), nil
	}
	return b.sole(ctx, drafted(m, e, now), next != nil)
}

// sole makes the draft of a message one that is refused while its session has anything to do.
func (b *Inbox) sole(ctx context.Context, d draft, queued bool) (draft, error) {
	d.limits = append(d.limits, d.entry.Turn.PutSole())
	d.refusals = append(d.refusals, busyReply)
	runs, err := b.desk().Runs(ctx, d.entry.Turn.Session)
	if queued || runs {
		d.refused = busyReply
	}
	return d, err
}

// groupTerm is how long the rest of what was sent together is waited for: its parts come one by one.
const groupTerm = 2 * time.Second

// gather is how long more is waited for that becomes one turn with the message.
func (r Rules) gather(m Message) time.Duration {
	if m.Group != "" {
		return max(r.Debounce, groupTerm)
	}
	return r.Debounce
}

// drafted is the draft of a queued turn: the queue's depth is its limit.
func drafted(m Message, e turn.Entry, now time.Time) draft {
	d := draft{entry: e, said: ownerMessage(m, e.Turn, now), once: 2}
	queue := e.Enqueue()
	last := len(queue) - 1
	d.ops = slices.Concat(
		[]table.Op{seenOp(m, e.Turn.ID, e.Turn.Created)},
		queue[:last],
		[]table.Op{d.said.Put(e.Turn.Thread, table.Absent())},
	)
	d.limits, d.refusals = queue[last:], []string{fullReply}
	return d
}

func seenOp(m Message, t id.Turn, now time.Time) table.Op {
	key := table.Key{Partition: "inbound#" + m.Route.Connection + "#" + m.Update, Sort: "-"}
	return table.PutExpiring(key, table.Encode(seen{t}), table.Absent(), now.Add(seenTerm))
}

// entry is the queued turn that a message becomes. Its ID comes from the delivery, so that delivering again is harmless
// even when nobody remembers the delivery any more.
func entry(m Message, p place, session id.Session, now time.Time) turn.Entry {
	t := turn.Turn{
		ID:         turnID(m),
		Owner:      p.who.Owner,
		Thread:     p.head.ID,
		Session:    session,
		Source:     turn.User,
		Status:     turn.Queued,
		Route:      m.Route,
		Created:    now,
		Order:      turn.Order(m.Sent, m.Sequence, 0),
		Group:      m.Group,
		Generation: p.head.Generation,
	}
	t.Message = ownerMessage(m, t, now).Key(t.Thread).Sort
	return turn.Entry{Turn: t, Text: m.Text, Quote: m.Quote, WakeAt: now.Add(firstWake)}
}

func turnID(m Message) id.Turn { return id.Turn(id.From("turn", m.Route.Connection, m.Update)) }

func ownerMessage(m Message, t turn.Turn, now time.Time) thread.Message {
	said := thread.Message{
		ID: id.Message(id.From("message", m.Route.Connection, m.Update)), At: now, From: thread.Owner, Text: m.Text,
		Via: m.Route.Connection, Turn: t.ID,
	}
	if m.ExternalID != "" {
		said.External = []string{m.ExternalID}
	}
	return said
}
