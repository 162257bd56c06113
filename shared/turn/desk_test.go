package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

const bot = "telegram-1"

var noon = time.UnixMilli(1_900_000_000_000)

// world is the stores of one owner, who is "7" on the bot, and the desks of two workers.
type world struct {
	*testing.T
	store   *tabletest.Fake
	blobs   *blobtest.Fake
	ids     *id.Source
	in      id.Thread
	session id.Session
	a, b    *turn.Desk
	inbox   *inbox.Inbox
	said    int
	mu      sync.Mutex
	faults  []tabletest.Kind // of the next writes
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, store: new(tabletest.Fake), blobs: new(blobtest.Fake), ids: new(id.Source)}
	book := &owner.Book{Table: w.store, IDs: w.ids}
	ada, err := book.Add(t.Context(), "Ada", noon)
	w.must(err)
	w.must(book.Link(t.Context(), ada, bot, "7", noon))
	w.in, w.session = ada.Thread, id.Session(ada.Thread)
	w.a = &turn.Desk{Table: w.store, IDs: w.ids, Holder: "a"}
	w.b = &turn.Desk{Table: w.store, IDs: w.ids, Holder: "b"}
	w.inbox = &inbox.Inbox{Table: w.store, IDs: w.ids, Book: book, Queue: new(queuetest.Fake)}
	w.store.Fault = w.fault
	return w
}

func (w *world) fault(c tabletest.Call) tabletest.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.Method != tabletest.MethodWrite || len(w.faults) == 0 {
		return tabletest.Fault{}
	}
	kind := w.faults[0]
	w.faults = w.faults[1:]
	return tabletest.Fault{Kind: kind}
}

