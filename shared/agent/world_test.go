package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

var noon = time.UnixMilli(1_900_000_000_000)

// world is one session with an agent whose model answers as told.
type world struct {
	*testing.T
	agent.Agent
	store    *tabletest.Fake
	blobs    *blobtest.Fake
	desk     *turn.Desk
	route    channel.Route
	said     int
	answers  []answer // of the next requests, one after the other; the last one again and again
	requests []model.Request
}

// answer is what the model does about a request.
type answer func(context.Context, func(model.Delta)) (model.Response, error)

func (w *world) Info() model.Info { return model.Info{Provider: "test", Name: "told"} }

func (w *world) Stream(ctx context.Context, req model.Request, show func(model.Delta)) (model.Response, error) {
	req.Messages = slices.Clone(req.Messages)
	w.requests = append(w.requests, req)
	next := w.answers[0]
	if len(w.answers) > 1 {
		w.answers = w.answers[1:]
	}
	return next(ctx, show)
}

func newWorld(t *testing.T, answers ...answer) *world {
	t.Helper()
	w := &world{T: t, store: new(tabletest.Fake), blobs: new(blobtest.Fake), route: channel.Route{Connection: channel.Web}, answers: answers}
	w.desk = &turn.Desk{Table: w.store, IDs: new(id.Source), Holder: "here"}
	w.Agent = agent.Agent{Model: w, Blobs: w.blobs, Tools: []tool.Tool{{
		Name: "echo",
		Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{Text: "heard " + string(c.Arguments)}, nil
		},
	}}}
	w.write(thread.Head{ID: "t", Owner: "o", Status: thread.Active}.Put())
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(ops ...table.Op) {
	w.Helper()
	w.must(w.store.Write(w.Context(), table.Write{ID: w.desk.IDs.New(noon), Ops: ops}))
}

// claim queues what the owner says and claims its turn.
func (w *world) claim(text string) *turn.Run {
	w.Helper()
	w.queue(w.Context(), text)
	return w.next()
}

// next claims the oldest queued turn, or goes on with the one that was handed over.
func (w *world) next() *turn.Run {
	w.Helper()
	view, err := w.desk.Look(w.Context(), "t", "t")
	w.must(err)
	begin := w.desk.Claim
	if view.Fence.Turn != "" {
		begin = w.desk.Continue
	}
	run, err := begin(w.Context(), view, noon)
	w.must(err)
	return run
}

// queue queues what the owner says.
func (w *world) queue(ctx context.Context, text string) {
	w.Helper()
	w.put(ctx, turn.Entry{Text: text})
}

// put queues a turn of the owner's, what the entry leaves out being as of an ordinary message.
func (w *world) put(ctx context.Context, e turn.Entry) {
	w.Helper()
	head, err := thread.Load(ctx, w.store, "t")
	w.must(err)
	w.said++
	t := turn.Turn{
		ID: id.Turn(fmt.Sprint("u", w.said)), Owner: "o", Thread: "t", Session: "t", Source: turn.User, Status: turn.Queued,
		Route: w.route, Created: noon, Order: turn.Order(noon, int64(w.said), 0), Generation: head.Generation,
		Continues: e.Turn.Continues,
	}
	if e.Resume != nil {
		t.Source = turn.Resume
	}
	m := thread.Message{
		ID: id.Message(fmt.Sprint("m", w.said)), At: noon.Add(time.Duration(w.said) * time.Microsecond), From: thread.Owner,
		Text: e.Text, Turn: t.ID,
	}
	t.Message = m.Key("t").Sort
	e.Turn, e.WakeAt = t, noon
	w.must(w.store.Write(ctx, table.Write{ID: w.desk.IDs.New(noon), Ops: append(e.Enqueue(), m.Put("t", table.Absent()))}))
}

// turn runs a turn of what the owner says to its end.
func (w *world) turn(text string) turn.Ending {
	w.Helper()
	return w.end(w.claim(text))
}

// end works on a turn and records its end.
func (w *world) end(run *turn.Run) turn.Ending {
	w.Helper()
	ending, err := w.Work(w.Context(), run)
	w.must(err)
	ending.At = noon
	w.must(run.End(w.Context(), ending))
	return ending
}

// stored is the turn as it stands in the table.
func (w *world) stored(t id.Turn) turn.Turn {
	w.Helper()
	found, _, err := w.desk.Find(w.Context(), t)
	w.must(err)
	return *found
}

// told is what the owner has been written in the thread.
func (w *world) told() (texts []string) {
	w.Helper()
	log, err := thread.After(w.Context(), w.store, "t", "", 100)
	w.must(err)
	for _, m := range log.Messages {
		if m.From != thread.Owner {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// stop ends all that has been sent, as its owner.
func (w *world) stop(ctx context.Context) {
	w.Helper()
	head, err := thread.Load(ctx, w.store, "t")
	w.must(err)
	head, raised := head.Raise(thread.Stop{Pressed: noon})
	s := turn.Stop{ID: "stop", Thread: "t", Raised: noon, Stop: raised}
	w.must(w.store.Write(ctx, table.Write{ID: w.desk.IDs.New(noon), Ops: append(s.Press(), head.Put())}))
	_, err = w.desk.Halt(ctx, "t", s.Record())
	w.must(err)
}

// bury ends the running turn as that of a dead worker.
func (w *world) bury(ctx context.Context) {
	w.Helper()
	view, err := w.desk.Look(ctx, "t", "t")
	w.must(err)
	_, err = w.desk.Bury(ctx, "t", view, noon)
	w.must(err)
}

func say(text string) answer {
	return func(context.Context, func(model.Delta)) (model.Response, error) {
		return model.Response{Blocks: []model.Block{{Text: text}}, Stop: model.StopEnd, Usage: model.Usage{Input: 2, Output: 1}}, nil
	}
}

func call(name string, arguments ...string) answer {
	return func(context.Context, func(model.Delta)) (model.Response, error) {
		r := model.Response{Stop: model.StopTools}
		for i, a := range arguments {
			c := &model.ToolCall{ID: fmt.Sprint("call-", i), Name: name, Arguments: json.RawMessage(a)}
			r.Blocks = append(r.Blocks, model.Block{Call: c})
		}
		return r, nil
	}
}

// remark is a call with words beside it.
func remark(text, name, arguments string) answer {
	return func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
		r, err := call(name, arguments)(ctx, show)
		r.Blocks = append([]model.Block{{Text: text}}, r.Blocks...)
		return r, err
	}
}

func fail(err error) answer {
	return func(context.Context, func(model.Delta)) (model.Response, error) { return model.Response{}, err }
}

// flat writes messages as lines, without the circumstances of a turn.
func flat(messages []model.Message) (lines []string) {
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch {
			case b.Call != nil:
				lines = append(lines, fmt.Sprintf("call %s %s", b.Call.Name, b.Call.Arguments))
			case b.Result != nil:
				lines = append(lines, fmt.Sprintf("result %s %s", b.Result.CallID, b.Result.Text))
			case !strings.HasPrefix(b.Text, "[Sun "):
				lines = append(lines, string(m.Role)+": "+b.Text)
			}
		}
	}
	return lines
}

// last is what the model was sent last.
func (w *world) last() []string { return flat(w.requests[len(w.requests)-1].Messages) }

func (w *world) read(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.last()); diff != "" {
		w.Errorf("the model reads: want (-), got (+):\n%s", diff)
	}
}
