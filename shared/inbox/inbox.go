// Package inbox accepts messages: one transaction makes a delivered message a queued turn with the request to run its
// session, so that neither can exist without the other, and a message delivered twice makes one.
//
// It obeys what an owner commands in the same way: Stop, Cancel, Answer, Clear, and the text that resets a conversation are
// deliveries too, each of them carried out once.
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
	"strings"
	"sync"
	"time"

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

// Accept stores the message as a queued turn and wakes its session. When it returns nil, that is durable. A message of
// nobody's is answered as greet says. A plain yes or no to what is to be confirmed makes the turn that Answer makes; a
// text that resets the conversation's session, and what comes while nothing more is taken, make none.
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

// enqueue writes the turn that is drafted of a message and wakes its session. doing begins the error.
func (b *Inbox) enqueue(
	ctx context.Context, now time.Time, m Message, doing string, drafts func(place) (draft, error),
) (Receipt, error) {
	r, d, err := b.write(ctx, now, m, drafts)
	switch {
	case err != nil:
		return Receipt{}, fmt.Errorf("%s: %w", doing, err)
	case r.Outcome == Stranger:
		return b.greet(ctx, now, m)
	case r.Outcome == Refused:
		return b.refuse(ctx, now, m, r.Told)
	case r.Outcome == Obeyed, r.Outcome == Duplicate:
		return b.again(ctx, m, r)
	}
	b.stored(d.said, d.entry.Turn)
	r.Turn = d.entry.Turn.ID
	// A crash here leaves the due mark: the reaper wakes the session.
	b.wake(ctx, d.entry)
	return r, nil
}

// again looks what became of a message that may have come before: it made a turn, whose session may not have been woken;
// or it did not, and the receipt stands.
func (b *Inbox) again(ctx context.Context, m Message, r Receipt) (Receipt, error) {
	t, queued, err := b.desk().Find(ctx, turnID(m))
	if err != nil || t == nil {
		return r, err
	}
	if queued != nil {
		b.wake(ctx, *queued)
	}
	return Receipt{Outcome: Duplicate, Turn: t.ID}, nil
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
