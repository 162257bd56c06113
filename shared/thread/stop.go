package thread

import (
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
)

// Place is where a message stands among all of a thread: what a stop is measured against.
type Place struct {
	Session      id.Session `json:"session"`
	Conversation string     `json:"conversation,omitempty"` // a route's key
	Order        string     `json:"order,omitempty"`        // of its message in the conversation
	Generation   int64      `json:"generation,omitempty"`   // of the thread when it was accepted
	Accepted     time.Time  `json:"accepted"`               // by the clock of whoever accepted it
}

// With is where the two stand together: what was sent before a stop is only that of which all was.
func (p Place) With(q Place) Place {
	p.Order = max(p.Order, q.Order)
	p.Generation = max(p.Generation, q.Generation)
	if p.Accepted.Before(q.Accepted) {
		p.Accepted = q.Accepted
	}
	return p
}

// Stop is what the owner stopped: all that was sent before. A stop that arrives late does not hit what was sent after it
// had been pressed.
type Stop struct {
	Generation   int64      `json:"generation"`             // that the thread got by it; 0 for a stop of one session
	Session      id.Session `json:"session,omitempty"`      // the one that is stopped; "" for all of the thread
	Conversation string     `json:"conversation,omitempty"` // in which it was pressed; "" when all is to end, whenever it was sent
	Order        string     `json:"order,omitempty"`        // of the stop in that conversation
	Pressed      time.Time  `json:"pressed"`
}

// Hits reports whether what stands there was sent before the stop. Within the stop's own conversation its order tells,
// elsewhere the clock.
func (s Stop) Hits(p Place) bool {
	switch {
	case s.Session != "" && s.Session != p.Session:
		return false
	case s.Generation > 0 && p.Generation >= s.Generation:
		return false // accepted after it
	case s.Conversation == "":
		return true
	case s.Conversation == p.Conversation:
		return p.Order <= s.Order
	}
	return !p.Accepted.After(s.Pressed)
}

// keptStops is how many stops a thread's head remembers. What was accepted before one that is forgotten counts as stopped:
// of a message that waited through so many, it is not worth knowing whether that one hit it.
const keptStops = 8

// Raise is the head with one more stop of the whole thread, and that stop with its generation.
func (h Head) Raise(s Stop) (Head, Stop) {
	h.Generation++
	s.Generation = h.Generation
	stops := append(slices.Clone(h.Stops), s)
	h.Stops = stops[max(len(stops)-keptStops, 0):]
	return h, s
}

// Stopped reports whether what stands there may not run any more: the thread is archived, or a stop hits it.
func (h Head) Stopped(p Place) bool {
	if h.Status != Active {
		return true
	}
	if p.Generation >= h.Generation {
		return false
	}
	if slices.ContainsFunc(h.Stops, func(s Stop) bool { return s.Hits(p) }) {
		return true
	}
	return p.Generation < h.Generation-int64(len(h.Stops)) // before the oldest that is remembered
}
