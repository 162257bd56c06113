package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/bobbin-agent/bobbin/shared/live"
)

const (
	// heartbeat is how often a quiet stream shows that it is alive, below the patience of proxies.
	heartbeat = 15 * time.Second
	// patience is how long one write of a stream may take before the visitor counts as gone.
	patience = 10 * time.Second
	// maxBurst is the bytes from which on a write is not made any longer.
	maxBurst = 64 << 10
)

// events streams the thread until the visitor goes or the publisher ends it. Every stream begins with a Resync, sent
// after subscribing, so nothing falls between reading the thread and following it; where a stream broke off (its
// Last-Event-ID) is therefore of no interest.
func (s *Site) events(w http.ResponseWriter, r *http.Request, p Person) error {
	if s.Live == nil {
		return refuse(http.StatusNotFound, "This server does not stream.")
	}
	events, cancel := s.Live.Subscribe(p.Thread)
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	out := stream{w: w, control: http.NewResponseController(w)}
	if out.burst(live.Event{Kind: live.Resync}, events) == nil {
		out.follow(r, events)
	}
	return nil // the answer has begun, and an error here only says that nobody reads it
}

type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s stream) follow(r *http.Request, events <-chan live.Event) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return
		case <-beat.C:
			err = s.write([]byte(":\n\n"))
		case e, open := <-events:
			if !open {
				return
			}
			err = s.burst(e, events)
		}
		if err != nil {
			return
		}
	}
}

// burst writes the event and those already waiting behind it, so that they travel together. The publisher may empty
// the channel meanwhile, so it asks for each without waiting.
func (s stream) burst(e live.Event, events <-chan live.Event) error {
	var out []byte
	for more := true; more; {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		out = fmt.Appendf(out, "data: %s\n\n", b)
		if len(out) >= maxBurst {
			break
		}
		e, more = waiting(events)
	}
	return s.write(out)
}

func waiting(events <-chan live.Event) (e live.Event, is bool) {
	select {
	case e, is = <-events:
	default:
	}
	return e, is
}

func (s stream) write(b []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(patience)) // a writer without deadlines has no slow reader
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.control.Flush()
}
