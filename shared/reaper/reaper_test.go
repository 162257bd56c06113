package reaper_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/reaper"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// world is one session with a reaper, in fake time.
type world struct {
	*testing.T
	*reaper.Reaper
	store *tabletest.Fake
	said  int

	mu     sync.Mutex
	sent   []sending
	refuse bool // the queue refuses what is sent
}

// sending is one wake-up that was sent, and when.
type sending struct {
	At   time.Duration
	Body string
}

var route = channel.Route{Connection: "telegram-1", Conversation: "7"}

func bubble(t *testing.T, do func(*world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, store: new(tabletest.Fake)}
		ids := new(id.Source)
		begun := time.Now()
		w.Reaper = &reaper.Reaper{
			Table: w.store, IDs: ids, Desk: &turn.Desk{Table: w.store, IDs: ids, Holder: "reaper"},
			Queue: &queuetest.Fake{Fault: func(c queuetest.Call) queuetest.Fault {
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.refuse {
					return queuetest.Refused
				}
				w.sent = append(w.sent, sending{time.Since(begun), c.Message.Body})
				return queuetest.None
			}},
		}
		w.write(thread.Head{ID: "t", Owner: "o", Status: thread.Active}.Put())
		do(w)
	})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(ops ...table.Op) {
	w.Helper()
	w.must(w.store.Write(w.Context(), table.Write{ID: w.IDs.New(time.Now()), Ops: ops}))
}

// say queues a turn whose mark is due in 10 seconds.
func (w *world) say() turn.Entry {
	w.Helper()
	return w.sayIn("t")
}

// sayIn is say in any session.
func (w *world) sayIn(session id.Session) turn.Entry {
	w.Helper()
	w.said++
	e := turn.Entry{
		Turn: turn.Turn{
			ID: id.Turn(fmt.Sprint("u", w.said)), Owner: "o", Thread: "t", Session: session, Source: turn.User, Status: turn.Queued,
			Route: route, Created: time.Now(), Order: turn.Order(time.Now(), int64(w.said), 0),
		},
		WakeAt: time.Now().Add(10 * time.Second),
	}
	w.write(e.Enqueue()...)
	return e
}

// claim queues a turn and starts it for a worker.
func (w *world) claim() *turn.Run {
	w.Helper()
	w.say()
	return w.start("t")
}

// start starts a session's next turn for a worker.
func (w *world) start(session id.Session) *turn.Run {
	w.Helper()
	worker := &turn.Desk{Table: w.store, IDs: w.IDs, Holder: "worker", Permits: w.Desk.Permits}
	view, err := worker.Look(w.Context(), session, "t")
	w.must(err)
	run, err := worker.Claim(w.Context(), view, time.Now())
	w.must(err)
	w.must(run.Open(w.Context(), new(blobtest.Fake)))
	return run
}

// tell puts a message into the outbox; its mark is due in 30 seconds.
func (w *world) tell() {
	w.Helper()
	w.write(outbox.Enqueue(outbox.Row{Thread: "t", Route: route}, thread.Message{ID: "m", At: time.Now(), Text: "hello"})...)
}

func (w *world) sweep() reaper.Report {
	w.Helper()
	report, err := w.Sweep(w.Context(), time.Now())
	w.must(err)
	return report
}

func (w *world) want(got, want reaper.Report) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("the report: want (-), got (+):\n%s", diff)
	}
}

func (w *world) marks() (marks []due.Mark) {
	w.Helper()
	for shard := range due.Shards {
		got, err := due.Scan(w.Context(), w.store, shard, time.Now().Add(24*time.Hour), 100)
		w.must(err)
		marks = append(marks, got...)
	}
	return marks
}

func body(up wake.Up) string { return up.Message("").Body }

var (
	session      = body(wake.Session("t", "t"))
	conversation = body(wake.Conversation(route.Key()))
)

func TestNothingDueCostsALookAtEachShard(t *testing.T) {
	bubble(t, func(w *world) {
		before := w.store.Calls()
		w.want(w.sweep(), reaper.Report{})
		if got := w.store.Calls().Sub(before); got.Scan != due.Shards || got.Sum() != due.Shards {
			w.Errorf("it took %+v", got)
		}
	})
}

