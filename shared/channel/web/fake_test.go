package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/live"
)

// backend is a whole engine in memory, small enough to see through: a door, a thread, a hub.
type backend struct {
	hub live.Hub

	mu       sync.Mutex
	err      error // what all but Find return
	busy     bool  // Accept refuses
	people   map[string]Person
	code     string
	accepted []inbox.Message
	paired   []inbox.Message
	messages map[id.Thread][]Message
	waits    []Wait
	obeyed   []obeyed
}

// obeyed is a command that reached the door.
type obeyed struct {
	Name    string
	Message inbox.Message
	Turn    id.Turn
	Yes     bool
}

func newBackend() *backend {
	return &backend{
		people:   map[string]Person{"local": {Owner: "owner", Thread: "thread"}},
		code:     "spool-42",
		messages: map[id.Thread][]Message{},
	}
}

func (b *backend) Accept(_ context.Context, now time.Time, m inbox.Message) (inbox.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	turn := id.Turn(id.From("turn", m.Update))
	if b.err != nil {
		return inbox.Receipt{}, b.err
	}
	p, known := b.people[m.Sender]
	if !known {
		return inbox.Receipt{Outcome: inbox.Stranger}, nil
	}
	if slices.ContainsFunc(b.accepted, func(a inbox.Message) bool { return a.Update == m.Update }) {
		return inbox.Receipt{Outcome: inbox.Duplicate, Turn: turn}, nil
	}
	if b.busy {
		return inbox.Receipt{Outcome: inbox.Refused, Told: stillWorking}, nil
	}
	if m.Text == "/reset" {
		return inbox.Receipt{Outcome: inbox.Obeyed, Told: "I begin anew."}, nil
	}
	b.accepted = append(b.accepted, m)
	b.put(p.Thread, Message{
		ID: id.Message(id.From("in", m.Update)), Client: m.ExternalID, Turn: turn,
		From: FromOwner, Text: m.Text, Channel: "web", At: now, State: Queued,
	})
	return inbox.Receipt{Outcome: inbox.Accepted, Turn: turn}, nil
}

func (b *backend) Pair(_ context.Context, _ time.Time, m inbox.Message, code string) (inbox.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return inbox.Receipt{}, b.err
	}
	if code != b.code {
		return inbox.Receipt{Outcome: inbox.Stranger}, nil
	}
	b.code = ""
	b.paired = append(b.paired, m)
	b.people[m.Sender] = b.people["local"]
	return inbox.Receipt{Outcome: inbox.Paired}, nil
}

func (b *backend) Find(_ context.Context, external string) (Person, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, known := b.people[external]
	if !known {
		return Person{}, ErrStranger
	}
	return p, nil
}

func (b *backend) After(_ context.Context, thread id.Thread, cursor string, limit int) (Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.messages[thread]
	from := slices.IndexFunc(all, func(m Message) bool { return m.Cursor > cursor })
	if from < 0 {
		return Page{}, b.err
	}
	to := min(len(all), from+limit)
	return Page{Messages: slices.Clone(all[from:to]), More: to < len(all)}, b.err
}

func (b *backend) Before(_ context.Context, thread id.Thread, cursor string, limit int) (Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.messages[thread]
	if to := slices.IndexFunc(all, func(m Message) bool { return m.Cursor >= cursor }); cursor != "" && to >= 0 {
		all = all[:to]
	}
	from := max(0, len(all)-limit)
	return Page{Messages: slices.Clone(all[from:]), More: from > 0}, b.err
}

// put stores a message at the end of its thread, or in place of the one with its ID, and tells the hub. The lock is
// held.
func (b *backend) put(thread id.Thread, m Message) {
	all := b.messages[thread]
	i := slices.IndexFunc(all, func(o Message) bool { return o.ID == m.ID })
	if i < 0 {
		m.Cursor = fmt.Sprintf("m#%06d", len(all))
		b.messages[thread] = append(all, m)
	} else {
		m.Cursor = all[i].Cursor
		all[i] = m
	}
	b.hub.Publish(thread, live.Event{Kind: live.Stored, Message: m.ID, Turn: m.Turn})
}

// say stores a message of anyone's, made up from its text.
func (b *backend) say(from From, channel, text string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := Delivered
	if from == FromOwner {
		state = Done
	}
	b.put("thread", Message{
		ID: id.Message(id.From("said", text, at.String())), From: from, Text: text, Channel: channel, At: at, State: state,
	})
}

// run plays the oldest queued turn: each word of the reply is an event. It reports false when none is queued.
func (b *backend) run(reply string, between func()) bool {
	b.mu.Lock()
	all := b.messages["thread"]
	i := slices.IndexFunc(all, func(m Message) bool { return m.State == Queued })
	if i < 0 {
		b.mu.Unlock()
		return false
	}
	m := all[i]
	b.mu.Unlock()
	b.settle(m.Turn, Queued, Running)
	b.hub.Publish("thread", live.Event{Kind: live.Turned, Turn: m.Turn, Status: live.Running})
	for word := range strings.SplitAfterSeq(reply, " ") {
		b.hub.Publish("thread", live.Event{Kind: live.Text, Turn: m.Turn, Text: word})
		between()
	}
	defer b.hub.Publish("thread", live.Event{Kind: live.Turned, Turn: m.Turn, Status: live.Ended})
	if !b.settle(m.Turn, Running, Done) {
		return true // stopped: it has written on meanwhile
	}
	b.mu.Lock()
	b.put("thread", Message{
		ID: id.Message(id.From("out", string(m.Turn))), Turn: m.Turn,
		From: FromAgent, Text: reply, Channel: "web", At: time.Now(), State: Delivered,
	})
	b.mu.Unlock()
	return true
}

// settle moves the owner's message of a turn on, if it is in the state given.
func (b *backend) settle(t id.Turn, from, to State) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.move(func(m Message) bool { return m.Turn == t && m.State == from }, to)
}

// move moves the messages on that are meant, and reports whether there were any. The lock is held.
func (b *backend) move(meant func(Message) bool, to State) (any bool) {
	for _, m := range slices.Clone(b.messages["thread"]) {
		if m.From != FromOwner || !meant(m) {
			continue
		}
		any = true
		m.State = to
		b.put("thread", m)
		if to == Cancelled {
			b.hub.Publish("thread", live.Event{Kind: live.Turned, Turn: m.Turn, Status: live.Ended})
		}
	}
	return any
}
