package web

import (
	"context"
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

const stillWorking = "Still working on your previous message — please wait."

// obey notes a command and carries it out, once.
func (b *backend) obey(o obeyed, do func() inbox.Receipt) (inbox.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return inbox.Receipt{}, b.err
	}
	if _, known := b.people[o.Message.Sender]; !known {
		return inbox.Receipt{Outcome: inbox.Stranger}, nil
	}
	if slices.ContainsFunc(b.obeyed, func(a obeyed) bool { return a.Message.Update == o.Message.Update }) {
		return inbox.Receipt{Outcome: inbox.Duplicate}, nil
	}
	b.obeyed = append(b.obeyed, o)
	return do(), nil
}

// Stop ends what was sent before it was pressed.
func (b *backend) Stop(_ context.Context, _ time.Time, m inbox.Message) (inbox.Receipt, error) {
	return b.obey(obeyed{Name: "stop", Message: m}, func() inbox.Receipt {
		b.move(func(o Message) bool { return !o.At.After(m.Sent) && (o.State == Queued || o.State == Running) }, Cancelled)
		return inbox.Receipt{Outcome: inbox.Obeyed}
	})
}

func (b *backend) Cancel(_ context.Context, _ time.Time, m inbox.Message, t id.Turn) (inbox.Receipt, error) {
	return b.obey(obeyed{Name: "cancel", Message: m, Turn: t}, func() inbox.Receipt {
		if b.move(func(o Message) bool { return o.Turn == t && o.State == Queued }, Cancelled) {
			return inbox.Receipt{Outcome: inbox.Obeyed}
		}
		return inbox.Receipt{Outcome: inbox.Obeyed, Told: "It runs already."}
	})
}

// Answer tells the answer in the conversation.
func (b *backend) Answer(_ context.Context, now time.Time, m inbox.Message, asked id.Turn, yes bool) (inbox.Receipt, error) {
	return b.obey(obeyed{Name: "answer", Message: m, Turn: asked, Yes: yes}, func() inbox.Receipt {
		open := len(b.waits)
		b.waits = slices.DeleteFunc(b.waits, func(w Wait) bool { return w.Turn == asked })
		if len(b.waits) == open {
			return inbox.Receipt{Outcome: inbox.Obeyed, Told: "This is not open any more."}
		}
		text := "You said no."
		if yes {
			text = "You said yes."
		}
		b.put("thread", Message{
			ID: id.Message(id.From("out", m.Update)), Turn: id.Turn(id.From("turn", m.Update)),
			From: FromAgent, Text: text, Channel: "web", At: now, State: Delivered,
		})
		return inbox.Receipt{Outcome: inbox.Accepted, Turn: id.Turn(id.From("turn", m.Update))}
	})
}

// Clear begins a thread named after the command.
func (b *backend) Clear(_ context.Context, _ time.Time, m inbox.Message) (inbox.Receipt, error) {
	return b.obey(obeyed{Name: "clear", Message: m}, func() inbox.Receipt {
		if b.busy {
			return inbox.Receipt{Outcome: inbox.Refused, Told: stillWorking}
		}
		b.people[m.Sender] = Person{Owner: "owner", Thread: id.Thread(m.Update)}
		return inbox.Receipt{Outcome: inbox.Obeyed}
	})
}

func (b *backend) Waits(_ context.Context, thread id.Thread) ([]Wait, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if thread != "thread" {
		return nil, b.err
	}
	return slices.Clone(b.waits), b.err
}

// ask ends a turn of its own with a message that asks for something.
func (b *backend) ask(kind wait.Kind, text string) id.Turn {
	b.mu.Lock()
	defer b.mu.Unlock()
	turn, now := id.Turn(id.From("turn", text)), time.Now()
	b.waits = append(b.waits, Wait{Turn: turn, Kind: kind, Text: text, Asked: now})
	b.put("thread", Message{
		ID: id.Message(id.From("asks", text)), Turn: turn, From: FromAgent, Text: text, Channel: "web", At: now, State: Delivered,
	})
	return turn
}
