package turn_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// sayOnPage queues a message of the owner on the page.
func (w *world) sayOnPage(text string) id.Turn {
	w.Helper()
	w.said++
	r, err := w.inbox.Accept(w.Context(), noon.Add(time.Duration(w.said)*time.Millisecond), inbox.Message{
		Update: fmt.Sprint(w.said), Sender: "7", Sent: noon, Sequence: int64(w.said), Text: text,
		Route: channel.Route{Connection: channel.Web, Conversation: string(w.in)},
	})
	w.must(err)
	return r.Turn
}

// steer saves a step of the run and takes what is queued; it returns the texts.
func (w *world) steer(run *turn.Run) (texts []string, err error) {
	run.Log().Append(transcript.Entry{Kind: transcript.Results, Turn: run.Turn().ID, Blocks: []model.Block{{Text: "result"}}})
	taken, err := run.Steer(w.Context(), noon, func(e turn.Entry) []model.Block { return []model.Block{{Text: e.Text}} })
	for _, e := range taken {
		texts = append(texts, e.Text)
	}
	return texts, err
}

// saved are the texts of the session's transcript as stored.
func (w *world) saved() (texts []string) {
	w.Helper()
	item, err := w.store.Get(w.Context(), turn.SessionKey(w.session))
	w.must(err)
	var head turn.Head
	_, err = table.Decode(item, &head)
	w.must(err)
	log, err := transcript.Load(w.Context(), w.blobs, w.session, head.Manifest)
	w.must(err)
	for _, e := range log.Entries() {
		for _, b := range e.Blocks {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// queued are the entries of the session's queue.
func (w *world) queued() (entries []turn.Entry) {
	w.Helper()
	page, err := w.store.Scan(w.Context(), table.Query{Partition: turn.SessionPartition(w.session), Prefix: turn.QueuePrefix})
	w.must(err)
	for i := range page.Items {
		var e turn.Entry
		e.Revision, err = table.Decode(&page.Items[i], &e)
		w.must(err)
		entries = append(entries, e)
	}
	return entries
}

func (w *world) queuedTexts() (texts []string) {
	w.Helper()
	for _, e := range w.queued() {
		texts = append(texts, e.Text)
	}
	return texts
}

// withdraw cancels a queued message.
func (w *world) withdraw(e turn.Entry) {
	w.Helper()
	w.must(w.store.Write(w.Context(), table.Write{ID: w.ids.New(noon), Ops: turn.Cancel(noon, e)}))
}

// edit changes a queued message in its place.
func (w *world) edit(e turn.Entry, text string) {
	w.Helper()
	e.Text = text
	w.must(w.store.Write(w.Context(), table.Write{ID: w.ids.New(noon), Ops: []table.Op{
		table.Put(e.Key(), table.Encode(e), table.At(e.Revision)), e.Turn.Put(table.At(e.Revision)),
	}}))
}

// beforeWrite has something happen once, just before the next write of a kind.
func (w *world) beforeWrite(is func(table.Write) bool, do func()) {
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		if c.Method == tabletest.MethodWrite && is(c.Write) && do != nil {
			now := do
			do = nil
			now()
		}
		return w.fault(c)
	}
}

// beforeTake has something happen just before the next write that takes messages.
func (w *world) beforeTake(do func()) { w.beforeWrite(takes, do) }

func takes(write table.Write) bool {
	return write.Ops[0].Key.Sort == "head" && slices.ContainsFunc(write.Ops, func(op table.Op) bool {
		return op.Kind == table.OpDelete && strings.HasPrefix(op.Key.Sort, turn.QueuePrefix)
	})
}

// expect compares what was taken, is saved and is queued.
func (w *world) expect(taken, gotTaken, saved, queued []string) {
	w.Helper()
	if diff := cmp.Diff(taken, gotTaken); diff != "" {
		w.Errorf("taken: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff(saved, w.saved()); diff != "" {
		w.Errorf("saved: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff(queued, w.queuedTexts()); diff != "" {
		w.Errorf("queued: want (-), got (+):\n%s", diff)
	}
}

func TestAStepAfterWhichNothingIsQueuedIsSaved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	taken, err := w.steer(run)
	w.must(err)
	w.expect(nil, taken, []string{"result"}, nil)
	w.must(run.End(t.Context(), done("ok")))
}

func TestWhatIsTakenIsSavedInOrderAndItsTurnsAreClosedByTheRunningOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	said := []id.Turn{w.say("one"), w.say("two")}
	taken, err := w.steer(run)
	w.must(err)
	w.expect([]string{"one", "two"}, taken, []string{"result", "one", "two"}, nil)
	for _, u := range said {
		if got := w.status(u); got.Status != turn.Cancelled || got.ClosedBy != run.Turn().ID || got.Ended.IsZero() {
			t.Errorf("%s is %+v", u, got)
		}
	}
	if diff := cmp.Diff([]string{"lease", "lease", "run"}, slices.Sorted(slices.Values(w.left()))); diff != "" {
		t.Errorf("left: want (-), got (+):\n%s", diff)
	}
	again, err := w.steer(run)
	w.must(err)
	w.expect(nil, again, []string{"result", "one", "two", "result"}, nil)
	w.must(run.End(t.Context(), done("both")))
	if diff := cmp.Diff([]string{"both"}, w.told()); diff != "" || len(w.left()) != 0 {
		t.Errorf("left %v; told: want (-), got (+):\n%s", w.left(), diff)
	}
}

// The clock of whoever accepts may be ahead of the worker's.
func TestTheReplyStandsAfterAllMessagesThatItAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	w.said += 5000 // the next message is accepted five seconds later
	w.say("from the future")
	if _, err := w.steer(run); err != nil {
		t.Fatal(err)
	}
	w.must(run.Abandon(t.Context(), done("past"))) // which reads the session's head again
	log, err := thread.After(t.Context(), w.store, w.in, "", 100)
	w.must(err)
	if last := log.Messages[len(log.Messages)-1]; last.Text != "past" {
		t.Errorf("last in the conversation is %q", last.Text)
	}
}

func TestAMessageOfAnotherChannelStopsTheTake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, err := w.inbox.Book.Identify(t.Context(), bot, "7")
	w.must(err)
	w.must(w.inbox.Book.Link(t.Context(), owner.Owner{ID: ada.Owner, Thread: w.in}, channel.Web, "7", noon))
	run := w.claim(w.a, noon)
	w.say("one")
	w.sayOnPage("page")
	w.say("two")
	taken, err := w.steer(run)
	w.must(err)
	w.expect([]string{"one"}, taken, []string{"result", "one"}, []string{"page", "two"})
	again, err := w.steer(run)
	w.must(err)
	w.expect(nil, again, []string{"result", "one", "result"}, []string{"page", "two"})
	w.must(run.End(t.Context(), done("ok")))
	if got := w.claimNext(w.b, noon).Input().Text; got != "page" {
		t.Errorf("next runs %q", got)
	}
}

