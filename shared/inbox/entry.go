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
	if rules.Debounce > 0 {
		e.Ready = now.Add(rules.Debounce)
		e.WakeAt = e.Ready.Add(firstWake)
	}
	d := drafted(m, e, now)
	if !e.Turn.Sole {
		return d, nil
	}
	d.limits = append(d.limits, e.Turn.PutSole())
	d.refusals = append(d.refusals, busyReply)
	busy, err := b.busy(ctx, session)
	if busy {
		d.refused = busyReply
	}
	return d, err
}

// busy reports whether a session has anything to do.
func (b *Inbox) busy(ctx context.Context, session id.Session) (bool, error) {
	next, err := b.desk().Next(ctx, session)
	if err != nil || next != nil {
		return next != nil, err
	}
	return b.desk().Runs(ctx, session)
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
