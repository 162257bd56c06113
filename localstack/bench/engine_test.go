package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

const connection = "telegram-1"

// engine is Bobbin without its doors: an inbox and a runner over some stores, with a model and a channel that take no
// time.
type engine struct {
	book   *owner.Book
	inbox  *inbox.Inbox
	runner *runner.Runner
	queue  queue.Receiver
	person int
	update atomic.Int64
}

// instant is a model that answers at once: with a call of the tool as long as the owner's message says so, then with a
// word.
type instant struct{ asked func() }

func (instant) Info() model.Info { return model.Info{Provider: "bench", Name: "instant"} }

func (m instant) Stream(_ context.Context, r model.Request, _ func(model.Delta)) (model.Response, error) {
	if m.asked != nil {
		m.asked()
	}
	last := r.Messages[len(r.Messages)-1].Blocks
	block := last[len(last)-1]
	if block.Text == "tool" {
		call := &model.ToolCall{ID: "call-1", Name: "nothing", Arguments: []byte("{}")}
		return model.Response{Blocks: []model.Block{{Call: call}}, Stop: model.StopTools}, nil
	}
	return model.Response{Blocks: []model.Block{{Text: "Done."}}, Stop: model.StopEnd}, nil
}

var nothing = tool.Tool{
	Name: "nothing", Schema: []byte(`{"type":"object"}`),
	Run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: "nothing"}, nil },
}

// silent is a channel that takes every message at once.
type silent struct{ sent func() }

func (silent) Render(s string) []channel.Part { return []channel.Part{{Plain: s}} }

func (c silent) Send(context.Context, channel.Route, channel.Part) (string, error) {
	if c.sent != nil {
		c.sent()
	}
	return id.From("sent", time.Now().String()), nil
}

func newEngine(t table.Table, b blob.Blob, q interface {
	queue.Sender
	queue.Receiver
}, m instant, c silent,
) *engine {
	ids := &id.Source{}
	book := &owner.Book{Table: t, IDs: ids}
	return &engine{
		book:  book,
		inbox: &inbox.Inbox{Table: t, Queue: q, Book: book, IDs: ids},
		runner: &runner.Runner{
			Desk:  &turn.Desk{Table: t, IDs: ids, Holder: "bench"},
			Agent: &agent.Agent{Model: m, Tools: []tool.Tool{nothing}, Blobs: b},
			Outbox: &outbox.Sender{
				Table: t, IDs: ids, Holder: "bench",
				Channel: func(string) (channel.Channel, bool) { return c, true },
			},
			Queue: q,
		},
		queue: q,
	}
}

// pair adds an owner and returns the sender who is theirs.
func (e *engine) pair(tb testing.TB) string {
	tb.Helper()
	now := time.Now()
	o, err := e.book.Add(tb.Context(), "bench", now)
	if err != nil {
		tb.Fatal(err)
	}
	e.person++
	sender := fmt.Sprint(e.person)
	if err := e.book.Link(tb.Context(), o, connection, sender, now); err != nil {
		tb.Fatal(err)
	}
	return sender
}

func (e *engine) accept(tb testing.TB, sender, text string) {
	tb.Helper()
	update, now := e.update.Add(1), time.Now()
	receipt, err := e.inbox.Accept(tb.Context(), now, inbox.Message{
		Update: fmt.Sprint(update), Sender: sender, ExternalID: fmt.Sprint(update), Sent: now, Sequence: update,
		Text: text, Route: channel.Route{Connection: connection, Conversation: sender},
	})
	if err != nil || receipt.Outcome != inbox.Accepted {
		tb.Errorf("accepting: outcome %d, %v", receipt.Outcome, err)
	}
}

// handle takes one wake-up and acts on it.
func (e *engine) handle(tb testing.TB) {
	tb.Helper()
	wakeups, err := e.queue.Receive(tb.Context(), 1)
	if err != nil || len(wakeups) != 1 {
		tb.Fatalf("receiving: %d wake-ups, %v", len(wakeups), err)
	}
	verdict, err := e.runner.Handle(tb.Context(), wakeups[0])
	if err != nil || verdict != runner.Done {
		tb.Fatalf("handling: verdict %d, %v", verdict, err)
	}
	if err := wakeups[0].Lease.Done(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}