func TestAMarkIsLeftAloneUntilItIsDue(t *testing.T) {
	bubble(t, func(w *world) {
		w.say()
		w.tell()
		time.Sleep(10 * time.Second)
		w.want(w.sweep(), reaper.Report{Waiting: 2})
		time.Sleep(time.Millisecond)
		w.want(w.sweep(), reaper.Report{Woken: 1, Waiting: 1})
		time.Sleep(20 * time.Second)
		if got := w.sweep(); got.Sent != 1 {
			w.Errorf("got %+v, want the conversation asked for", got)
		}
	})
}

func TestWhatIsStillOwedIsAskedForAtAGrowingDistance(t *testing.T) {
	for name, tc := range map[string]struct {
		owe  func(*world)
		body string
		want []time.Duration
	}{
		"a queued turn":   {func(w *world) { w.say() }, session, []time.Duration{11, 22, 43, 84, 165, 326, 647, 1248}},
		"an unsent reply": {(*world).tell, conversation, []time.Duration{31, 42, 63, 104, 185, 346, 667, 1268}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				tc.owe(w)
				for range 1300 {
					time.Sleep(time.Second)
					w.sweep()
				}
				var got, want []sending
				for _, d := range tc.want {
					want = append(want, sending{d * time.Second, tc.body})
				}
				if got = w.sent; len(got) == 0 {
					w.Fatal("nothing was sent")
				}
				if diff := cmp.Diff(want, got); diff != "" {
					w.Errorf("want (-), got (+):\n%s", diff)
				}
			})
		})
	}
}

// The queue swallows a cause that it knows.
func TestEveryRequestHasACauseOfItsOwn(t *testing.T) {
	bubble(t, func(w *world) {
		w.say()
		q := new(queuetest.Fake)
		w.Queue = q
		got := 0
		for range 60 {
			time.Sleep(time.Second)
			w.sweep()
			ctx, cancel := context.WithTimeout(w.Context(), time.Millisecond)
			deliveries, _ := q.Receive(ctx, 1)
			cancel()
			for _, d := range deliveries {
				got++
				w.must(d.Lease.Done(w.Context()))
			}
		}
		if got != 3 {
			w.Errorf("%d wake-ups were delivered within a minute, want 3", got)
		}
	})
}

func TestWhatHasBeenSettledIsDropped(t *testing.T) {
	bubble(t, func(w *world) {
		e := w.say()
		w.tell()
		w.write(table.DeleteBlind(e.Key()))
		w.write(table.DeleteBlind(table.Key{Partition: outbox.Partition(route.Key()), Sort: fmt.Sprintf("o#%016d#m", time.Now().UnixMicro())}))
		time.Sleep(time.Minute)
		w.want(w.sweep(), reaper.Report{Dropped: 2})
		if marks := w.marks(); len(marks) != 0 || len(w.sent) != 0 {
			w.Errorf("left %+v, sent %v", marks, w.sent)
		}
	})
}

func TestADeadWorkersTurnIsBuriedAndItsFollowersAskedFor(t *testing.T) {
	bubble(t, func(w *world) {
		u := w.claim().Turn().ID
		var buried []id.Turn
		w.Buried = func(_ context.Context, t turn.Turn) { buried = append(buried, t.ID) }
		w.want(w.sweep(), reaper.Report{Running: 1})
		time.Sleep(turn.LeaseTerm + time.Millisecond)
		w.want(w.sweep(), reaper.Report{Buried: 1})
		if diff := cmp.Diff([]id.Turn{u}, buried); diff != "" {
			w.Errorf("told of: want (-), got (+):\n%s", diff)
		}
		at := turn.LeaseTerm + time.Millisecond
		if diff := cmp.Diff([]sending{{at, conversation}, {at, session}}, w.sent); diff != "" {
			w.Errorf("sent: want (-), got (+):\n%s", diff)
		}
		w.want(w.sweep(), reaper.Report{Waiting: 1})
	})
}

