package bench

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

// trip is how long a call of a store lasts in the bubble, where nothing else takes time: so the time that passes, in
// trips, is the number of round trips that come one after the other.
const trip = time.Millisecond

// meter counts calls and round trips between two readings.
type meter struct {
	table *tabletest.Fake
	blob  *blobtest.Fake
	queue *queuetest.Fake

	started time.Time
	before  reading
}

type reading struct {
	table tabletest.Counts
	blob  blobtest.Counts
	sends int
	holds int
}

func newMeter() *meter {
	m := &meter{table: &tabletest.Fake{}, blob: &blobtest.Fake{}, queue: &queuetest.Fake{}}
	m.table.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Slow(trip) }
	m.blob.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Slow(trip) }
	m.queue.Fault = func(c queuetest.Call) queuetest.Fault {
		if c.Method == queuetest.Send || c.Method == queuetest.Extend {
			time.Sleep(trip)
		}
		return queuetest.None
	}
	return m
}

func (m *meter) read() reading {
	calls := m.queue.Calls()
	return reading{m.table.Calls(), m.blob.Calls(), calls[queuetest.Send], calls[queuetest.Extend]}
}

func (m *meter) start() { m.started, m.before = time.Now(), m.read() }

// cost is what calls were made and what they took.
type cost struct {
	Get, Scan, Write, BlobGet, BlobPut, Send, Extend int
	Trips                                            int
	TableBytes, BlobBytes                            int64
}

// stop returns what happened since start.
func (m *meter) stop() cost { return m.since(m.started, m.before) }

// measure returns what happens while something is done.
func (m *meter) measure(do func()) cost {
	started, before := time.Now(), m.read()
	do()
	return m.since(started, before)
}

func (m *meter) since(started time.Time, before reading) cost {
	now := m.read()
	t, b := now.table.Sub(before.table), now.blob.Sub(before.blob)
	return cost{
		Get: t.Get, Scan: t.Scan, Write: t.Write, BlobGet: b.Get, BlobPut: b.Put,
		Send: now.sends - before.sends, Extend: now.holds - before.holds,
		Trips: int(time.Since(started) / trip), TableBytes: t.Bytes, BlobBytes: b.Bytes,
	}
}

// minus is what one costs more than another.
func (c cost) minus(o cost) cost {
	return cost{
		Get: c.Get - o.Get, Scan: c.Scan - o.Scan, Write: c.Write - o.Write, BlobGet: c.BlobGet - o.BlobGet,
		BlobPut: c.BlobPut - o.BlobPut, Send: c.Send - o.Send, Extend: c.Extend - o.Extend, Trips: c.Trips - o.Trips,
		TableBytes: c.TableBytes - o.TableBytes, BlobBytes: c.BlobBytes - o.BlobBytes,
	}
}

func (c cost) calls() int {
	return c.Get + c.Scan + c.Write + c.BlobGet + c.BlobPut + c.Send + c.Extend
}

// turnCosts runs a first turn, then measures the phases of another in the same session.
func turnCosts(t *testing.T, text string) (accepting, asking, working cost) {
	t.Helper()
	m := newMeter()
	asked := 0
	var first cost
	e := newEngine(m.table, m.blob, m.queue, instant{asked: func(string) {
		if asked++; asked == 1 {
			first = m.stop()
		}
	}}, silent{})
	sender := e.pair(t)
	e.accept(t, sender, "hello")
	e.handle(t)
	m.start()
	e.accept(t, sender, text)
	accepting = m.stop()
	asked = 0
	m.start()
	e.handle(t)
	return accepting, first, m.stop()
}

func TestAWebhookMakesAtMostThreeCallsBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		accepting, _, _ := turnCosts(t, "hello")
		t.Logf("accepting: %+v", accepting)
		if accepting.calls() > 3 {
			t.Errorf("a webhook's path makes %d calls: %+v", accepting.calls(), accepting)
		}
	})
}

func TestAModelIsAskedWithinFourRoundTripsOfTheWakeUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, asking, working := turnCosts(t, "hello")
		t.Logf("wake-up to model request: %+v", asking)
		t.Logf("whole turn: %+v", working)
		if asking.Trips > 4 {
			t.Errorf("from wake-up to model request there are %d round trips: %+v", asking.Trips, asking)
		}
	})
}

func TestAStepWithAToolCostsAtMostFiveCallsInFourRoundTrips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, _, plain := turnCosts(t, "hello")
		_, _, tooled := turnCosts(t, "tool")
		calls, trips := tooled.calls()-plain.calls(), tooled.Trips-plain.Trips
		t.Logf("a step with a tool: %d calls in %d round trips", calls, trips)
		if calls > 5 || trips > 4 {
			t.Errorf("a step with a tool costs %d calls in %d round trips", calls, trips)
		}
	})
}
