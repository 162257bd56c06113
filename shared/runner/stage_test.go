package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/reaper"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// stage is where a story plays: the stores, one owner with one chat, and workers by name.
type stage struct {
	*testing.T
	store   *tabletest.Fake
	blobs   *blobtest.Fake
	queue   *queuetest.Fake
	ids     *id.Source
	inbox   *inbox.Inbox
	ada     owner.Owner
	updates []string
	workers map[string]*worker
	turns   []id.Turn // in the order of accepting: u1, u2 …

	mu   sync.Mutex
	log  []string
	lose int // so many of the next wake-ups get lost
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{
		T: t, store: new(tabletest.Fake), blobs: new(blobtest.Fake), ids: new(id.Source),
		workers: map[string]*worker{},
	}
	s.queue = &queuetest.Fake{Fault: s.lost}
	book := &owner.Book{Table: s.store, IDs: s.ids}
	var err error
	if s.ada, err = book.Add(t.Context(), "Ada", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := book.Link(t.Context(), s.ada, "telegram-1", "7", time.Now()); err != nil {
		t.Fatal(err)
	}
	s.inbox = &inbox.Inbox{Table: s.store, Queue: s.queue, Book: book, IDs: s.ids}
	return s
}

// lost is what becomes of a wake-up that is sent: the next ones may get lost.
func (s *stage) lost(c queuetest.Call) queuetest.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Method != queuetest.Send || s.lose == 0 {
		return queuetest.None
	}
	s.lose--
	return queuetest.Dropped
}

// close lets everybody end.
func (s *stage) close() {
	for _, w := range s.workers {
		w.kill()
	}
	time.Sleep(time.Hour)
}

func (s *stage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// events returns what has been noted since it was asked last.
func (s *stage) events() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

func (s *stage) deliver(n int) {
	s.Helper()
	text := s.updates[n-1]
	r, err := s.inbox.Accept(s.Context(), time.Now(), inbox.Message{
		Update: fmt.Sprint(n), Sender: "7", Sent: time.Now(), Sequence: int64(n), Text: text,
		Route: channel.Route{Connection: "telegram-1", Conversation: "7"},
	})
	switch {
	case err != nil:
		s.note("refused: %v", err)
	case r.Outcome == inbox.Accepted:
		s.turns = append(s.turns, r.Turn)
		s.note("accepted as %s", s.name(r.Turn))
	case r.Outcome == inbox.Duplicate:
		s.note("known as %s", s.name(r.Turn))
	default:
		s.note("outcome %d", r.Outcome)
	}
}

// name is u1 for the first turn, and so on.
func (s *stage) name(t id.Turn) string {
	for i, known := range s.turns {
		if known == t {
			return fmt.Sprint("u", i+1)
		}
	}
	return ""
}

func (s *stage) take(name string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Millisecond)
	defer cancel()
	got, _ := s.queue.Receive(ctx, 1) // the context's end means that there is none
	if len(got) == 0 {
		s.note("nothing to take")
		return
	}
	w := s.worker(name)
	d := got[0]
	d.Lease = &gripped{w, d.Lease}
	go func() {
		verdict, err := w.runner.Handle(w.ctx, d)
		switch {
		case w.dead.Load():
		case err != nil:
			s.note("%s: fails: %v", name, err)
		case verdict == runner.GivenBack:
			s.note("%s: gives the wake-up back", name)
		default:
			_ = d.Lease.Done(context.WithoutCancel(w.ctx)) // if it is refused, it comes again and finds nothing to do
			s.note("%s: is done with the wake-up", name)
		}
	}()
}

func (s *stage) sweep() {
	s.Helper()
	desk := &turn.Desk{Table: s.store, IDs: s.ids, Holder: "reaper"}
	report, err := (&reaper.Reaper{Table: s.store, IDs: s.ids, Queue: s.queue, Desk: desk}).Sweep(s.Context(), time.Now())
	if err != nil {
		s.Fatal(err)
	}
	s.note("woken %d, sent %d, buried %d, dropped %d, running %d", report.Woken, report.Sent, report.Buried, report.Dropped, report.Running)
}

func (s *stage) show() {
	s.Helper()
	for i, u := range s.turns {
		item, err := s.store.Get(s.Context(), turn.HeadKey(u))
		if err != nil {
			s.Fatal(err)
		}
		var t turn.Turn
		if _, err := table.Decode(item, &t); err != nil {
			s.Fatal(err)
		}
		if t.ClosedBy != "" {
			s.note("u%d: taken by %s", i+1, s.name(t.ClosedBy))
			continue
		}
		s.note("u%d: %s", i+1, t.Status)
	}
	log, err := thread.After(s.Context(), s.store, s.ada.Thread, "", 100)
	if err != nil {
		s.Fatal(err)
	}
	for _, m := range log.Messages {
		s.note("%s", strings.TrimSpace(fmt.Sprintf("%s: %s  %s", m.From, short(m.Text), m.State)))
	}
}

