package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/reaper"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// stage is where a story plays: the stores, one owner with a chat or more, and workers by name.
type stage struct {
	*testing.T
	store   *tabletest.Fake
	blobs   *blobtest.Fake
	queue   *queuetest.Fake
	ids     *id.Source
	book    *owner.Book
	ada     owner.Owner
	rules   inbox.Rules
	permits int
	door    door
	workers map[string]*worker

	mu    sync.Mutex
	turns []id.Turn // in the order of accepting: u1, u2 …
	log   []string
	lose  int             // so many of the next wake-ups get lost
	heard []channel.Route // where each part that the owner has heard arrived; its place, from 1, is its ID
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{
		T: t, store: new(tabletest.Fake), blobs: new(blobtest.Fake), ids: new(id.Source),
		workers: map[string]*worker{},
	}
	s.queue = &queuetest.Fake{Fault: s.lost}
	s.book = &owner.Book{Table: s.store, IDs: s.ids}
	var err error
	if s.ada, err = s.book.Add(t.Context(), "Ada", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.book.Link(t.Context(), s.ada, "telegram-1", "7", time.Now()); err != nil {
		t.Fatal(err)
	}
	s.door.open(s)
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

// call gives a turn its name.
func (s *stage) call(t id.Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, t)
}

// name is u1 for the first turn, and so on.
func (s *stage) name(t id.Turn) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, known := range s.turns {
		if known == t {
			return fmt.Sprint("u", i+1)
		}
	}
	return ""
}

func (s *stage) take(name string) {
	s.Helper()
	soon, cancel := context.WithTimeout(s.Context(), time.Millisecond)
	got, _ := s.queue.Receive(soon, 1) // the context's end means that there is none
	cancel()
	if len(got) == 0 {
		s.note("nothing to take")
		return
	}
	w := s.worker(name)
	d := got[0]
	d.Lease = &gripped{w, d.Lease}
	ctx, cancel := w.invocation()
	go func() {
		defer cancel()
		verdict, err := w.runner.Handle(ctx, d)
		switch {
		case w.dead.Load():
		case err != nil:
			s.note("%s: fails: %v", name, err)
		case verdict == runner.GivenBack:
			s.note("%s: gives the wake-up back", name)
		default:
			_ = d.Lease.Done(context.WithoutCancel(ctx)) // if it is refused, it comes again and finds nothing to do
			s.note("%s: is done with the wake-up", name)
		}
	}()
}

func (s *stage) desk(holder string) *turn.Desk {
	return &turn.Desk{Table: s.store, IDs: s.ids, Holder: holder, Permits: s.permits}
}

func (s *stage) sweep() {
	s.Helper()
	report, err := (&reaper.Reaper{Table: s.store, IDs: s.ids, Queue: s.queue, Desk: s.desk("reaper")}).Sweep(s.Context(), time.Now())
	if err != nil {
		s.Fatal(err)
	}
	did := ""
	for _, c := range []struct {
		what string
		n    int
	}{
		{"woken", report.Woken},
		{"sent", report.Sent},
		{"buried", report.Buried},
		{"stopped", report.Stopped},
		{"dropped", report.Dropped},
		{"failed", report.Failed},
		{"running", report.Running},
	} {
		if c.n > 0 {
			did += fmt.Sprintf(", %s %d", c.what, c.n)
		}
	}
	s.note("the reaper looks%s", did)
}

// show notes the turns, and the conversation.
func (s *stage) show() {
	s.Helper()
	for i, u := range s.turns {
		t, _, err := s.desk("").Find(s.Context(), u)
		if err != nil {
			s.Fatal(err)
		}
		switch {
		case t.ClosedBy != "":
			s.note("u%d: taken by %s", i+1, s.name(t.ClosedBy))
		case t.Continues != "":
			s.note("u%d: %s, goes on from %s", i+1, t.Status, s.name(t.Continues))
		default:
			s.note("u%d: %s", i+1, t.Status)
		}
	}
	log, err := thread.After(s.Context(), s.store, s.thread(), "", 100)
	if err != nil {
		s.Fatal(err)
	}
	for _, m := range log.Messages {
		s.note("%s", strings.TrimSpace(fmt.Sprintf("%s: %s  %s", m.From, short(m.Text), m.State)))
	}
}

// thread is the owner's active one.
func (s *stage) thread() id.Thread {
	s.Helper()
	active, err := s.book.ActiveThread(s.Context(), s.ada.ID)
	if err != nil {
		s.Fatal(err)
	}
	return active
}

// open notes what is waited for.
func (s *stage) open() {
	s.Helper()
	all, err := wait.Open(s.Context(), s.store, s.thread(), "")
	if err != nil {
		s.Fatal(err)
	}
	var lines []string
	for _, w := range all {
		lines = append(lines, fmt.Sprintf("%s waits: %s", s.name(w.Turn), short(w.Text)))
	}
	slices.Sort(lines)
	for _, line := range lines {
		s.note("%s", line)
	}
	if len(all) == 0 {
		s.note("nothing is waited for")
	}
}

// line notes who holds the permits and who waits for one.
func (s *stage) line() {
	s.Helper()
	room, err := capacity.Load(s.Context(), s.store, s.permits)
	if err != nil {
		s.Fatal(err)
	}
	for _, slot := range room.Slots {
		s.note("permit %d: %s", slot.Number, s.name(slot.Turn))
	}
	for _, w := range room.Waiters {
		s.note("in line: %s", s.name(w.Turn))
	}
	if len(room.Slots)+len(room.Waiters) == 0 {
		s.note("all permits are free")
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
	desk := s.desk(name)
	desk.Table = &wire{w, s.store}
	w.runner = &runner.Runner{
		Desk: desk,
		Outbox: &outbox.Sender{
			Table: desk.Table, IDs: s.ids, Holder: name, Channel: func(string) (channel.Channel, bool) { return w, true },
		},
		Queue: s.queue,
		Note: func(_ context.Context, event string, t turn.Turn, _ error) {
			if !w.dead.Load() {
				s.note("%s", strings.TrimSpace(name+": "+event+" "+s.name(t.ID)))
			}
		},
	}
	w.runner.Agent = &agent.Agent{Model: w, Blobs: s.blobs, Tools: w.tools(), Posted: w.runner.Post}
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
