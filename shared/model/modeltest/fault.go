package modeltest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// FaultKind says what goes wrong.
type FaultKind uint8

// The kinds. After counts events of the stream, which begins with Anthropic's message_start or OpenAI's role chunk.
const (
	FaultNone        FaultKind = iota // nothing, but for Hold
	FaultStatus                       // an error status instead of an answer: Status, with RetryAfter
	FaultBreak                        // the connection breaks off after After events
	FaultBreakInCall                  // the connection breaks off within the arguments of the first tool call
	FaultErrorEvent                   // an overload comes as an event inside the successful stream, after After events
	FaultRepeat                       // the event after After others is sent twice
)

// Fault is what goes wrong with one request.
type Fault struct {
	Kind       FaultKind
	Status     int           // of FaultStatus; 429 if 0
	RetryAfter time.Duration // of FaultStatus; in whole seconds
	After      int
	// Hold keeps the request waiting until the channel is closed, if there is one.
	Hold <-chan struct{}
}

// Fail gives the next requests one fault each, in order.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// hold waits as long as the fault says; false if the client went away meanwhile.
func (f Fault) hold(ctx context.Context) bool {
	if f.Hold == nil {
		return true
	}
	select {
	case <-f.Hold:
		return true
	case <-ctx.Done():
		return false
	}
}

// statusOverloaded is Anthropic's own status.
const statusOverloaded = 529

// problem is an error that a vendor tells in its words.
type problem struct {
	status     int
	kind       string // Anthropic's error type
	code       string // OpenAI's error code
	message    string
	retryAfter time.Duration
	overflow   bool
}

func (f Fault) problem() problem {
	p := problem{status: f.Status, retryAfter: f.RetryAfter}
	if p.status == 0 {
		p.status = http.StatusTooManyRequests
	}
	switch p.status {
	case http.StatusTooManyRequests:
		p.kind, p.message = "rate_limit_error", "This request would exceed your rate limit."
	case statusOverloaded:
		p.kind, p.message = "overloaded_error", "Overloaded"
	case http.StatusUnauthorized:
		p.kind, p.message = "authentication_error", "invalid x-api-key"
	case http.StatusForbidden:
		p.kind, p.message = "permission_error", "Your key does not have permission to use this model."
	case http.StatusRequestEntityTooLarge:
		p.kind, p.message = "request_too_large", "Request exceeds the maximum size"
	default:
		p.kind, p.message = "api_error", "Internal server error"
	}
	return p
}

// header sets what goes with every refusal.
func (p problem) header(w http.ResponseWriter) {
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(p.retryAfter.Seconds())))
	}
}

// stream writes events, and lets the fault happen where it is due.
type stream struct {
	w      http.ResponseWriter
	fault  Fault
	vendor vendor
	sent   int
	begun  bool
	over   bool // nothing more is sent
	broken bool // the connection is to be dropped
}

// send writes one event.
func (s *stream) send(frame []byte) {
	switch {
	case s.over:
		return
	case s.fault.Kind == FaultBreak && s.sent == s.fault.After:
		s.begin()
		s.over, s.broken = true, true
		return
	case s.fault.Kind == FaultErrorEvent && s.sent == s.fault.After:
		s.fail(Fault{Status: statusOverloaded}.problem())
		return
	case s.fault.Kind == FaultRepeat && s.sent == s.fault.After:
		s.write(frame)
	}
	s.write(frame)
	s.sent++
}

// inCall is told after the first piece of a tool call's arguments.
func (s *stream) inCall() {
	if s.fault.Kind == FaultBreakInCall {
		s.over, s.broken = true, true
	}
}

// fail ends the stream with an error event.
func (s *stream) fail(p problem) {
	s.write(s.vendor.event(p))
	s.over = true
}

func (s *stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
	s.flush()
}

func (s *stream) write(frame []byte) {
	s.begin()
	_, _ = s.w.Write(frame) // a client that has gone ends the request's context, which the model watches
	s.flush()
}

func (s *stream) flush() { _ = http.NewResponseController(s.w).Flush() }

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// mustJSON marshals what is made of strings, numbers and maps here, which cannot fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
