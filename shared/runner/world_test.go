package runner_test

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/live"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// world is one session on one channel, with a runner whose agent does as it is told. It runs in fake time.
type world struct {
	*testing.T
	*runner.Runner
	store *tabletest.Fake
	blobs *blobtest.Fake
	work  func(context.Context, *turn.Run) (turn.Ending, error)
	said  int
	under sync.WaitGroup // what is handled beside the test

	mu      sync.Mutex
	arrived []string
	answer  error // of the channel
	woken   []queue.Message
	refuse  bool // the queue refuses what is sent
	notes   []string
	events  []live.Event
}

// bubble runs a test in fake time; what the agent does when nothing else is set is to answer "ok".
func bubble(t *testing.T, do func(*world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, store: new(tabletest.Fake), blobs: new(blobtest.Fake), work: reply("ok")}
		ids := new(id.Source)
		w.Runner = &runner.Runner{
			Desk: &turn.Desk{Table: w.store, IDs: ids, Holder: "here"}, Agent: w,
			Outbox: &outbox.Sender{
				Table: w.store, IDs: ids, Holder: "here",
				Channel: func(string) (channel.Channel, bool) { return w, true },
			},
			Queue: &queuetest.Fake{Fault: w.send},
			Show: func(_ turn.Turn, e live.Event) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.events = append(w.events, e)
			},
			Note: func(_ context.Context, event string, _ turn.Turn, _ error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.notes = append(w.notes, event)
			},
		}
		w.write(thread.Head{ID: "t", Owner: "o", Status: thread.Active}.Put())
		do(w)
	})
}

func (w *world) send(c queuetest.Call) queuetest.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse {
		return queuetest.Refused
	}
	w.woken = append(w.woken, c.Message)
	return queuetest.None
}

func reply(text string) func(context.Context, *turn.Run) (turn.Ending, error) {
	return func(context.Context, *turn.Run) (turn.Ending, error) {
		return turn.Ending{Status: turn.Succeeded, Text: text, From: thread.Agent}, nil
	}
}

// Work is the agent's.
func (w *world) Work(ctx context.Context, run *turn.Run) (turn.Ending, error) {
	if err := run.Open(ctx, w.blobs); err != nil {
		return turn.Ending{}, err
	}
	return w.work(ctx, run)
}

// Render and Send are the channel's.
func (w *world) Render(text string) []channel.Part { return []channel.Part{{Plain: text}} }

func (w *world) Send(_ context.Context, _ channel.Route, part channel.Part) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answer != nil {
		return "", w.answer
	}
	w.arrived = append(w.arrived, part.Plain)
	return fmt.Sprint(len(w.arrived)), nil
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(ops ...table.Op) {
	w.Helper()
	w.must(w.store.Write(w.Context(), table.Write{ID: w.Desk.IDs.New(time.Now()), Ops: ops}))
}

// say queues a message of the owner.
func (w *world) say(text string) id.Turn {
	w.Helper()
	return w.put("t", turn.Entry{Text: text})
}

// put queues a turn in a session, what the entry leaves out being as of an ordinary message.
func (w *world) put(in id.Session, e turn.Entry) id.Turn {
	w.Helper()
	w.said++
	e.Turn = turn.Turn{
		ID: id.Turn(fmt.Sprint("u", w.said)), Owner: "o", Thread: "t", Session: in, Source: cmp.Or(e.Turn.Source, turn.User),
		Status: turn.Queued, Route: channel.Route{Connection: "telegram-1", Conversation: "7"}, Created: time.Now(),
		Order: turn.Order(time.Now(), int64(w.said), 0), Generation: w.head(w.Context()).Generation,
	}
	e.WakeAt = time.Now()
	w.write(e.Enqueue()...)
	return e.Turn.ID
}

func (w *world) head(ctx context.Context) thread.Head {
	w.Helper()
	head, err := thread.Load(ctx, w.store, "t")
	w.must(err)
	return head
}

// press begins a stop of all that has been sent, and returns it; nothing has ended yet.
func (w *world) press(ctx context.Context) turn.Stop {
	w.Helper()
	head, raised := w.head(ctx).Raise(thread.Stop{Pressed: time.Now()})
	s := turn.Stop{ID: "stop", Thread: "t", Raised: time.Now(), Stop: raised}
	w.must(w.store.Write(ctx, table.Write{ID: w.Desk.IDs.New(time.Now()), Ops: append(s.Press(), head.Put())}))
	return s
}

// stop presses one and carries it out.
func (w *world) stop(ctx context.Context) {
	w.Helper()
	_, err := w.Desk.Halt(ctx, "t", w.press(ctx).Record())
	w.must(err)
}

// held is the hold on a wake-up; it writes down what is done with it, and when.
type held struct {
	begun time.Time
	mu    sync.Mutex
	acts  []string
	err   error // of every act
}

func (h *held) act(format string, args ...any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acts = append(h.acts, fmt.Sprintf("%v: ", time.Since(h.begun))+fmt.Sprintf(format, args...))
	return h.err
}

func (h *held) Extend(_ context.Context, d time.Duration) error   { return h.act("extend %v", d) }
func (h *held) GiveBack(_ context.Context, d time.Duration) error { return h.act("give back %v", d) }
func (h *held) Done(context.Context) error                        { return h.act("done") }

func (w *world) handle(up wake.Up, receives int) (runner.Verdict, *held, error) {
	return w.handleWithin(w.Context(), up, receives)
}

func (w *world) handleWithin(ctx context.Context, up wake.Up, receives int) (runner.Verdict, *held, error) {
	h := &held{begun: time.Now()}
	verdict, err := w.Handle(ctx, queue.Delivery{Message: up.Message("test"), Receives: receives, Lease: h})
	return verdict, h, err
}

var session = wake.Session("t", "t")

// run handles a first wake-up of the session, which must be done with.
func (w *world) run() *held {
	w.Helper()
	verdict, h, err := w.handle(session, 1)
	if err != nil || verdict != runner.Done {
		w.Fatalf("got %d, %v; want the wake-up done", verdict, err)
	}
	return h
}

func (w *world) turn(t id.Turn) turn.Turn {
	w.Helper()
	item, err := w.store.Get(w.Context(), turn.HeadKey(t))
	w.must(err)
	var out turn.Turn
	_, err = table.Decode(item, &out)
	w.must(err)
	return out
}

func (w *world) heard(want ...string) {
	w.Helper()
	if diff := gocmp.Diff(want, w.arrived); diff != "" {
		w.Errorf("the owner heard: want (-), got (+):\n%s", diff)
	}
}
