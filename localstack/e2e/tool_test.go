package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/tool"
)

// tools are what the model of the one process has beside Bobbin's own: "stuck", which hears of nothing until the world
// ends, and "pay", which wants to be confirmed.
type tools struct {
	called bell

	mu    sync.Mutex
	stuck int      // calls of stuck
	paid  []string // arguments of the calls of pay that were made
	end   chan struct{}
}

func newTools(t testing.TB) *tools {
	t.Helper()
	w := &tools{end: make(chan struct{})}
	t.Cleanup(func() { close(w.end) })
	return w
}

func (w *tools) all() []tool.Tool {
	anything := json.RawMessage(`{"type":"object"}`)
	return []tool.Tool{
		{Name: "stuck", Description: "Never answers.", Schema: anything, Limit: time.Hour, Run: w.runStuck},
		{
			Name: "pay", Description: "Pays.", Schema: anything, Run: w.runPay,
			Confirm: func(c tool.Call) string { return "Pay " + string(c.Arguments) + "?" },
		},
	}
}

func (w *tools) runStuck(context.Context, tool.Call) (tool.Result, error) {
	w.mu.Lock()
	w.stuck++
	w.mu.Unlock()
	w.called.ring()
	<-w.end
	return tool.Result{Text: "too late"}, nil
}

func (w *tools) runPay(_ context.Context, c tool.Call) (tool.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paid = append(w.paid, string(c.Arguments))
	return tool.Result{Text: "say paid"}, nil
}

// payments are the arguments of the calls of pay so far.
func (w *tools) payments() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.paid)
}

// waitStuck returns when stuck has been called.
func (w *tools) waitStuck(ctx context.Context, t testing.TB) {
	t.Helper()
	for {
		called := w.called.wait()
		w.mu.Lock()
		n := w.stuck
		w.mu.Unlock()
		if n > 0 {
			return
		}
		select {
		case <-called:
		case <-ctx.Done():
			t.Fatalf("waiting for the tool to be called: %v", ctx.Err())
		}
	}
}
