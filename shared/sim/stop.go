package sim

import (
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// raised is a stop, as its record says, and when it was raised, counted in writes.
type raised struct {
	thread.Stop
	id   string
	in   id.Thread
	put  int
	at   time.Duration
	calm bool // nothing goes wrong
}

// raise follows a stop.
func (a *audit) raise(in string, op *table.Op) {
	var s turn.Stop
	a.read(op, &s)
	if s.Tally.Queued+s.Tally.Running+s.Tally.Waiting > 0 || slices.ContainsFunc(a.stops, func(r *raised) bool {
		return r.in == id.Thread(in) && r.Generation == s.Generation
	}) {
		return // it is being carried out
	}
	a.world.cover.count("stop")
	a.stops = append(a.stops, &raised{s.Stop, s.ID, id.Thread(in), len(a.writes), a.world.elapsed(), a.world.fair()})
}

// hit is the stop that a turn is to end by, which was queued when so many writes had been made; nil if there is none. It
// is decided here anew, by what the owner did: what was sent before the stop, and was there when it came.
func (a *audit) hit(t turn.Turn, put int) *raised {
	i := slices.IndexFunc(a.stops, func(s *raised) bool { return s.hits(t, put) })
	if i < 0 {
		return nil
	}
	return a.stops[i]
}

// hitAll is the stop that was pressed after all that a turn is about; nil if there is none.
func (a *audit) hitAll(t *turnState) *raised {
	i := slices.IndexFunc(a.stops, func(s *raised) bool {
		return s.hits(t.Turn, t.put) && !slices.ContainsFunc(t.took, func(taken id.Turn) bool {
			return !s.hits(a.turns[taken].Turn, a.turns[taken].put)
		})
	})
	if i < 0 {
		return nil
	}
	return a.stops[i]
}

func (s *raised) hits(t turn.Turn, put int) bool {
	before := t.Order <= s.Order
	if t.Route.Key() != s.Conversation {
		before = !t.Created.After(s.Pressed)
	}
	return s.in == t.Thread && put < s.put && before
}

// cancelled checks that a turn was cancelled because its owner wanted that.
func (a *audit) cancelled(c change, t *turnState, before turn.Turn) {
	a.world.cover.count(string(before.Status) + " turn cancelled")
	if s := a.hitAll(t); s != nil {
		if late := a.world.elapsed() - s.at; s.calm && before.Status == turn.Running && late > time.Second {
			a.world.violate("%s was stopped %v after the stop", t.ID, late)
		}
		return
	}
	if before.Status == turn.Queued && a.world.withdrawn(t.ID) || before.Status == turn.Waiting && c.fence != nil {
		return
	}
	a.world.violate("%s turn %s was cancelled, and nobody had asked for it", before.Status, t.ID)
}

// stopped checks that a running turn was stopped, and that it had not taken a message that was sent after the stop.
func (a *audit) stopped(s *sessionState, c change) {
	t := a.turns[s.fence.Turn]
	if a.hitAll(t) == nil {
		a.world.violate("%s stopped %s, which had taken messages %v, not all sent before", c.lane, t.ID, t.took)
	}
}
