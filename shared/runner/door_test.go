package runner_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// door is where the owner's updates come in.
type door struct {
	*stage
	inbox   *inbox.Inbox
	chat    string // in which the owner writes
	updates []update
	left    int  // so many writes until its process dies; 0 for ever
	dead    bool // its process has died
}

// update is what the channel delivers: a message, or a press of a button on one.
type update struct {
	act     string // "" for a message
	turn    string // with an act that is about a turn
	message inbox.Message
}

// open puts a process there that remembers nothing.
func (d *door) open(s *stage) {
	if d.chat == "" {
		d.chat = "7"
	}
	d.stage, d.left, d.dead = s, 0, false
	d.inbox = &inbox.Inbox{
		Table: &threshold{d, s.store}, Queue: s.queue, Book: s.book, IDs: s.ids, Rules: func(string) inbox.Rules { return s.rules },
	}
}

// threshold is the door's way to the table.
type threshold struct {
	door *door
	table.Table
}

func (t *threshold) Write(ctx context.Context, w table.Write) error {
	if t.door.left > 0 {
		t.door.left--
		t.door.dead = t.door.left == 0
	}
	if t.door.dead {
		return table.ErrRefused
	}
	return t.Table.Write(ctx, w)
}

// send has the owner send something, which is not delivered yet, and returns its number.
func (d *door) send(act, turn, text, reply string) int {
	n := len(d.updates) + 1
	d.updates = append(d.updates, update{act, turn, inbox.Message{
		Update: fmt.Sprint(n), Sender: "7", Sent: time.Now(), Sequence: int64(n), Text: text, Reply: reply, ExternalID: fmt.Sprint("own", n),
		Route: channel.Route{Connection: "telegram-1", Conversation: d.chat},
	}})
	return n
}

// deliver has the channel deliver the owner's nth update.
func (d *door) deliver(n int) {
	d.Helper()
	if n < 1 || n > len(d.updates) {
		d.Fatalf("there is no update %d", n)
	}
	r, err := d.take(d.updates[n-1])
	switch {
	case d.dead:
		d.note("the door's process dies")
		d.open(d.stage)
	case err != nil:
		d.note("not accepted")
	case r.Outcome == inbox.Accepted:
		d.call(r.Turn)
		d.note("accepted as %s", d.name(r.Turn))
	case r.Outcome == inbox.Duplicate && d.name(r.Turn) != "":
		d.note("known as %s", d.name(r.Turn))
	case r.Outcome == inbox.Duplicate:
		d.note("known")
	case r.Outcome == inbox.Refused:
		d.note("refused: %s", r.Told)
	case r.Outcome == inbox.Obeyed:
		d.note("%s", strings.TrimSpace("obeyed "+r.Told))
	default:
		d.note("outcome %d", r.Outcome)
	}
}

func (d *door) take(u update) (inbox.Receipt, error) {
	d.Helper()
	ctx, now, m := d.Context(), time.Now(), u.message
	switch u.act {
	case "":
		return d.inbox.Accept(ctx, now, m)
	case "stop":
		return d.inbox.Stop(ctx, now, m)
	case "withdraw":
		return d.inbox.Cancel(ctx, now, m, d.find(u.turn))
	case "yes", "no":
		return d.inbox.Answer(ctx, now, m, d.find(u.turn), u.act == "yes")
	case "clear":
		return d.inbox.Clear(ctx, now, m)
	}
	d.Fatalf("the owner can't %s", u.act)
	return inbox.Receipt{}, nil
}

// find is the turn of a name.
func (s *stage) find(name string) id.Turn {
	s.Helper()
	for _, t := range s.turns {
		if s.name(t) == name {
			return t
		}
	}
	s.Fatalf("there is no turn %s", name)
	return ""
}
