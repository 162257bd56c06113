package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/reaper"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// bench is a handler over stores in memory that hold a turn whose wake-up was lost a minute ago.
type bench struct {
	handler
	table tabletest.Fake
	queue queuetest.Fake
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b, ids := &bench{}, &id.Source{}
	b.handler = handler{
		reaper: &reaper.Reaper{Table: &b.table, IDs: ids, Queue: &b.queue, Desk: &turn.Desk{Table: &b.table, IDs: ids}},
		log:    slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	book, then := &owner.Book{Table: &b.table, IDs: ids}, time.Now().Add(-time.Minute)
	o, err := book.Add(t.Context(), "Alex", then)
	if err == nil {
		err = book.Link(t.Context(), o, "telegram-9", "42", then)
	}
	if err != nil {
		t.Fatal(err)
	}
	lost := &queuetest.Fake{Fault: func(queuetest.Call) queuetest.Fault { return queuetest.Dropped }}
	door := &inbox.Inbox{Table: &b.table, Queue: lost, Book: book, IDs: ids}
	_, err = door.Accept(t.Context(), then, inbox.Message{
		Update: "1", Sender: "42", Sent: then, Text: "hello",
		Route: channel.Route{Connection: "telegram-9", Conversation: "42"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sample(t *testing.T) json.RawMessage {
	t.Helper()
	event, err := os.ReadFile("testdata/schedule.json")
	if err != nil {
		t.Fatal(err)
	}
	return event
}

func TestTheMinuteSendsALostWakeUpAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.handle(t.Context(), sample(t)); err != nil {
		t.Fatal(err)
	}
	woken, err := b.queue.Receive(t.Context(), 1)
	if err != nil || len(woken) != 1 {
		t.Fatalf("%d wake-ups, error %v; want one", len(woken), err)
	}
}

func TestAMinuteThatCouldNotLookIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.table.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Fault{Kind: tabletest.Refused} }
	if err := b.handle(t.Context(), sample(t)); err == nil {
		t.Error("no error, so no alarm would see that nobody looks after what was left")
	}
}
