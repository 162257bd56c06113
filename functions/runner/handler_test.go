package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// bench is a handler over stores in memory. It is the agent, too, which ends every turn at once and notes how long it
// was given, and the leases, whose calls it notes.
type bench struct {
	handler
	table tabletest.Fake
	queue queuetest.Fake
	desk  *turn.Desk
	inbox *inbox.Inbox

	mu      sync.Mutex
	worked  []string  // what the turns that ran said
	until   time.Time // the last one's deadline
	blobs   blobtest.Fake
	leases  map[string][]string // calls by receipt handle
	refused string              // the handle whose lease refuses to be extended
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{leases: map[string][]string{}}
	ids := &id.Source{}
	b.desk = &turn.Desk{Table: &b.table, IDs: ids, Holder: "this"}
	b.inbox = &inbox.Inbox{Table: &b.table, Queue: &b.queue, Book: &owner.Book{Table: &b.table, IDs: ids}, IDs: ids}
	b.handler = handler{
		runner: func() *runner.Runner { return &runner.Runner{Desk: b.desk, Agent: b, Queue: &b.queue} },
		lease:  func(handle string) queue.Lease { return &lease{b, handle} },
		log:    slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	return b
}

// Work is runner.Agent's.
func (b *bench) Work(ctx context.Context, run *turn.Run) (turn.Ending, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := run.Open(ctx, &b.blobs); err != nil {
		return turn.Ending{}, err
	}
	b.worked = append(b.worked, run.Input().Text)
	b.until, _ = ctx.Deadline()
	return turn.Ending{Status: turn.Succeeded, From: thread.Agent, Text: "yes"}, nil
}

// said makes an owner with one queued turn and returns the session, which has the thread's ID.
func (b *bench) said(t *testing.T, text string) string {
	t.Helper()
	now := time.Now()
	o, err := b.inbox.Book.Add(t.Context(), text, now)
	if err == nil {
		err = b.inbox.Book.Link(t.Context(), o, "web", text, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.inbox.Accept(t.Context(), now, inbox.Message{
		Update: text, Sender: text, Sent: now, Text: text,
		Route: channel.Route{Connection: "web", Conversation: string(o.Thread)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(o.Thread)
}

// claimed lets another worker, which is alive, hold the session's turn.
func (b *bench) claimed(t *testing.T, session string) {
	t.Helper()
	view, err := b.desk.Look(t.Context(), id.Session(session), id.Thread(session))
	if err == nil {
		_, err = b.desk.Claim(t.Context(), view, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
}

type lease struct {
	bench  *bench
	handle string
}

func (l *lease) note(call string) error {
	l.bench.mu.Lock()
	defer l.bench.mu.Unlock()
	l.bench.leases[l.handle] = append(l.bench.leases[l.handle], call)
	if l.handle == l.bench.refused {
		return queue.ErrLapsed
	}
	return nil
}

func (l *lease) Extend(context.Context, time.Duration) error   { return l.note("extend") }
func (l *lease) GiveBack(context.Context, time.Duration) error { return l.note("give back") }
func (l *lease) Done(context.Context) error                    { return l.note("done") }

// sample reads a real event of a FIFO queue's mapping, with sessions in place of s1 and s2.
func sample(t *testing.T, name string, sessions ...string) (e events.SQSEvent) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	text := string(body)
	for i, s := range sessions {
		text = strings.ReplaceAll(text, []string{"s1", "s2"}[i], s)
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// failures are the last digits of the messages that are to come again.
func failures(t *testing.T, b *bench, e events.SQSEvent) string {
	t.Helper()
	out, err := b.handle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range out.BatchItemFailures {
		all.WriteString(f.ItemIdentifier[len(f.ItemIdentifier)-1:])
	}
	return all.String()
}

func TestAWakeUpRunsItsTurnAndIsRemovedByTheMapping(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.said(t, "hello")
	if got := failures(t, b, sample(t, "wakeup.json", session)); got != "" {
		t.Errorf("message %s is to come again, want none", got)
	}
	if diff := cmp.Diff([]string{"hello"}, b.worked); diff != "" {
		t.Errorf("turns (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"handle-1": {"extend"}}, b.leases); diff != "" {
		t.Errorf("lease calls: its visibility is shortened, and nothing else (-want +got)\n%s", diff)
	}
}

// AWS takes null and no list for an empty one; ministack fails on null after the turn has run, and delivers again.
func TestSuccessIsAnEmptyListOfFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	out, err := b.handle(t.Context(), sample(t, "wakeup.json", b.said(t, "hello")))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := json.Marshal(out)
	if err != nil || string(answer) != `{"batchItemFailures":[]}` {
		t.Errorf("the answer is %s, error %v", answer, err)
	}
}

func TestAWakeUpThatMeetsALiveWorkerIsGivenBackWithAllBehindItInItsGroup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	busy, free := b.said(t, "busy"), b.said(t, "free")
	b.claimed(t, busy)
	if got := failures(t, b, sample(t, "batch.json", busy, free)); got != "13" {
		t.Errorf("messages %q are to come again, want 1, given back, and 3, which is behind it in its group", got)
	}
	if diff := cmp.Diff([]string{"free"}, b.worked); diff != "" {
		t.Errorf("turns of the other group (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"extend", "give back"}, b.leases["handle-1"]); diff != "" {
		t.Errorf("lease calls (-want +got)\n%s", diff)
	}
}

func TestAWakeUpThatCouldNotBeActedOnComesAgainWithItsGroup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := b.said(t, "first"), b.said(t, "second")
	b.refused = "handle-1"
	if got := failures(t, b, sample(t, "batch.json", first, second)); got != "13" {
		t.Errorf("messages %q are to come again, want 1, whose hold has lapsed, and 3 behind it", got)
	}
	if diff := cmp.Diff([]string{"second"}, b.worked); diff != "" {
		t.Errorf("turns (-want +got)\n%s", diff)
	}
}

func TestATurnEndsBeforeItsInvocationDoes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.said(t, "hello")
	limit := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), limit)
	defer cancel()
	if _, err := b.handle(ctx, sample(t, "wakeup.json", session)); err != nil {
		t.Fatal(err)
	}
	if left := limit.Sub(b.until); left != endEarly {
		t.Errorf("the turn may go on until %v before the end of the invocation, want %v", left, endEarly)
	}
}