func TestMoreMessagesThanAWriteHoldsAreTakenInSeveral(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	var want []string
	for i := range turn.MaxQueued { // one write takes 15
		want = append(want, fmt.Sprint(i))
		w.say(want[i])
	}
	taken, err := w.steer(run)
	w.must(err)
	w.expect(want, taken, append([]string{"result"}, want...), nil)
}

func TestATakeThatRacesLooksAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(*world, []turn.Entry)
		taken     []string
		queued    []string
	}{
		"the oldest was withdrawn": {func(w *world, q []turn.Entry) { w.withdraw(q[0]) }, []string{"two"}, nil},
		"the newest was withdrawn": {func(w *world, q []turn.Entry) { w.withdraw(q[1]) }, []string{"one"}, nil},
		"all were withdrawn":       {func(w *world, q []turn.Entry) { w.withdraw(q[0]); w.withdraw(q[1]) }, nil, nil},
		"one was edited":           {func(w *world, q []turn.Entry) { w.edit(q[0], "uno") }, []string{"uno", "two"}, nil},
		"another came":             {func(w *world, _ []turn.Entry) { w.say("three") }, []string{"one", "two"}, []string{"three"}},
		"the thread was stopped": {func(w *world, _ []turn.Entry) {
			head, err := thread.Load(w.Context(), w.store, w.in)
			w.must(err)
			head.Generation++
			w.must(w.store.Write(w.Context(), table.Write{ID: "stop", Ops: []table.Op{head.Put()}}))
		}, nil, []string{"one", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := w.claim(w.a, noon)
			w.say("one")
			w.say("two")
			w.beforeTake(func() { c.meanwhile(w, w.queued()) })
			taken, err := w.steer(run)
			w.must(err)
			w.expect(c.taken, taken, append([]string{"result"}, c.taken...), c.queued)
			w.must(run.End(t.Context(), done("ok")))
		})
	}
}

