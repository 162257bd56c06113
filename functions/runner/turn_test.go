package main

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// oneCall is a model that asks for one call of the tool "work" and then says what it is done with.
type oneCall struct{ asked int }

func (*oneCall) Info() model.Info { return model.Info{Provider: "test", Name: "one call"} }

func (m *oneCall) Stream(context.Context, model.Request, func(model.Delta)) (model.Response, error) {
	m.asked++
	if m.asked == 1 {
		call := &model.ToolCall{ID: "call", Name: "work", Arguments: []byte(`{}`)}
		return model.Response{Blocks: []model.Block{{Call: call}}, Stop: model.StopTools}, nil
	}
	return model.Response{Blocks: []model.Block{{Text: "done"}}, Stop: model.StopEnd}, nil
}

// with has real agents do the turns, with one tool. The process ends by noting the code.
func (b *bench) with(work tool.Tool) (m *oneCall, exits *[]int) {
	m, exits = &oneCall{}, new([]int)
	b.alive = &tool.Lingering{}
	b.exit = func(code int) { *exits = append(*exits, code) }
	a := &agent.Agent{Model: m, Tools: []tool.Tool{work}, Blobs: &b.blobs, Alive: b.alive}
	b.runner = func() *runner.Runner { return &runner.Runner{Desk: b.desk, Agent: a, Queue: &b.queue} }
	return m, exits
}

// invoke handles the event as an invocation that may take so long.
func (b *bench) invoke(t *testing.T, session string, limit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out, err := b.handle(ctx, sample(t, "wakeup.json", session))
	if err != nil || len(out.BatchItemFailures) > 0 {
		t.Errorf("%v are to come again, error %v; want none", out.BatchItemFailures, err)
	}
}

// turn reads the turn that a text made.
func (b *bench) turn(t *testing.T, text string) turn.Turn {
	t.Helper()
	found, _, err := b.desk.Find(t.Context(), id.Turn(id.From("turn", "web", text)))
	if err != nil || found == nil {
		t.Fatalf("the turn of %q is %v, error %v", text, found, err)
	}
	return *found
}

func TestATurnThatItsTimeIsTooShortForGoesOnInTheNextInvocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ran := 0
		m, exits := b.with(tool.Tool{
			Name: "work", Schema: []byte(`{"type":"object"}`), Limit: 10 * time.Minute,
			Run: func(context.Context, tool.Call) (tool.Result, error) {
				ran++
				return tool.Result{Text: "ok"}, nil
			},
		})
		session := b.said(t, "hello")
		b.invoke(t, session, time.Minute)
		if got := b.turn(t, "hello"); got.Status != turn.Running || m.asked != 1 || ran != 0 {
			t.Fatalf("after an invocation the turn is %s, the model was asked %d times, the tool ran %d times; want it handed over before the tool",
				got.Status, m.asked, ran)
		}
		b.invoke(t, session, 15*time.Minute)
		if got := b.turn(t, "hello"); got.Status != turn.Succeeded || got.Steps != 2 || m.asked != 2 || ran != 1 {
			t.Errorf("the turn is %s after %d steps, the model was asked %d times, the tool ran %d times", got.Status, got.Steps, m.asked, ran)
		}
		if len(*exits) > 0 {
			t.Errorf("the process ended with %v", *exits)
		}
	})
}

// Lambda freezes a process between invocations: what a stuck tool still does would be done in somebody else's turn.
func TestTheProcessEndsWithAToolThatOutlivesItsTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outlives time.Duration // the stop
		want     []int
	}{
		"a tool that is stuck":       {time.Hour, []int{1}},
		"a tool that ends in time":   {toolGrace - time.Millisecond, nil},
		"a tool that ends too late":  {toolGrace + 2*time.Second, []int{1}},
		"a tool that obeys the stop": {0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				_, exits := b.with(tool.Tool{
					Name: "work", Schema: []byte(`{"type":"object"}`),
					Run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
						<-ctx.Done()
						time.Sleep(c.outlives)
						return tool.Result{Text: "too late"}, nil
					},
				})
				session := b.said(t, "hello")
				time.AfterFunc(5*time.Second, func() { b.stop(t, session) })
				begun := time.Now()
				b.invoke(t, session, 15*time.Minute)
				if took := time.Since(begun); took > 5*time.Second+time.Second+toolGrace {
					t.Errorf("the invocation went on for %v", took-5*time.Second)
				}
				if !slices.Equal(*exits, c.want) {
					t.Errorf("the process ended with %v, want %v", *exits, c.want)
				}
				if got := b.turn(t, "hello").Status; got != turn.Cancelled {
					t.Errorf("the turn is %s", got)
				}
				b.alive.Settle(t.Context(), 2*c.outlives)
				synctest.Wait()
			})
		})
	}
}

// stop is the owner's, on the page.
func (b *bench) stop(t *testing.T, session string) {
	t.Helper()
	now := time.Now()
	_, err := b.inbox.Stop(t.Context(), now, inbox.Message{
		Update: "stop", Sender: "hello", Sent: now, Sequence: now.UnixMicro(),
		Route: channel.Route{Connection: "web", Conversation: session},
	})
	if err != nil {
		t.Error(err)
	}
}