// fail makes the next n writes go wrong.
func (w *world) fail(n int, kind tabletest.Kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range n {
		w.faults = append(w.faults, kind)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// say queues a message of the owner.
func (w *world) say(text string) id.Turn {
	w.Helper()
	w.said++
	r, err := w.inbox.Accept(w.Context(), noon.Add(time.Duration(w.said)*time.Millisecond), inbox.Message{
		Update: fmt.Sprint(w.said), Sender: "7", Sent: noon, Sequence: int64(w.said), Text: text,
		Route: channel.Route{Connection: bot, Conversation: "7"},
	})
	w.must(err)
	return r.Turn
}

func (w *world) look(d *turn.Desk) turn.View {
	w.Helper()
	v, err := d.Look(w.Context(), w.session, w.in)
	w.must(err)
	return v
}

// claim queues a message and claims its turn for a worker.
func (w *world) claim(d *turn.Desk, now time.Time) *turn.Run {
	w.Helper()
	w.say("hello")
	return w.claimNext(d, now)
}

func (w *world) claimNext(d *turn.Desk, now time.Time) *turn.Run {
	w.Helper()
	run, err := d.Claim(w.Context(), w.look(d), now)
	w.must(err)
	w.must(run.Open(w.Context(), w.blobs))
	return run
}

func (w *world) bury(d *turn.Desk, now time.Time) (*turn.Turn, error) {
	w.Helper()
	v := w.look(d)
	if step := turn.Decide(v, now); step != turn.Bury {
		w.Fatalf("the step is %d, want a burial", step)
	}
	return d.Bury(w.Context(), w.session, v, now)
}

// status reads a turn as stored.
func (w *world) status(t id.Turn) turn.Turn {
	w.Helper()
	item, err := w.store.Get(w.Context(), turn.HeadKey(t))
	w.must(err)
	var out turn.Turn
	_, err = table.Decode(item, &out)
	w.must(err)
	return out
}

// told lists what was said to the owner.
func (w *world) told() (texts []string) {
	w.Helper()
	log, err := thread.After(w.Context(), w.store, w.in, "", 100)
	w.must(err)
	for _, m := range log.Messages {
		if m.From != thread.Owner {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// left lists the records that only a running turn has.
func (w *world) left() (keys []string) {
	for _, item := range w.store.Items() {
		if k := kind(item); k == "lease" || k == "run" || k == "q" || k == "wake" {
			keys = append(keys, k)
		}
	}
	return keys
}

// kind is what the sort key of a record begins with; of a due mark, its kind.
func kind(item table.Item) string {
	parts := strings.Split(item.Key.Sort, "#")
	if strings.HasPrefix(item.Key.Partition, "due#") {
		return parts[1]
	}
	return parts[0]
}

func answer(text string) transcript.Entry {
	return transcript.Entry{Kind: transcript.Assistant, Blocks: []model.Block{{Text: text}}}
}

func done(text string) turn.Ending {
	return turn.Ending{Status: turn.Succeeded, At: noon.Add(time.Second), Text: text, From: thread.Agent}
}

func fenced(t *testing.T, doing string, err error) {
	t.Helper()
	if !errors.Is(err, turn.ErrFenced) || fault.Of(err).Action != fault.Drop {
		t.Errorf("%s: got %v, want ErrFenced, to be dropped", doing, err)
	}
}

func TestOfTwoWorkersThatClaimAtOnceOneGetsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := w.say("hello")
	va, vb := w.look(w.a), w.look(w.b)
	run, err := w.a.Claim(t.Context(), va, noon)
	w.must(err)
	if _, err := w.b.Claim(t.Context(), vb, noon); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("the second worker: %v, want ErrRaced", err)
	}
	if got := run.Turn(); got.ID != want || w.status(want).Status != turn.Running || run.Input().Text != "hello" {
		t.Errorf("claimed %+v", got)
	}
	if step := turn.Decide(w.look(w.b), noon); step != turn.Busy {
		t.Errorf("the second worker's next step is %d, want to leave it alone", step)
	}
}

func TestAClaimFailsWhenTheThreadWasStoppedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("hello")
	v := w.look(w.a)
	head := v.Thread
	head.Generation++
	w.must(w.store.Write(t.Context(), table.Write{ID: "stop", Ops: []table.Op{head.Put()}}))
	if _, err := w.a.Claim(t.Context(), v, noon); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("got %v, want ErrRaced", err)
	}
	v = w.look(w.a)
	if step := turn.Decide(v, noon); step != turn.Strike {
		t.Fatalf("the step is %d, want to strike the entry", step)
	}
	w.must(w.a.Strike(t.Context(), v, noon))
	if err := w.b.Strike(t.Context(), v, noon); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("striking twice: %v, want ErrRaced", err)
	}
	if got := w.status(v.Next.Turn.ID).Status; got != turn.Cancelled || len(w.left()) != 0 || len(w.told()) != 0 {
		t.Errorf("the turn is %s, left %v, told %v", got, w.left(), w.told())
	}
}

func TestTheOldestIsClaimedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		w.say(fmt.Sprint(i))
	}
	for i := range 3 {
		run := w.claimNext(w.a, noon)
		if got := run.Input().Text; got != fmt.Sprint(i) || run.Turn().Epoch != int64(i+1) {
			t.Errorf("claim %d got %q under epoch %d", i, got, run.Turn().Epoch)
		}
		w.must(run.End(t.Context(), done("ok")))
	}
	if step := turn.Decide(w.look(w.a), noon); step != turn.Idle || len(w.left()) != 0 {
		t.Errorf("at the end the step is %d, left %v", step, w.left())
	}
}

func TestBuryingEndsTheTurnAndTellsItsOwnerOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	late := noon.Add(turn.LeaseTerm)
	first, second := w.look(w.b), w.look(w.b)
	dead, err := w.b.Bury(t.Context(), w.session, first, late)
	w.must(err)
	if dead.ID != run.Turn().ID {
		t.Errorf("buried %+v", dead)
	}
	if _, err := w.b.Bury(t.Context(), w.session, second, late); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("burying twice: %v, want ErrRaced", err)
	}
	if got := w.status(dead.ID); got.Status != turn.Failed || got.Error == "" {
		t.Errorf("the turn is %+v", got)
	}
	if diff := cmp.Diff([]string{turn.InterruptedNotice}, w.told()); diff != "" || len(w.left()) != 0 {
		t.Errorf("left %v; told: want (-), got (+):\n%s", w.left(), diff)
	}
}

