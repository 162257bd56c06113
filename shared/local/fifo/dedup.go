package fifo

import (
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

// dedup remembers what was sent within queue.DedupWindow. All entries live equally long, so the oldest is always the
// first to go, and each addition clears away what has expired by then.
type dedup struct {
	known map[sent]struct{}
	order list[remembered]
}

type sent struct{ group, id string }

type remembered struct {
	sent sent
	at   time.Time
}

// add remembers the ID as of now; false if it is known.
func (d *dedup) add(group, id string, now time.Time) bool {
	for d.order.size > 0 && now.Sub(d.order.first().at) >= queue.DedupWindow {
		delete(d.known, d.order.pop().sent)
	}
	s := sent{group, id}
	if _, dup := d.known[s]; dup {
		return false
	}
	if d.known == nil {
		d.known = make(map[sent]struct{})
	}
	d.known[s] = struct{}{}
	d.order.push(remembered{s, now})
	return true
}