func TestALiveTurnIsLookedAtAgainWhenItsLeaseWouldHaveRunOut(t *testing.T) {
	bubble(t, func(w *world) {
		run := w.claim()
		time.Sleep(turn.LeaseTerm - time.Second)
		w.must(run.Renew(w.Context(), time.Now()))
		time.Sleep(2 * time.Second)
		w.want(w.sweep(), reaper.Report{Running: 1})
		marks := w.marks()
		if want := run.Until().Add(time.Second); len(marks) != 1 || !marks[0].At.Equal(want) {
			w.Errorf("the marks are %+v, want one at %v", marks, want)
		}
		time.Sleep(turn.LeaseTerm)
		if got := w.sweep(); got.Buried != 1 {
			w.Errorf("got %+v, want a burial", got)
		}
		if marks := w.marks(); len(marks) != 2 {
			w.Errorf("the marks are %+v, want the notice's and the moved one", marks)
		}
		w.want(w.sweep(), reaper.Report{Dropped: 1, Waiting: 1})
	})
}

func TestTheMarkOfATurnThatHasEndedIsDropped(t *testing.T) {
	bubble(t, func(w *world) {
		run := w.claim()
		marks := w.marks()
		w.must(run.Abandon(w.Context(), turn.Ending{Status: turn.Succeeded, At: time.Now()}))
		w.write(marks[0].Put()) // as if the reaper had moved it before the end deleted it
		time.Sleep(time.Minute)
		w.want(w.sweep(), reaper.Report{Dropped: 1})
		if got := w.marks(); len(got) != 0 {
			w.Errorf("left %+v", got)
		}
	})
}

func TestASweepFarAheadActsOnWhatIsNotDueYet(t *testing.T) {
	bubble(t, func(w *world) {
		w.claim()
		w.say()
		w.tell()
		w.Desk.Gone = func(holder string) bool { return holder == "worker" }
		report, err := w.Sweep(w.Context(), time.Now().Add(24*time.Hour))
		w.must(err)
		if report.Buried != 1 || report.Woken != 1 || report.Sent != 1 {
			w.Errorf("got %+v", report)
		}
	})
}

func TestReapersAtOnceDoNoHarm(t *testing.T) {
	bubble(t, func(w *world) {
		u := w.claim().Turn().ID
		w.say()
		time.Sleep(time.Minute)
		buried := make(chan id.Turn, 10)
		w.Buried = func(_ context.Context, t turn.Turn) { buried <- t.ID }
		w.store.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Slow(time.Millisecond) }
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { _, _ = w.Sweep(w.Context(), time.Now()) })
		}
		group.Wait()
		if len(buried) != 1 || <-buried != u {
			w.Errorf("%d burials", len(buried)+1)
		}
		seen := map[string]int{}
		for _, m := range w.marks() {
			seen[string(m.Kind)+m.Subject]++
		}
		for name, n := range seen {
			if n != 1 {
				w.Errorf("%d marks of %s", n, name)
			}
		}
	})
}

func TestOneThatCannotBeHandledHoldsNobodyUp(t *testing.T) {
	bubble(t, func(w *world) {
		w.write(due.Mark{At: time.Now(), Kind: "unheard of", Subject: "x"}.Put())
		w.write(due.Mark{At: time.Now(), Kind: due.Lease, Subject: "y", Session: "s", Thread: "none", Turn: "u"}.Put())
		w.say()
		time.Sleep(time.Minute)
		if got := w.sweep(); got.Woken != 1 {
			w.Errorf("got %+v, want the session woken all the same", got)
		}
	})
}

func TestAQueueThatRefusesIsTriedAtTheNextSweep(t *testing.T) {
	bubble(t, func(w *world) {
		w.say()
		time.Sleep(time.Minute)
		w.refuse = true
		w.want(w.sweep(), reaper.Report{Failed: 1})
		w.refuse = false
		w.want(w.sweep(), reaper.Report{Woken: 1})
	})
}

