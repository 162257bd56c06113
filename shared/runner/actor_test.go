package runner_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bobbin-agent/bobbin/shared/runner"
)

// worker is one process of a story. It is its own model and channel.
type worker struct {
	stage  *stage
	name   string
	runner *runner.Runner
	ctx    context.Context //nolint:containedctx // a process has one
	cancel context.CancelFunc
	limit  time.Duration // of the wake-ups that it takes; 0 for none
	dead   atomic.Bool
	model  chan said
	tool   chan struct{}

	mu   sync.Mutex
	held string        // what hangs
	gate chan struct{} // closed when it goes on
}

func newWorker(s *stage, name string) *worker {
	w := &worker{stage: s, name: name, model: make(chan said), tool: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(s.Context()))
	return w
}

// hold makes calls of that kind hang from now on.
func (w *worker) hold(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held, w.gate = kind, make(chan struct{})
}

func (w *worker) holds(kind string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held == kind
}

// step lets what hangs go on, and the next call of its kind hang.
func (w *worker) step() {
	w.mu.Lock()
	kind := w.held
	w.mu.Unlock()
	w.release()
	w.hold(kind)
}

func (w *worker) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held != "" {
		w.held = ""
		close(w.gate)
	}
}

// kill ends the worker where it stands: nothing it does from now on has an effect.
func (w *worker) kill() {
	w.dead.Store(true)
	w.cancel()
	w.release()
}

// pass waits while calls of that kind hang, and reports whether they are made: if the worker lives and has not given up.
// What has been sent arrives even if it has given up.
func (w *worker) pass(ctx context.Context, kind string) bool {
	w.mu.Lock()
	held, gate := w.held, w.gate
	w.mu.Unlock()
	switch held {
	case "sent " + kind:
		<-gate
		return !w.dead.Load()
	case kind:
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	return !w.dead.Load() && ctx.Err() == nil
}

// invocation is the context in which the worker acts on a wake-up.
func (w *worker) invocation() (context.Context, context.CancelFunc) {
	if w.limit == 0 {
		return context.WithCancel(w.ctx)
	}
	return context.WithTimeout(w.ctx, w.limit)
}