func TestAWorkerThatIsBuriedTakesNothing(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]bool{"before it looks": false, "between its look and its write": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := w.claim(w.a, noon)
			w.say("one")
			w.say("two")
			bury := func() {
				_, err := w.bury(w.b, noon.Add(turn.LeaseTerm))
				w.must(err)
			}
			if between {
				w.beforeTake(bury)
			} else {
				bury()
			}
			taken, err := w.steer(run)
			fenced(t, "steering", err)
			w.expect(nil, taken, nil, []string{"one", "two"})
		})
	}
}

// Whatever became of the write, each message is in the transcript or in the queue, and never in both.
func TestAfterATakeOfUnknownOutcomeEachMessageIsTakenOrQueued(t *testing.T) {
	t.Parallel()
	const gaveUp = 5 // attempts, after which the outcome stays unknown
	for name, c := range map[string]struct {
		times  int
		kind   tabletest.Kind
		known  bool
		saved  []string
		queued []string
	}{
		"lost once":         {1, tabletest.Lost, true, []string{"result", "one", "two"}, nil},
		"refused once":      {1, tabletest.Refused, true, []string{"result", "one", "two"}, nil},
		"unheard once":      {1, tabletest.Unheard, true, []string{"result", "one", "two"}, nil},
		"lost for good":     {gaveUp, tabletest.Lost, false, nil, []string{"one", "two"}},
		"refused for good":  {gaveUp, tabletest.Refused, false, nil, []string{"one", "two"}},
		"unheard, for good": {gaveUp, tabletest.Unheard, false, []string{"result", "one", "two"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				run := w.claim(w.a, noon)
				w.say("one")
				w.say("two")
				w.fail(c.times, c.kind)
				taken, err := w.steer(run)
				if (err == nil) != c.known || errors.Is(err, turn.ErrFenced) {
					t.Errorf("got %v", err)
				}
				var want []string
				if c.known {
					want = []string{"one", "two"}
				}
				w.expect(want, taken, c.saved, c.queued)
				w.must(run.Abandon(t.Context(), turn.Interruption(noon)))
				if diff := cmp.Diff([]string{turn.InterruptedNotice}, w.told()); diff != "" {
					t.Errorf("told: want (-), got (+):\n%s", diff)
				}
			})
		})
	}
}

// A worker that dies before its write leaves the messages to turns of their own; one that dies after it leaves them in
// what the session remembers, and its end is told.
func TestACrashAroundATakeLosesNoMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after  bool
		saved  []string
		queued []string
	}{
		"before it": {false, nil, []string{"one", "two"}},
		"after it":  {true, []string{"result", "one", "two"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := w.claim(w.a, noon)
			w.say("one")
			w.say("two")
			if c.after {
				_, err := w.steer(run)
				w.must(err)
			}
			_, err := w.bury(w.b, noon.Add(turn.LeaseTerm))
			w.must(err)
			w.expect(nil, nil, c.saved, c.queued)
			w.say("later")
			for _, text := range append(c.queued, "later") {
				next := w.claimNext(w.b, noon)
				if got := next.Input().Text; got != text {
					t.Errorf("next runs %q, want %q", got, text)
				}
				w.must(next.End(t.Context(), done("to "+text)))
			}
			if got := w.told(); len(got) != 2+len(c.queued) || len(w.left()) != 0 {
				t.Errorf("told %q, left %v", got, w.left())
			}
		})
	}
}
