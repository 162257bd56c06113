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
	"slices"
	"strings"
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
	// Rules, if set, says how a connection's messages are taken.
	Rules func(connection string) Rules
	// Stored, if set, is called after a message has become durable, for pages that are open.
	Stored func(thread.Message, id.Thread, id.Turn)
	// Ended, if set, is called after turns have been cancelled.
	Ended func(id.Thread, ...id.Turn)

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
// nobody's is answered as greet says; a text that resets the conversation's session, a plain yes or no to what is to be
// confirmed, and what comes while nothing more is taken, make no turn of their own kind.
func (b *Inbox) Accept(ctx context.Context, now time.Time, m Message) (Receipt, error) {
	if len(m.Text) > MaxTextBytes {
		return Receipt{}, fmt.Errorf("accepting a message of %d bytes: at most %d are taken", len(m.Text), MaxTextBytes)
	}
	m = m.storable()
	rules := b.rules(m.Route.Connection)
	if rules.Reset != "" && strings.TrimSpace(m.Text) == rules.Reset && m.Quote == "" {
		return b.reset(ctx, now, m, rules)
	}
	return b.enqueue(ctx, now, m, "accepting a message", func(p place) (draft, error) {
		to, err := b.address(ctx, m, p, rules)
		if err != nil {
			return draft{}, err
		}
		if to.confirms != nil {
			return answer(m, p, *to.confirms, to.yes, now), nil
		}
		return b.message(ctx, m, p, to.session, rules, now)
	})
}

func (b *Inbox) rules(connection string) Rules {
	if b.Rules == nil {
		return Rules{}
	}
	return b.Rules(connection)
}

// desk reads what is queued and what runs.
func (b *Inbox) desk() *turn.Desk { return &turn.Desk{Table: b.Table, IDs: b.IDs} }

// draft is what is to be written of a message whose place is known.
type draft struct {
	// ops are written if the sender is still that owner's and the thread takes messages as it did.
	ops []table.Op
	// once is how many of the first tell a duplicate.
	once int
	// head, if set, is the operation on the thread's head, in place of the check that it has not changed.
	head *table.Op
	// limits come last. The first that fails has its refusal told.
	limits   []table.Op
	refusals []string
	// told or refused, if set, is all there is to do: nothing is written.
	told, refused string

	entry turn.Entry     // with a turn
	said  thread.Message // the owner's, as stored
}

// list is all operations of the draft, and how many stand before the limits.
func (d draft) list(p place, m Message) ([]table.Op, int) {
	head := p.head.Unchanged()
	if d.head != nil {
		head = *d.head
	}
	ops := slices.Concat(d.ops, []table.Op{head, p.who.Unchanged(m.Route.Connection, m.Sender)})
	return append(ops, d.limits...), len(ops)
}

// enqueue writes a turn and wakes its session.
func (b *Inbox) enqueue(ctx context.Context, now time.Time, m Message, doing string, make func(place) (draft, error)) (Receipt, error) {
	r, d, err := b.write(ctx, now, m, make)
	switch {
	case err != nil:
		return Receipt{}, fmt.Errorf("%s: %w", doing, err)
	case r.Outcome == Stranger:
		return b.greet(ctx, now, m)
	case r.Outcome == Refused:
		return b.refuse(ctx, now, m, r.Told)
	case r.Outcome == Obeyed: // unless it is what has been done already, delivered again
		t, _, err := b.desk().Find(ctx, turnID(m))
		if t != nil {
			return Receipt{Outcome: Duplicate, Turn: t.ID}, err
		}
		return r, err
	case r.Outcome == Accepted:
		b.stored(d.said, d.entry.Turn)
	}
	r.Turn = d.entry.Turn.ID
	// A crash here leaves the due mark: the reaper wakes the session.
	b.wake(ctx, d.entry)
	return r, nil
}

// write commits what draft makes of the message's place, on condition that its sender is still that owner's and the
// thread is as it was; if not, it looks again. The outcome is Accepted, Duplicate, Refused with what is to be told,
// Obeyed if there was nothing to write, or Stranger when the message is nobody's and nothing was written.
func (b *Inbox) write(ctx context.Context, now time.Time, m Message, make func(place) (draft, error)) (Receipt, draft, error) {
	for attempt := range attempts {
		p, err := b.locate(ctx, m)
		if err != nil {
			return Receipt{}, draft{}, err
		}
		if p == nil {
			return Receipt{Outcome: Stranger}, draft{}, nil
		}
		d, err := make(*p)
		switch {
		case err != nil:
			return Receipt{}, draft{}, err
		case attempt == 0 && d.refused+d.told != "": // no condition tells that the place is as it was remembered
			b.forget(m)
			continue
		case d.refused != "":
			return Receipt{Outcome: Refused, Told: d.refused}, d, nil
		case d.told != "":
			return Receipt{Outcome: Obeyed, Told: d.told}, d, nil
		}
		ops, limits := d.list(*p, m)
		failed, err := table.Try(ctx, b.Table, table.Write{ID: b.IDs.New(now), Ops: ops})
		switch {
		case err != nil:
			return Receipt{}, draft{}, err
		case failed == nil:
			return Receipt{Outcome: Accepted}, d, nil
		}
		switch first := failed.Failed[0].Index; {
		case first < d.once:
			return Receipt{Outcome: Duplicate}, d, nil
		case first >= limits:
			return Receipt{Outcome: Refused, Told: d.refusals[first-limits]}, d, nil
		}
		b.forget(m)
	}
	return Receipt{}, draft{}, fault.As(fault.Retry, ErrStale)
}

// message drafts the queued turn of a message. What tells a duplicate is the delivery, and its turn should nobody
// remember the delivery any more.
func (b *Inbox) message(ctx context.Context, m Message, p place, session id.Session, rules Rules, now time.Time) (draft, error) {
	e := entry(m, p, session, now)
	e.Turn.Apart = rules.Busy == QueueUp || rules.Busy == Refuse
	if rules.Debounce > 0 {
		e.Ready = now.Add(rules.Debounce)
		e.WakeAt = e.Ready.Add(firstWake)
	}
	e.Turn.Sole = rules.Busy == Refuse
	d := drafted(m, e, now)
	if !e.Turn.Sole {
		return d, nil
	}
	d.limits = append(d.limits, table.Put(turn.SoleKey(session), table.Encode(seen{e.Turn.ID}), table.Absent()))
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
	d.ops = slices.Concat([]table.Op{seenOp(m, e.Turn.ID, e.Turn.Created)}, queue[:last], []table.Op{d.said.Put(e.Turn.Thread, table.Absent())})
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
