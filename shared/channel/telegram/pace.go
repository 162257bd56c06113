package telegram

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/pause"
)

// Rate is how many messages a second may be sent. In each field 0 is Telegram's own limit and a negative number is none,
// for a Bot API server of the owner's.
type Rate struct {
	PerSecond     float64 // in all; Telegram's: 30
	ChatPerSecond float64 // to one chat; Telegram's: 1
}

const (
	telegramAll  = 30
	telegramChat = 1
	burst        = 3               // messages at once after a pause, in all and per chat; Telegram bears short bursts
	patience     = 3 * time.Second // a longer wait is the sender's to plan
	sweepFrom    = 256             // chats known before the idle ones are forgotten
)

// errPaced means that sending now would break the rate.
var errPaced = errors.New("waiting for Telegram's sending rate")

// Pace holds the sending to a rate. It is safe for concurrent use.
type Pace struct {
	all, chat time.Duration // between two messages; 0 is no limit

	mu      sync.Mutex
	next    time.Time           // in all, when the next message is due after an even flow so far
	chats   map[int64]chatState // those which have to wait, or had to a short while ago
	sweepAt int
}

type chatState struct {
	next time.Time // as Pace.next
	gate time.Time // nothing before this: Telegram said so
}

// NewPace makes a Pace for a rate.
func NewPace(r Rate) *Pace {
	return &Pace{
		all:     interval(r.PerSecond, telegramAll),
		chat:    interval(r.ChatPerSecond, telegramChat),
		chats:   map[int64]chatState{},
		sweepAt: sweepFrom,
	}
}

func interval(perSecond, unset float64) time.Duration {
	switch {
	case perSecond < 0:
		return 0
	case perSecond == 0:
		perSecond = unset
	}
	return time.Duration(float64(time.Second) / perSecond)
}

// Wait returns when a message to the chat may be sent. It takes the place in the flow at once. A wait of more than three
// seconds is refused with fault.RetryAfter, and takes no place.
func (p *Pace) Wait(ctx context.Context, chat int64) error {
	wait, ok := p.reserve(time.Now(), chat)
	if !ok {
		return fault.RetryAfter(wait, errPaced)
	}
	if !pause.For(ctx, wait) {
		return ctx.Err()
	}
	return nil
}

// Gate lets nothing through to the chat for a time, as a 429 asks.
func (p *Pace) Gate(chat int64, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, state := time.Now(), p.chats[chat]
	state.gate = later(state.gate, now.Add(wait))
	p.chats[chat] = state
	p.sweep(now)
}

// reserve says how long to wait, and takes the place if that is within patience.
func (p *Pace) reserve(now time.Time, chat int64) (wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := p.chats[chat]
	at := later(state.gate, later(due(p.next, p.all), due(state.next, p.chat)))
	if wait = at.Sub(now); wait > patience {
		return wait, false
	}
	// In the flow of all, the place is taken now: one chat's wait must not hold up the others.
	p.next = after(p.next, now, p.all)
	if p.chat > 0 {
		state.next = after(state.next, later(at, now), p.chat)
		p.chats[chat] = state
		p.sweep(now)
	}
	return wait, true
}

// sweep forgets the chats that need not wait any more, each time their number has doubled: a chat's share of the work is
// constant, and the memory is that of the busy ones.
func (p *Pace) sweep(now time.Time) {
	if len(p.chats) < p.sweepAt {
		return
	}
	for chat, state := range p.chats {
		if !state.next.After(now) && !state.gate.After(now) {
			delete(p.chats, chat)
		}
	}
	p.sweepAt = max(sweepFrom, 2*len(p.chats))
}

// due is when a message may go, given when it would in an even flow: a burst earlier.
func due(next time.Time, every time.Duration) time.Time { return next.Add(-(burst - 1) * every) }

// after moves an even flow on by one message that goes at the given time.
func after(next, at time.Time, every time.Duration) time.Time { return later(next, at).Add(every) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