func TestAWorkerThatIsBuriedCanWriteNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	run.Log().Append(answer("late"))
	_, err := w.bury(w.b, noon.Add(turn.LeaseTerm))
	w.must(err)
	before := w.store.Items()
	fenced(t, "checkpoint", run.Checkpoint(t.Context(), noon))
	fenced(t, "renew", run.Renew(t.Context(), noon))
	fenced(t, "end", run.End(t.Context(), done("late")))
	fenced(t, "abandon", run.Abandon(t.Context(), done("late")))
	if diff := cmp.Diff(before, w.store.Items()); diff != "" {
		t.Errorf("the late worker changed the store (-before +after):\n%s", diff)
	}
}

func TestALateWorkerCanDoNothingToItsSuccessor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.claim(w.a, noon)
	late := noon.Add(turn.LeaseTerm)
	_, err := w.bury(w.b, late)
	w.must(err)
	next := w.claim(w.b, late)
	fenced(t, "checkpoint", old.Checkpoint(t.Context(), late))
	fenced(t, "renew", old.Renew(t.Context(), late))
	fenced(t, "end", old.End(t.Context(), done("late")))
	w.must(next.Renew(t.Context(), late))
	w.must(next.End(t.Context(), done("in time")))
	if diff := cmp.Diff([]string{turn.InterruptedNotice, "in time"}, w.told()); diff != "" {
		t.Errorf("told: want (-), got (+):\n%s", diff)
	}
}

func TestASignOfLifeAndABurialCannotBothSucceed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	v := w.look(w.b)
	late := noon.Add(turn.LeaseTerm)
	w.must(run.Renew(t.Context(), late)) // it was only slow
	if _, err := w.b.Bury(t.Context(), w.session, v, late); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("got %v, want ErrRaced", err)
	}
	if step := turn.Decide(w.look(w.b), late); step != turn.Busy {
		t.Errorf("the next step is %d, want to leave it alone", step)
	}
	w.must(run.End(t.Context(), done("ok")))
}

func TestATurnThatEndedMeanwhileIsNotBuried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	v := w.look(w.b)
	w.must(run.End(t.Context(), done("ok")))
	if _, err := w.b.Bury(t.Context(), w.session, v, noon.Add(time.Hour)); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("got %v, want ErrRaced", err)
	}
	fenced(t, "renewing after the end", run.Renew(t.Context(), noon))
	if len(w.left()) != 0 {
		t.Errorf("left %v", w.left())
	}
}

func TestTheTurnOfAHolderThatIsGoneNeedNotWaitForItsLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim(w.a, noon)
	w.b.Gone = func(holder string) bool { return holder == "a" }
	_, err := w.bury(w.b, noon.Add(time.Millisecond))
	w.must(err)
}

func TestAThreadThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.a.Look(t.Context(), "s", "none"); !errors.Is(err, thread.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// Whatever nobody hears of is found out: by sending the same write again, or by looking what stands there.
func TestWritesOfWhichNobodyHearsCountOnce(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]int{"the first answer is lost": 1, "every answer is lost for a while": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.say("hello")
				v := w.look(w.a)
				w.fail(lost, tabletest.Unheard)
				run, err := w.a.Claim(t.Context(), v, noon)
				w.must(err)
				w.must(run.Open(t.Context(), w.blobs))
				run.Log().Append(answer("a"))
				w.fail(lost, tabletest.Unheard)
				w.must(run.Checkpoint(t.Context(), noon))
				w.fail(lost, tabletest.Unheard)
				w.must(run.Renew(t.Context(), noon))
				w.fail(lost, tabletest.Unheard)
				w.must(run.End(t.Context(), done("ok")))
				if diff := cmp.Diff([]string{"ok"}, w.told()); diff != "" || len(w.left()) != 0 {
					t.Errorf("left %v; told: want (-), got (+):\n%s", w.left(), diff)
				}
			})
		})
	}
}