func TestShardsThatCannotBeReadAreAnError(t *testing.T) {
	bubble(t, func(w *world) {
		e := w.say()
		broken := fmt.Sprintf("due#%02d", (due.Mark{Subject: string(e.Turn.ID)}.Shard()+1)%due.Shards)
		w.store.Fault = func(c tabletest.Call) tabletest.Fault {
			if c.Query.Partition == broken {
				return tabletest.Fault{Kind: tabletest.Refused}
			}
			return tabletest.Fault{}
		}
		time.Sleep(time.Minute)
		report, err := w.Sweep(w.Context(), time.Now())
		if !errors.Is(err, table.ErrRefused) || report.Woken != 1 {
			w.Errorf("got %+v, %v; want the others handled and the error", report, err)
		}
	})
}

// watch runs the watch of a reaper with a minute to go and lists when it looked.
func (w *world) watch(within time.Duration) (looks []time.Duration) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), within)
	defer cancel()
	begun := time.Now()
	w.Watch(ctx, func(reaper.Report, error) { looks = append(looks, time.Since(begun)) })
	return looks
}

func seconds(n ...time.Duration) (out []time.Duration) {
	for _, s := range n {
		out = append(out, s*time.Second)
	}
	return out
}

func TestAReaperWithNothingToWatchLooksOnce(t *testing.T) {
	bubble(t, func(w *world) {
		if diff := cmp.Diff(seconds(0), w.watch(time.Minute)); diff != "" {
			w.Errorf("want (-), got (+):\n%s", diff)
		}
	})
}

func TestWhileATurnRunsTheReaperLooksEveryTenSecondsOfItsMinute(t *testing.T) {
	bubble(t, func(w *world) {
		run := w.claim()
		go func() {
			for range 20 {
				time.Sleep(turn.Beat)
				_ = run.Renew(w.Context(), time.Now())
			}
		}()
		if diff := cmp.Diff(seconds(0, 10, 20, 30, 40, 50), w.watch(time.Minute)); diff != "" {
			w.Errorf("want (-), got (+):\n%s", diff)
		}
		time.Sleep(time.Hour)
	})
}

func TestAQueuedTurnThatNobodyStartsIsAskedForWithinTheMinute(t *testing.T) {
	bubble(t, func(w *world) {
		w.say()
		if looks := w.watch(time.Minute); len(looks) < 2 || len(w.sent) == 0 || w.sent[0].At > 20*time.Second {
			w.Errorf("looked at %v, sent %v; want the session asked for within 20 s", looks, w.sent)
		}
	})
}

func TestADeadTurnIsEndedWithinTheWatch(t *testing.T) {
	bubble(t, func(w *world) {
		w.claim() // its worker dies at once
		w.watch(time.Minute)
		if n := len(w.sent); n != 2 || w.sent[0].At > 30*time.Second {
			w.Errorf("sent %v, want the notice and the session asked for within 30 s of the death", w.sent)
		}
	})
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	bubble(t, func(w *world) {
		w.claim()
		ctx, cancel := context.WithCancel(w.Context())
		begun := time.Now()
		looks := 0
		w.Watch(ctx, func(reaper.Report, error) {
			looks++
			time.AfterFunc(time.Second, cancel)
		})
		if looks != 1 || time.Since(begun) != time.Second {
			w.Errorf("%d looks, ended after %v", looks, time.Since(begun))
		}
	})
}

// A mark that can never be handled must not keep a function running all day.
func TestAHopelessMarkDoesNotKeepTheReaperAwake(t *testing.T) {
	bubble(t, func(w *world) {
		w.write(due.Mark{At: time.Now(), Kind: "unheard of", Subject: "x"}.Put())
		w.write(due.Mark{At: time.Now(), Kind: due.Lease, Subject: "y", Session: "s", Thread: "none", Turn: "u"}.Put())
		time.Sleep(time.Second)
		looks := 0
		for range 60 {
			looks += len(w.watch(time.Minute))
			time.Sleep(time.Minute)
		}
		if looks > 80 {
			w.Errorf("it looked %d times in 60 minutes, want about one a minute", looks)
		}
	})
}