// short is a text in one line, the notice of an interruption by its name.
func short(text string) string {
	if text == turn.InterruptedNotice {
		return "(I was interrupted …)"
	}
	return strings.ReplaceAll(text, "\n", "/")
}

// worker returns the worker of that name, a new one if there is none alive.
func (s *stage) worker(name string) *worker {
	if w := s.workers[name]; w != nil && !w.dead.Load() {
		return w
	}
	w := newWorker(s, name)
	store := &wire{w, s.store}
	w.runner = &runner.Runner{
		Desk: &turn.Desk{Table: store, IDs: s.ids, Holder: name},
		Agent: &agent.Agent{Model: w, Blobs: s.blobs, Tools: []tool.Tool{{
			Name: "hang", Limit: time.Hour, Run: func(ctx context.Context, _ tool.Call) (tool.Result, error) { return w.hang(ctx) },
		}}},
		Outbox: &outbox.Sender{
			Table: store, IDs: s.ids, Holder: name, Channel: func(string) (channel.Channel, bool) { return w, true },
		},
		Queue: s.queue,
		Note: func(_ context.Context, event string, t turn.Turn, _ error) {
			if !w.dead.Load() {
				s.note("%s", strings.TrimSpace(name+": "+event+" "+s.name(t.ID)))
			}
		},
	}
	s.workers[name] = w
	return w
}

// wire is a worker's way to the table.
type wire struct {
	worker *worker
	table.Table
}

func (t *wire) Get(ctx context.Context, key table.Key) (*table.Item, error) {
	if t.worker.dead.Load() {
		return nil, table.ErrRefused
	}
	return t.Table.Get(ctx, key)
}

func (t *wire) Scan(ctx context.Context, q table.Query) (table.Page, error) {
	if t.worker.dead.Load() {
		return table.Page{}, table.ErrRefused
	}
	return t.Table.Scan(ctx, q)
}

func (t *wire) Write(ctx context.Context, w table.Write) error {
	if !t.worker.pass(ctx, "writes") {
		return table.ErrRefused
	}
	return t.Table.Write(ctx, w)
}

// gripped is a worker's hold on a wake-up.
type gripped struct {
	worker *worker
	queue.Lease
}

func (l *gripped) Extend(ctx context.Context, d time.Duration) error {
	if l.worker.dead.Load() || l.worker.holds("extends") {
		return queue.ErrRefused
	}
	return l.Lease.Extend(ctx, d)
}

// Render makes a part of each line.
func (w *worker) Render(text string) (parts []channel.Part) {
	if text == turn.InterruptedNotice {
		return []channel.Part{{Plain: text}}
	}
	for line := range strings.SplitSeq(text, "\n") {
		parts = append(parts, channel.Part{Plain: line})
	}
	return parts
}

// Send lets the part arrive, then answers.
func (w *worker) Send(ctx context.Context, _ channel.Route, part channel.Part) (string, error) {
	if w.dead.Load() {
		return "", fault.As(fault.Unknown, errors.New("dead"))
	}
	w.stage.note("the owner hears from %s: %s", w.name, short(part.Plain))
	if !w.pass(ctx, "answers") {
		return "", fault.As(fault.Unknown, errors.New("no answer"))
	}
	return w.stage.ids.New(time.Now()), nil
}

// Info is the model's.
func (w *worker) Info() model.Info { return model.Info{Provider: "story"} }

// Stream waits until the story says what the model answers.
func (w *worker) Stream(ctx context.Context, req model.Request, _ func(model.Delta)) (model.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	w.stage.note("%s: asks its model: %s", w.name, heard(last))
	select {
	case <-ctx.Done():
		return model.Response{}, context.Cause(ctx)
	case s := <-w.model:
		return s.response(), nil
	}
}

// heard is what a message says beside its circumstances.
func heard(m model.Message) string {
	var all []string
	for _, b := range m.Blocks {
		switch {
		case b.Result != nil:
			all = append(all, "result: "+b.Result.Text)
		case strings.HasPrefix(b.Text, "[Your previous turn failed"):
			all = append(all, "(the turn before failed)")
		case !strings.HasPrefix(b.Text, "["):
			all = append(all, b.Text)
		}
	}
	return strings.Join(all, " | ")
}
