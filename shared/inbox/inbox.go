// Package inbox accepts messages: one transaction makes a delivered message a queued turn with the request to run its
// session, so that neither can exist without the other, and a message delivered twice makes one.
//
// Records:
//
//	inbound#<connection>#<update> / -    JSON: the turn that it made; kept 8 days
//	stranger#<connection>#<sender> / -   empty; whoever has had the one fixed reply
package inbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

const (
	// seenTerm is how long a delivery is remembered: longer than any channel delivers again.
	seenTerm = 8 * 24 * time.Hour
	// firstWake is when the reaper asks whether an accepted turn has been started.
	firstWake = 10 * time.Second
	// attempts bounds how often a write is decided anew because an identity or a thread has changed.
	attempts = 5
	// cacheSize bounds how many identities are remembered in the process.
	cacheSize = 4096
)

// ErrStale means that identity or thread changed again and again while accepting; delivering again will do.
var ErrStale = errors.New("the thread kept changing")

// Inbox accepts messages. The zero cache is ready; all methods are safe for concurrent use.
type Inbox struct {
	Table table.Table
	Queue queue.Sender
	Book  *owner.Book
	IDs   *id.Source
	// Stored, if set, is called after a message has become durable, for pages that are open.
	Stored func(thread.Message, id.Thread, id.Turn)

	strangers greetings

	mu    sync.Mutex
	known map[string]place
}

// place is whose a sender is and the thread that takes the message: what the transaction is conditional on.
type place struct {
	who  owner.Identity
	head thread.Head
}

type seen struct {
	Turn id.Turn `json:"turn,omitempty"`
}

// Accept stores the message as a queued turn and wakes its session. When it returns nil, that is durable. A message of
// nobody's is answered as greet says.
func (b *Inbox) Accept(ctx context.Context, now time.Time, m Message) (Receipt, error) {
	if len(m.Text) > MaxTextBytes {
		return Receipt{}, fmt.Errorf("accepting a message of %d bytes: at most %d are taken", len(m.Text), MaxTextBytes)
	}
	m = m.storable()
	var e turn.Entry
	var said thread.Message
	outcome, err := b.write(ctx, now, m, 2, func(p place) []table.Op {
		e = entry(m, p, now)
		said = ownerMessage(m, e.Turn, now)
		return accept(m, e, said)
	})
	switch {
	case err != nil:
		return Receipt{}, fmt.Errorf("accepting a message: %w", err)
	case outcome == Stranger:
		return b.greet(ctx, now, m)
	case outcome == Accepted:
		b.stored(said, e.Turn)
	}
	// A crash here leaves the due mark: the reaper wakes the session.
	b.wake(ctx, e)
	return Receipt{Outcome: outcome, Turn: e.Turn.ID}, nil
}

// write commits what list makes of the message's place, on condition that its sender is still that owner's and the
// thread still takes messages; if not, it looks again. The first once of the operations are what tell a duplicate. It
// returns Accepted, Duplicate, or Stranger when the message is nobody's and nothing was written.
func (b *Inbox) write(ctx context.Context, now time.Time, m Message, once int, list func(place) []table.Op) (Outcome, error) {
	for range attempts {
		p, err := b.locate(ctx, m)
		if err != nil {
			return 0, err
		}
		if p == nil {
			return Stranger, nil
		}
		ops := append(list(*p), p.head.Unchanged(), p.who.Unchanged(m.Route.Connection, m.Sender))
		failed, err := table.Try(ctx, b.Table, table.Write{ID: b.IDs.New(now), Ops: ops})
		switch {
		case err != nil:
			return 0, err
		case failed == nil:
			return Accepted, nil
		case failed.Failed[0].Index < once:
			return Duplicate, nil
		}
		b.forget(m)
	}
	return 0, fault.As(fault.Retry, ErrStale)
}

// accept lists the operations of accepting. The first two are what tell a duplicate: the delivery, and its turn should
// nobody remember the delivery any more.
func accept(m Message, e turn.Entry, said thread.Message) []table.Op {
	return []table.Op{
		seenOp(m, e.Turn.ID, e.Turn.Created),
		e.Turn.Put(table.Absent()),
		e.Put(),
		said.Put(e.Turn.Thread, table.Absent()),
		e.Mark().Put(),
	}
}

func seenOp(m Message, t id.Turn, now time.Time) table.Op {
	key := table.Key{Partition: "inbound#" + m.Route.Connection + "#" + m.Update, Sort: "-"}
	return table.PutExpiring(key, table.Encode(seen{t}), table.Absent(), now.Add(seenTerm))
}

// entry is the queued turn that a message becomes. Its ID comes from the delivery, so that delivering again is harmless
// even when nobody remembers the delivery any more.
func entry(m Message, p place, now time.Time) turn.Entry {
	t := turn.Turn{
		ID:      id.Turn(id.From("turn", m.Route.Connection, m.Update)),
		Owner:   p.who.Owner,
		Thread:  p.head.ID,
		Session: id.Session(p.head.ID), // the chat's
		Source:  turn.User,
		Status:  turn.Queued,
		Route:   m.Route,
		Created: now,
	}
	t.Message = ownerMessage(m, t, now).Key(t.Thread).Sort
	return turn.Entry{
		Turn: t, Text: m.Text, Quote: m.Quote, Order: turn.Order(m.Sent, m.Sequence, 0), Generation: p.head.Generation,
		WakeAt: now.Add(firstWake),
	}
}

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

// wake asks for the turn's session to be run. Its failure is no failure of accepting: the due mark asks again.
func (b *Inbox) wake(ctx context.Context, e turn.Entry) {
	_ = b.Queue.Send(ctx, wake.Session(e.Turn.Session, e.Turn.Thread).Message(string(e.Turn.ID)))
}

func (b *Inbox) stored(m thread.Message, t turn.Turn) {
	if b.Stored != nil {
		b.Stored(m, t.Thread, t.ID)
	}
}

// locate finds whose the message is and the owner's active thread; nil if it is nobody's. What it remembers may be out
// of date: the transaction is conditional on it.
func (b *Inbox) locate(ctx context.Context, m Message) (*place, error) {
	key := m.Route.Connection + "#" + m.Sender
	b.mu.Lock()
	p, ok := b.known[key]
	b.mu.Unlock()
	if ok {
		return &p, nil
	}
	who, err := b.Book.Identify(ctx, m.Route.Connection, m.Sender)
	if err != nil || who == nil {
		return nil, err
	}
	head, err := thread.Load(ctx, b.Table, who.Thread)
	if err != nil {
		return nil, err
	}
	if head.Status != thread.Active {
		active, err := b.Book.ActiveThread(ctx, who.Owner)
		if err != nil {
			return nil, err
		}
		if head, err = thread.Load(ctx, b.Table, active); err != nil {
			return nil, err
		}
	}
	if head.Status != thread.Active { // archived while we looked: what it took now would never run
		return nil, fault.As(fault.Retry, fmt.Errorf("finding the thread of %s: %w", who.Owner, ErrStale))
	}
	p = place{*who, head}
	b.remember(key, p)
	return &p, nil
}

func (b *Inbox) remember(key string, p place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil || len(b.known) >= cacheSize {
		b.known = make(map[string]place) // rare enough that starting anew is cheaper than order among them
	}
	b.known[key] = p
}

func (b *Inbox) forget(m Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, m.Route.Connection+"#"+m.Sender)
}
