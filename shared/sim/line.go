package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

// line is the queue of a world: first in, first out within a group, which is locked while its first wake-up is hidden.
// Only the scheduler and whom it has let go on touch it.
type line struct {
	groups map[string]*group
	known  map[string]time.Time // until when a wake-up's group and deduplication ID are remembered
	count  int
}

type group struct {
	name   string
	queued []*wakeup
}

// wakeup is one that was sent. It can be held again and again; each hold has a number.
type wakeup struct {
	queue.Message
	group    *group
	visible  time.Time // not delivered before
	receives int
	hold     int // the number of the last hold; it has ended when visible has passed
	held     bool
}

// send appends a wake-up, unless it is known.
func (l *line) send(m queue.Message, now time.Time) *wakeup {
	key := m.Group + " " + m.Dedup
	if until, ok := l.known[key]; ok && now.Before(until) {
		return nil
	}
	if l.known == nil {
		l.known, l.groups = map[string]time.Time{}, map[string]*group{}
	}
	l.known[key] = now.Add(queue.DedupWindow)
	return l.append(m)
}

func (l *line) append(m queue.Message) *wakeup {
	g := l.groups[m.Group]
	if g == nil {
		g = &group{name: m.Group}
		l.groups[m.Group] = g
	}
	u := &wakeup{Message: m, group: g}
	g.queued = append(g.queued, u)
	l.count++
	return u
}

// overtake lets the last wake-up of the group go before the one ahead of it, unless that is held.
func (l *line) overtake(u *wakeup) {
	q := u.group.queued
	if n := len(q); n > 1 && !q[n-2].held {
		q[n-1], q[n-2] = q[n-2], q[n-1]
	}
}

// ready are the groups whose first wake-up can be delivered, by name.
func (l *line) ready(now time.Time) []*group {
	var ready []*group
	for _, g := range l.groups {
		if !now.Before(g.queued[0].visible) {
			ready = append(ready, g)
		}
	}
	slices.SortFunc(ready, func(a, b *group) int { return cmp.Compare(a.name, b.name) })
	return ready
}

// next is when a wake-up becomes visible next; zero for never.
func (l *line) next(now time.Time) time.Time {
	var next time.Time
	for _, g := range l.groups {
		if at := g.queued[0].visible; at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

func (l *line) size() int { return l.count }

// receive hides the first wake-up of the group and returns it with the number of the hold.
func (l *line) receive(g *group, now time.Time) (queue.Delivery, hold) {
	u := g.queued[0]
	u.receives++
	u.hold++
	u.held, u.visible = true, now.Add(queue.Visibility)
	return queue.Delivery{Message: u.Message, Receives: u.receives}, hold{l, u, u.hold}
}

// hold is one receiver's hold on a wake-up.
type hold struct {
	line   *line
	wakeup *wakeup
	number int
}

// lapsed reports whether the wake-up is another's, or free, by now.
func (h hold) lapsed(now time.Time) bool {
	return !h.wakeup.held || h.wakeup.hold != h.number || !now.Before(h.wakeup.visible)
}

func (h hold) hide(until time.Time, held bool) { h.wakeup.visible, h.wakeup.held = until, held }

// remove takes the wake-up out of the queue.
func (h hold) remove() {
	g := h.wakeup.group
	h.wakeup.held = false
	g.queued = slices.DeleteFunc(g.queued, func(u *wakeup) bool { return u == h.wakeup })
	h.line.count--
	if len(g.queued) == 0 {
		delete(h.line.groups, g.name)
	}
}
