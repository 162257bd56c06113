package bench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

// life is an engine whose calls are counted, with a session that has had a turn.
type life struct {
	*meter
	*engine

	sender string
	during func() // what happens while the model is asked for the first time; not part of what the turn costs
	apart  cost   // of that
}

func newLife(t *testing.T, permits int) *life {
	t.Helper()
	l := &life{meter: newMeter()}
	l.engine = newEngine(l.table, l.blob, l.meter.queue, instant{asked: l.asked}, silent{})
	l.runner.Desk.Permits = permits
	l.sender = l.settle(t)
	return l
}

// settle has a new owner's session run its first turn.
func (l *life) settle(t *testing.T) (sender string) {
	t.Helper()
	sender = l.pair(t)
	l.accept(t, sender, "hello")
	l.handle(t)
	return sender
}

func (l *life) asked(string) {
	if do := l.during; do != nil {
		l.during = nil
		l.apart = l.measure(do)
	}
}

// turn is what a message's turn costs from its wake-up to its end.
func (l *life) turn(t *testing.T, text string, during func()) cost {
	t.Helper()
	l.accept(t, l.sender, text)
	return l.work(t, during)
}

// work is what acting on the next wake-up costs.
func (l *life) work(t *testing.T, during func()) cost {
	t.Helper()
	return l.workWithin(t.Context(), t, during)
}

func (l *life) workWithin(ctx context.Context, t *testing.T, during func()) cost {
	t.Helper()
	l.during, l.apart = during, cost{}
	return l.measure(func() { l.handleWithin(ctx, t) }).minus(l.apart)
}

// within fails if something costs more calls or round trips than it may.
func within(t *testing.T, what string, c cost, calls, trips int) {
	t.Helper()
	t.Logf("%s: %d calls in %d round trips: %+v", what, c.calls(), c.Trips, c)
	if c.calls() > calls || c.Trips > trips {
		t.Errorf("%s costs %d calls in %d round trips, want at most %d in %d", what, c.calls(), c.Trips, calls, trips)
	}
}

// bubble is where nothing takes time but the calls.
func bubble(t *testing.T, do func(*testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, do)
}

func TestSteeringAMessageCostsOneUpload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		plain, l := newLife(t, permits).turn(t, "tool", nil), newLife(t, permits)
		steered := l.turn(t, "tool", func() { l.accept(t, l.sender, "and this") })
		within(t, "steering a message", steered.minus(plain), 1, 1)
		within(t, "the wake-up of a message that was taken", l.work(t, nil), 6, 2)
	})
}

func TestAStopIsRecordedAtOnceAndItsWorkerHearsOfItWithinASecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLife(t, permits)
		var stopping cost
		var stopped time.Time
		l.turn(t, "hang", func() {
			stopping = l.measure(func() { l.stop(t) })
			stopped = time.Now()
		})
		within(t, "a stop", stopping, 15, 13)
		took := time.Since(stopped)
		t.Logf("the worker has let go %v after the stop", took)
		if took > time.Second+10*trip {
			t.Errorf("the worker lets go %v after the stop, want a second", took)
		}
	})
}

func (l *life) stop(t *testing.T) {
	t.Helper()
	receipt, err := l.inbox.Stop(t.Context(), time.Now(), l.message(l.sender, "/stop"))
	if err != nil || receipt.Outcome != inbox.Obeyed {
		t.Errorf("stopping: outcome %d, %v", receipt.Outcome, err)
	}
}

// The worker's time is too short for the step after the one that it has made.
func TestAHandoverCostsLittleMoreThanAClaim(t *testing.T) {
	bubble(t, func(t *testing.T) {
		plain, l := newLife(t, permits).turn(t, "tool", nil), newLife(t, permits)
		l.accept(t, l.sender, "tool")
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		first := l.workWithin(short, t, func() { time.Sleep(70 * time.Millisecond) })
		second := l.work(t, nil)
		within(t, "a handover", first.minus(plain.minus(second)), 12, 7)
	})
}

func TestAWaitForAPermitCostsOneMoreWakeUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		plain, l := newLife(t, 1).turn(t, "hello", nil), newLife(t, 1)
		other := l.settle(t)
		var joining cost
		holding := l.turn(t, "hello", func() {
			l.accept(t, other, "hello")
			joining = l.measure(func() { l.handle(t) })
		})
		within(t, "joining the line for a permit", joining, 10, 3)
		within(t, "waking who waits for a permit", holding.minus(plain), 1, 0)
		within(t, "a turn that has waited for a permit", l.work(t, nil).minus(plain), 0, 0)
	})
}

func TestAConfirmationCostsAWakeUpAndItsSteps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		plain := newLife(t, permits).turn(t, "hello", nil)
		l, other := newLife(t, permits), newLife(t, permits)
		within(t, "asking for a confirmation", l.turn(t, "pay", nil).minus(plain), 2, 2)
		other.turn(t, "pay", nil)
		within(t, "accepting a confirmation", l.measure(func() { l.accept(t, l.sender, "yes") }), 4, 4)
		within(t, "making what was confirmed", l.work(t, nil).minus(other.turn(t, "hello", nil)), 4, 4)
	})
}

// mostListed is what the list of a transcript's parts takes at most in each of a step's two writes of it, in bytes.
const mostListed = 2 << 10

// What a step costs does not grow with the turns that its session has had.
func TestAStepCostsTheSameAfterTenThousandTurns(t *testing.T) {
	t.Parallel()
	few, many := stepsAfter(t, 10), stepsAfter(t, 10_000)
	t.Logf("%d steps after 10 turns: %+v", stretch, few)
	t.Logf("%d steps after 10,000 turns: %+v", stretch, many)
	if few.calls() != many.calls() {
		t.Errorf("the steps make %d calls after 10,000 turns, and %d after 10", many.calls(), few.calls())
	}
	if many.TableBytes > stretch*2*mostListed || many.BlobBytes > few.BlobBytes*11/10 {
		t.Error("the steps write more after 10,000 turns than after 10")
	}
}

// stepsAfter is what a stretch of steps with a tool costs in a session that has had so many turns of one step.
func stepsAfter(t *testing.T, turns int) cost {
	t.Helper()
	m := &meter{table: &tabletest.Fake{}, blob: &blobtest.Fake{}, queue: &queuetest.Fake{}}
	run := grown(t, m.table, m.blob, 2*turns)
	return m.measure(func() {
		for range stretch {
			entries := step()
			run.Log().Append(entries[0])
			if _, err := run.Begin(t.Context(), time.Now(), []string{"read"}, ""); err != nil {
				t.Fatal(err)
			}
			run.Answered()
			run.Log().Append(entries[1])
			if _, err := run.Steer(t.Context(), time.Now(), prompt.Said); err != nil {
				t.Fatal(err)
			}
		}
	})
}
