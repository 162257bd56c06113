package inbox

import (
	"context"
	"fmt"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

// place is whose a sender is and the thread that takes the message: what the transaction is conditional on.
type place struct {
	who  owner.Identity
	head thread.Head
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