// gaveUp is how many lost answers make the settling of a write give up.
const gaveUp = 5

func TestARenewalOfWhichNobodyEverHeardDoesNotStopTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run := w.claim(w.a, noon)
		w.fail(gaveUp, tabletest.Unheard)
		if err := run.Renew(t.Context(), noon.Add(turn.Beat)); !errors.Is(err, table.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		w.must(run.Renew(t.Context(), noon.Add(2*turn.Beat)))
		want := noon.Add(2*turn.Beat + turn.LeaseTerm)
		if got := w.look(w.b).Lease; !got.Until.Equal(want) || !run.Until().Equal(want) {
			t.Errorf("the lease holds until %v, as renewed until %v, want %v", got.Until, run.Until(), want)
		}
	})
}

func TestAnEndOfWhichNobodyEverHeardIsFoundByTheNextAttempt(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(*world){
		"nothing since":               func(*world) {},
		"another turn has begun":      func(w *world) { w.claim(w.b, noon) },
		"another turn has also ended": func(w *world) { w.must(w.claim(w.b, noon).End(w.Context(), done("next"))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				run := w.claim(w.a, noon)
				w.fail(gaveUp, tabletest.Unheard)
				if err := run.End(t.Context(), done("ok")); !errors.Is(err, table.ErrUnknown) {
					t.Fatalf("got %v, want ErrUnknown", err)
				}
				after(w)
				w.must(run.Abandon(t.Context(), turn.Unexpected(errors.New("broken"), noon)))
				if got := w.told(); len(got) == 0 || got[0] != "ok" || w.status(run.Turn().ID).Status != turn.Succeeded {
					t.Errorf("told %q, the turn is %s", got, w.status(run.Turn().ID).Status)
				}
			})
		})
	}
}

func TestAnEndThatArrivesLateChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run := w.claim(w.a, noon)
		w.store.Fault = func(c tabletest.Call) tabletest.Fault {
			if c.Method != tabletest.MethodWrite {
				return tabletest.Fault{}
			}
			return tabletest.Fault{Kind: tabletest.Late, Slow: time.Minute}
		}
		if err := run.End(t.Context(), done("late")); !errors.Is(err, table.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		w.store.Fault = nil
		w.must(run.Abandon(t.Context(), turn.Unexpected(errors.New("broken"), noon)))
		time.Sleep(time.Hour)
		synctest.Wait()
		if diff := cmp.Diff([]string{turn.GenericNotice}, w.told()); diff != "" {
			t.Errorf("told: want (-), got (+):\n%s", diff)
		}
	})
}

func TestATurnCanBeAbandonedAfterACheckpointOfWhichNobodyHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run := w.claim(w.a, noon)
		run.Log().Append(answer("a"))
		w.fail(gaveUp, tabletest.Unheard)
		if err := run.Checkpoint(t.Context(), noon); !errors.Is(err, table.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		w.must(run.Abandon(t.Context(), turn.Unexpected(errors.New("broken"), noon)))
		next := w.claim(w.b, noon)
		if got := next.Log().Entries(); len(got) != 1 || got[0].Blocks[0].Text != "a" {
			t.Errorf("the next turn reads %+v, want what the checkpoint saved", got)
		}
	})
}

func TestAStoreThatStaysAwayEndsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run.Abandon(ctx, done("ok")); err == nil || errors.Is(err, turn.ErrFenced) {
		t.Errorf("got %v, want the store's error", err)
	}
	if got := w.status(run.Turn().ID).Status; got != turn.Running {
		t.Errorf("the turn is %s", got)
	}
}

func TestWhatWasSavedIsReadByTheNextTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	run.Log().Append(answer("a"))
	w.must(run.Checkpoint(t.Context(), noon))
	w.must(run.Checkpoint(t.Context(), noon)) // nothing new
	run.Log().Append(answer("b"))
	run.Count(model.Usage{Input: 3, Output: 4})
	run.Count(model.Usage{Input: 1, CacheRead: 2, CacheWrite: 5})
	w.must(run.End(t.Context(), done("ok")))
	got := w.status(run.Turn().ID)
	if diff := cmp.Diff(model.Usage{Input: 4, Output: 4, CacheRead: 2, CacheWrite: 5}, got.Usage); diff != "" || got.Steps != 2 {
		t.Errorf("%d steps; usage: want (-), got (+):\n%s", got.Steps, diff)
	}
	next := w.claim(w.b, noon)
	if diff := cmp.Diff([]transcript.Entry{answer("a"), answer("b")}, next.Log().Entries()); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if got := next.Previous(); len(got) != 0 {
		t.Errorf("it is told of failures: %+v", got)
	}
}

func TestTheNextTurnIsToldOfAFailureUntilOneHasSavedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.claim(w.a, noon).Turn()
	_, err := w.bury(w.b, noon.Add(turn.LeaseTerm))
	w.must(err)
	second := w.claim(w.a, noon) // dies too, before it has saved anything
	_, err = w.bury(w.b, noon.Add(turn.LeaseTerm))
	w.must(err)

	third := w.claim(w.a, noon)
	var got []string
	for _, f := range third.Previous() {
		text, err := third.Recall(t.Context(), f)
		w.must(err)
		got = append(got, string(f.Turn)+" "+text)
	}
	want := []string{string(first.ID) + " hello", string(second.Turn().ID) + " hello"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	third.Log().Append(answer("I know"))
	w.must(third.Checkpoint(t.Context(), noon))
	w.must(third.Abandon(t.Context(), turn.Unexpected(errors.New("broken"), noon)))

	fourth := w.claim(w.a, noon)
	if got := fourth.Previous(); len(got) != 1 || got[0].Turn != third.Turn().ID {
		t.Errorf("the fourth is told of %+v, want the third's failure alone", got)
	}
	fourth.Log().Append(answer("I know"))
	w.must(fourth.End(t.Context(), turn.Unexpected(errors.New("broken again"), noon)))
	if got := w.claim(w.a, noon).Previous(); len(got) != 1 || got[0].Turn != fourth.Turn().ID {
		t.Errorf("the fifth is told of %+v, want the fourth's failure alone", got)
	}
}

func TestATurnCanEndBeforeItHasReadAnything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.claim(w.a, noon)
	first.Log().Append(answer("a"))
	w.must(first.End(t.Context(), done("ok")))
	w.say("more")
	run, err := w.b.Claim(t.Context(), w.look(w.b), noon)
	w.must(err)
	w.must(run.Abandon(t.Context(), turn.Unexpected(errors.New("broken"), noon)))
	if got := w.claim(w.a, noon).Log().Entries(); len(got) != 1 {
		t.Errorf("the saved transcript is now %+v", got)
	}
}

func TestARestartBeginsAnEmptyTranscript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.claim(w.a, noon)
	first.Log().Append(answer("lost"))
	w.must(first.End(t.Context(), done("ok")))
	page, err := w.blobs.List(t.Context(), "", "")
	w.must(err)
	for _, o := range page.Objects {
		w.must(w.blobs.Delete(t.Context(), o.Name))
	}
	w.say("more")
	run, err := w.b.Claim(t.Context(), w.look(w.b), noon)
	w.must(err)
	if err := run.Open(t.Context(), w.blobs); !errors.Is(err, transcript.ErrCorrupt) {
		t.Fatalf("got %v, want ErrCorrupt", err)
	}
	w.must(run.Restart(t.Context()))
	run.Log().Append(answer("anew"))
	w.must(run.End(t.Context(), done("ok")))
	if diff := cmp.Diff([]transcript.Entry{answer("anew")}, w.claim(w.a, noon).Log().Entries()); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
