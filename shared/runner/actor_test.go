package runner_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/tool"
)

// worker is one process of a story. It is its own model and channel.
type worker struct {
	stage  *stage
	name   string
	runner *runner.Runner
	ctx    context.Context //nolint:containedctx // a process has one
	cancel context.CancelFunc
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

// pass waits while calls of that kind hang, and reports whether the worker lives to make it.
func (w *worker) pass(ctx context.Context, kind string) bool {
	w.mu.Lock()
	held, gate := w.held, w.gate
	w.mu.Unlock()
	if held == kind {
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	return !w.dead.Load() && ctx.Err() == nil
}

// hang is the tool: it notes that it began, and waits.
func (w *worker) hang(ctx context.Context) (tool.Result, error) {
	w.stage.note("%s: begins to use its tool", w.name)
	select {
	case <-w.tool:
		return tool.Result{Text: "used"}, nil
	case <-ctx.Done():
		return tool.Result{}, context.Cause(ctx)
	}
}

// said is what a story lets a model say.
type said struct {
	text string
	call bool
}

func (s said) response() model.Response {
	if s.call {
		call := &model.ToolCall{ID: "1", Name: "hang", Arguments: json.RawMessage(`{}`)}
		return model.Response{Blocks: []model.Block{{Call: call}}, Stop: model.StopTools}
	}
	return model.Response{Blocks: []model.Block{{Text: s.text}}, Stop: model.StopEnd}
}
