package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// fullReply is what the sender of one message too many is told.
var fullReply = fmt.Sprintf("%d messages of yours are waiting already, and I have not taken this one. "+
	"Please send it again when some are done, or send /stop to clear them.", turn.MaxQueued)

// What those are told who get an answer without a turn.
const (
	strangerReply = "This agent is private. If it is yours, send /start followed by your pairing code."
	pairedReply   = "Paired. From now on this chat is yours: write to me whenever you like."
	badCodeReply  = "That pairing code is not valid any more. You are paired already, so you need none here."
	busyReply     = "Still working on your previous message — please wait."
	// otherOwnerReply is for whoever sends a good code from a chat that is someone else's.
	otherOwnerReply = "This chat is paired already, with another owner than that code is for. It stays as it is, and the " +
		"code can still be used in another chat."
)

// greet answers a stranger: one fixed reply in all time, and nothing that costs. When very many write at once, the rest
// may hear it when they write again.
func (b *Inbox) greet(ctx context.Context, now time.Time, m Message) (Receipt, error) {
	if m.Route.Stored() {
		return Receipt{Outcome: Stranger}, nil // the page asks for a code by itself
	}
	if !b.strangers.allow(now) {
		return Receipt{Outcome: Stranger}, nil
	}
	key := table.Key{Partition: "stranger#" + m.Route.Connection + "#" + m.Sender, Sort: "-"}
	ops := []table.Op{table.Put(key, []byte("{}"), table.Absent())}
	ops = append(ops, notice(m, "", strangerReply, now)...)
	failed, err := table.Try(ctx, b.Table, table.Write{ID: b.IDs.New(now), Ops: ops})
	if err != nil {
		return Receipt{}, fmt.Errorf("answering a stranger: %w", err)
	}
	if failed == nil {
		b.deliver(ctx, m)
	}
	return Receipt{Outcome: Stranger}, nil
}

// Pair makes the sender the owner whose one-time code it is, and says so. A code that is not good leaves a stranger a
// stranger, and an owner an owner; so does another owner's code, which stays good.
func (b *Inbox) Pair(ctx context.Context, now time.Time, m Message, code string) (Receipt, error) {
	for range attempts {
		ops, err := b.pair(ctx, now, m, code)
		switch {
		case errors.Is(err, owner.ErrNoCode):
			return b.tell(ctx, now, m, "", badCodeReply)
		case errors.Is(err, owner.ErrPaired):
			return b.tell(ctx, now, m, "", otherOwnerReply)
		case err != nil:
			return Receipt{}, fmt.Errorf("pairing: %w", err)
		}
		failed, err := table.Try(ctx, b.Table, table.Write{ID: b.IDs.New(now), Ops: ops})
		if err != nil {
			return Receipt{}, fmt.Errorf("pairing: %w", err)
		}
		b.forget(m)
		if failed == nil {
			b.deliver(ctx, m)
			return Receipt{Outcome: Paired}, nil
		}
		// Someone was quicker with the code, the identity or the thread, or this very message was delivered twice.
	}
	return Receipt{}, fault.As(fault.Retry, fmt.Errorf("pairing: %w", ErrStale))
}

// pair lists the operations of pairing.
func (b *Inbox) pair(ctx context.Context, now time.Time, m Message, code string) ([]table.Op, error) {
	who, ops, err := b.Book.Redeem(ctx, code, m.Route.Connection, m.Sender, now)
	if err != nil {
		return nil, err
	}
	ops = append(ops, seenOp(m, "", now))
	if m.Route.Stored() {
		return ops, nil
	}
	head, err := thread.Load(ctx, b.Table, who.Thread)
	if err != nil {
		return nil, err
	}
	return append(append(ops, head.Unchanged()), notice(m, who.Thread, pairedReply, now)...), nil
}

// Tell stores what the owner sent, as said in the text of the message, with a fixed reply, and makes no turn. A
// stranger is greeted.
func (b *Inbox) Tell(ctx context.Context, now time.Time, m Message, text string) (Receipt, error) {
	m = m.storable()
	return b.tell(ctx, now, m, m.Text, text)
}

func (b *Inbox) tell(ctx context.Context, now time.Time, m Message, said, text string) (Receipt, error) {
	r, _, err := b.write(ctx, now, m, func(p place) (draft, error) {
		return told(m, p, said, text, now), nil
	})
	switch {
	case err != nil:
		return Receipt{}, fmt.Errorf("answering without a turn: %w", err)
	case r.Outcome == Stranger:
		return b.greet(ctx, now, m)
	}
	b.deliver(ctx, m) // a duplicate's too: the one before it may have died before it asked
	return r, nil
}

// told drafts a fixed reply, with what the owner said unless that is "".
func told(m Message, p place, said, text string, now time.Time) draft {
	ops := append([]table.Op{seenOp(m, "", now)}, notice(m, p.head.ID, text, now.Add(time.Millisecond))...)
	if said != "" {
		ops = append(ops, ownerMessage(m, turn.Turn{}, now).Put(p.head.ID, table.Absent()))
	}
	return draft{ops: ops, once: 1}
}

// refuse tells the sender why the message was not taken. Where storing is delivering, the receipt does.
func (b *Inbox) refuse(ctx context.Context, now time.Time, m Message, why string) (Receipt, error) {
	if m.Route.Stored() {
		t, _, err := b.desk().Find(ctx, turnID(m))
		if t != nil {
			return Receipt{Outcome: Duplicate, Turn: t.ID}, err
		}
		return Receipt{Outcome: Refused, Told: why}, err
	}
	r, err := b.tell(ctx, now, m, "", why)
	if r.Outcome == Accepted {
		r = Receipt{Outcome: Refused, Told: why}
	}
	return r, err
}

// notice lists the operations of a fixed reply to the message.
func notice(m Message, in id.Thread, text string, now time.Time) []table.Op {
	return outbox.Enqueue(outbox.Row{Thread: in, Route: m.Route}, thread.Message{
		ID: id.Message(id.From("notice", m.Route.Connection, m.Update)), At: now, From: thread.Notice, Text: text,
	})
}

// deliver asks for the conversation's messages to be sent. If it fails, their due marks ask again.
func (b *Inbox) deliver(ctx context.Context, m Message) {
	if !m.Route.Stored() {
		_ = b.Queue.Send(ctx, wake.Conversation(m.Route.Key()).Message(m.Update))
	}
}
