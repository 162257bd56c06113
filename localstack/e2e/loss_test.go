package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	book "github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// connection is the bot's, whose ID is that of telegramtest.Token.
var connection = telegram.Connection(123456789)

// forgetful is a queue that takes wake-ups and loses them.
type forgetful struct{}

func (forgetful) Send(context.Context, queue.Message) error { return nil }

// accepted is a turn that was stored at a time, by a process that died before it had sent the wake-up.
func (p *person) accepted(t testing.TB, records table.Table, then time.Time, text string) {
	t.Helper()
	ids, who := &id.Source{}, p.who()
	door := &inbox.Inbox{Table: records, Queue: forgetful{}, Book: &book.Book{Table: records, IDs: ids}, IDs: ids}
	receipt, err := door.Accept(p.ctx, then, inbox.Message{
		Update: t.Name() + who, Sender: who, Sent: then, Text: text,
		Route: channel.Route{Connection: connection, Conversation: who},
	})
	if err != nil || receipt.Outcome != inbox.Accepted {
		t.Fatalf("accepting: %+v, %v", receipt, err)
	}
}

func (p *person) thread(t testing.TB, records table.Table) id.Thread {
	t.Helper()
	who, err := (&book.Book{Table: records}).Identify(p.ctx, connection, p.who())
	if err != nil || who == nil {
		t.Fatalf("finding the person: %+v, %v", who, err)
	}
	return who.Thread
}

func turnWithoutWakeUpIsStarted(t testing.TB, w world) {
	p := owner(t, w)
	w.(stored).behind(t, func(records table.Table, _ blob.Blob) {
		p.accepted(t, records, time.Now().Add(-time.Minute), "say better late")
	})
	p.hears(t, "better late")
	p.heardAll(t)
}

// The turn was claimed by a worker that gave no sign of life any more, and whose wake-up is gone with it.
func deadWorkersTurnIsTold(t testing.TB, w world) {
	p := owner(t, w)
	w.(stored).behind(t, func(records table.Table, _ blob.Blob) {
		then := time.Now().Add(-time.Minute)
		p.accepted(t, records, then, "say nothing")
		in := p.thread(t, records)
		desk := turn.Desk{Table: records, IDs: &id.Source{}, Holder: "the dead"}
		view, err := desk.Look(p.ctx, id.Session(in), in)
		if err == nil {
			_, err = desk.Claim(p.ctx, view, then.Add(time.Second))
		}
		if err != nil {
			t.Fatalf("claiming: %v", err)
		}
	})
	p.hearsOf(t, interrupted)
	p.asks(t, "say on we go", "on we go")
	p.heardAll(t)
}

// A part of the transcript is gone: the conversation begins anew, and the model is told that it does.
func lostTranscriptIsSaid(t testing.TB, w world) {
	p := owner(t, w)
	p.say("my name is Ada")
	p.hearsOf(t, "Ada")
	w.(stored).behind(t, func(records table.Table, objects blob.Blob) {
		parts, err := objects.List(p.ctx, "session/"+string(p.thread(t, records))+"/", "") // the chat's session has the thread's ID
		if err != nil || len(parts.Objects) == 0 {
			t.Fatalf("listing the transcript: %d parts, %v", len(parts.Objects), err)
		}
		if err := objects.Delete(p.ctx, parts.Objects[0].Name); err != nil {
			t.Fatal(err)
		}
	})
	question := fmt.Sprintf("do you remember my name%d?", p.id)
	p.say(question)
	p.hearsOf(t, "You have not told me")
	if !noted(p.mind.wait(p.ctx, t, question, 1), prompt.Restarted) {
		t.Error("the model was not told that it starts without the conversation")
	}
	p.say("my name is Grace")
	p.hearsOf(t, "Grace")
	p.asks(t, "what is my name?", "Your name is Grace.")
	p.heardAll(t)
}

// noted reports whether the request has a text in it.
func noted(r model.Request, text string) bool {
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if strings.Contains(b.Text, text) {
				return true
			}
		}
	}
	return false
}
