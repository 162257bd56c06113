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

// instant is a model that answers at once: with a call of a tool as long as the owner's message names one, then with a
// word. "hang" it never answers.
type instant struct {
	asked func(text string) // told of each request, with the newest text or result
}

func (instant) Info() model.Info { return model.Info{Provider: "bench", Name: "instant"} }

func (m instant) Stream(ctx context.Context, r model.Request, _ func(model.Delta)) (model.Response, error) {
	last := r.Messages[len(r.Messages)-1].Blocks
	text := last[len(last)-1].Text
	if m.asked != nil {
		m.asked(text)
	}
	switch text {
	case "hang":
		<-ctx.Done()
		return model.Response{}, ctx.Err()
	case nothing.Name, payment.Name:
		call := &model.ToolCall{ID: "call-1", Name: text, Arguments: []byte("{}")}
		return model.Response{Blocks: []model.Block{{Call: call}}, Stop: model.StopTools}, nil
	}
	return model.Response{Blocks: []model.Block{{Text: "Done."}}, Stop: model.StopEnd}, nil
}

// The tools: one that does nothing, and one that does so once its owner agrees.
var (
	nothing = tool.Tool{Name: "tool", Schema: []byte(`{"type":"object"}`), Run: idle}
	payment = tool.Tool{
		Name: "pay", Schema: []byte(`{"type":"object"}`), Run: idle, Confirm: func(tool.Call) string { return "Pay?" },
	}
)

func idle(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: "nothing"}, nil }

// permits is more turns than any measurement runs at once: each pays for its permit, and none waits for one.
const permits = 1000

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
			Desk:  &turn.Desk{Table: t, IDs: ids, Holder: "bench", Permits: permits},
			Agent: &agent.Agent{Model: m, Tools: []tool.Tool{nothing, payment}, Blobs: b},
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
	receipt, err := e.inbox.Accept(tb.Context(), time.Now(), e.message(sender, text))
	if err != nil || receipt.Outcome != inbox.Accepted {
		tb.Errorf("accepting: outcome %d, %v", receipt.Outcome, err)
	}
}

// message is the sender's next one.
func (e *engine) message(sender, text string) inbox.Message {
	update := e.update.Add(1)
	return inbox.Message{
		Update: fmt.Sprint(update), Sender: sender, ExternalID: fmt.Sprint(update), Sent: time.Now(), Sequence: update,
		Text: text, Route: channel.Route{Connection: connection, Conversation: sender},
	}
}

// handle takes one wake-up and acts on it.
func (e *engine) handle(tb testing.TB) {
	tb.Helper()
	e.handleWithin(tb.Context(), tb)
}

// handleWithin is handle for a worker that has no more time than the context.
func (e *engine) handleWithin(ctx context.Context, tb testing.TB) {
	tb.Helper()
	wakeups, err := e.queue.Receive(ctx, 1)
	if err != nil || len(wakeups) != 1 {
		tb.Fatalf("receiving: %d wake-ups, %v", len(wakeups), err)
	}
	verdict, err := e.runner.Handle(ctx, wakeups[0])
	if err != nil || verdict != runner.Done {
		tb.Fatalf("handling: verdict %d, %v", verdict, err)
	}
	if err := wakeups[0].Lease.Done(context.WithoutCancel(ctx)); err != nil {
		tb.Fatal(err)
	}
}
