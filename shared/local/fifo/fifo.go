// Package fifo is the wake-up queue of one process: the whole of shared/queue in memory.
//
// It keeps nothing across a restart, on purpose: every wake-up stands for a due mark in the table, and whoever sweeps
// the marks sends again what a restart lost. Thousands of groups are cheap: an operation costs the same however many
// there are, a wake-up costs one small record, a group that is empty costs nothing, and a queue that idles does nothing
// at all.
//
// Deduplication IDs are remembered group by group.
package fifo

import (
	"context"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

// Queue is a queue.Sender and queue.Receiver. The zero Queue is empty and ready; it must not be copied.
type Queue struct {
	mu     sync.Mutex
	groups map[string]*group // those that hold a wake-up
	ready  list[*group]      // those whose first wake-up may be delivered now, longest ready first
	seen   dedup
	bell   chan struct{} // holds one token when something may be ready
}

// group is the wake-ups of one group. At most its first is held or hidden; while it is, none is delivered.
type group struct {
	name   string
	queued list[wakeup]
	hidden bool
	until  time.Time // while hidden: when that ends
	holder uint64    // counts holds; a lease is good while its number is this one and held is set
	held   bool
	timer  *time.Timer // ends hiding; made at the first hold, used again for all later ones
}

type wakeup struct {
	message  queue.Message
	receives int
}

var (
	_ queue.Sender   = (*Queue)(nil)
	_ queue.Receiver = (*Queue)(nil)
)

// Send stores the wake-up. It never waits.
func (q *Queue) Send(ctx context.Context, m queue.Message) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if err := refuseEnded(ctx); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.seen.add(m.Group, m.Dedup, time.Now()) {
		return nil
	}
	g := q.group(m.Group)
	g.queued.push(wakeup{message: m})
	if g.queued.size == 1 {
		q.offer(g)
	}
	return nil
}

// Receive waits for wake-ups and returns at most most, each of another group.
func (q *Queue) Receive(ctx context.Context, most int) ([]queue.Delivery, error) {
	if err := queue.CheckReceive(most); err != nil {
		return nil, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		got, bell := q.take(most)
		if len(got) > 0 {
			return got, nil
		}
		select {
		case <-bell:
		case <-ctx.Done():
		}
	}
}

// take delivers what is ready, and rings for the next receiver if it leaves something.
func (q *Queue) take(most int) ([]queue.Delivery, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var got []queue.Delivery
	for len(got) < most && q.ready.size > 0 {
		got = append(got, q.deliver(q.ready.pop()))
	}
	if q.ready.size > 0 {
		q.ring()
	}
	return got, q.door()
}

func (q *Queue) deliver(g *group) queue.Delivery {
	w := g.queued.first()
	w.receives++
	g.holder++
	g.held = true
	q.hide(g, queue.Visibility)
	return queue.Delivery{Message: w.message, Receives: w.receives, Lease: &lease{queue: q, group: g, holder: g.holder}}
}

// hide keeps everything of the group back for d from now.
func (q *Queue) hide(g *group, d time.Duration) {
	g.hidden, g.until = true, time.Now().Add(d)
	if g.timer == nil {
		g.timer = time.AfterFunc(d, func() { q.lapse(g) })
		return
	}
	g.timer.Reset(d)
}

// lapse offers the group's first wake-up again. A timer that fired while its group was hidden anew comes too early and
// changes nothing: it has been set again.
func (q *Queue) lapse(g *group) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if g.hidden && !time.Now().Before(g.until) {
		q.offer(g)
	}
}

// offer makes the group's first wake-up deliverable and ends whatever hold there was.
func (q *Queue) offer(g *group) {
	g.held, g.hidden = false, false
	q.ready.push(g)
	q.ring()
}

// remove drops the group's first wake-up, which the caller holds, and offers the next.
func (q *Queue) remove(g *group) {
	g.timer.Stop()
	g.queued.pop()
	if g.queued.size > 0 {
		q.offer(g)
		return
	}
	g.held, g.hidden = false, false
	delete(q.groups, g.name)
}

func (q *Queue) group(name string) *group {
	g := q.groups[name]
	if g == nil {
		if q.groups == nil {
			q.groups = make(map[string]*group)
		}
		g = &group{name: name}
		q.groups[name] = g
	}
	return g
}

func (q *Queue) door() chan struct{} {
	if q.bell == nil {
		q.bell = make(chan struct{}, 1)
	}
	return q.bell
}

func (q *Queue) ring() {
	select {
	case q.door() <- struct{}{}:
	default:
	}
}
