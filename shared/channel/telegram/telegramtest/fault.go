package telegramtest

import (
	"context"
	"strings"
)

// Fault is what goes wrong with a call. It waits for calls that it fits; the oldest that fits is used.
type Fault struct {
	Method string // the method it is for, "sendMessage"; "" for any
	Chat   int64  // the chat_id it is for; 0 for any
	Times  int    // for how many calls; 0 is one, a negative number all

	// Hold keeps the call back until it is closed, unless it is nil.
	Hold <-chan struct{}
	// DropBefore breaks the connection without doing what was asked; DropAfter does it first.
	DropBefore, DropAfter bool
	// Code, unless it is 0, is answered instead of doing what was asked, with Description, and RetryAfter in seconds.
	Code        int
	Description string
	RetryAfter  int
}

// Inject has a coming call fail.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	s.faults = append(s.faults, &f)
}

// TooManyRequests is the fault of one sendMessage answered with 429.
func TooManyRequests(seconds int) Fault {
	r := tooMany(seconds)
	return Fault{Method: "sendMessage", Code: r.code, Description: r.description, RetryAfter: seconds}
}

// fault takes the fault for a call; the zero Fault when there is none.
func (s *Server) fault(method string, chat int64) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if f.Method != "" && !strings.EqualFold(f.Method, method) || f.Chat != 0 && f.Chat != chat {
			continue
		}
		if f.Times--; f.Times == 0 {
			s.faults = append(s.faults[:i], s.faults[i+1:]...)
		}
		return *f
	}
	return Fault{}
}

func (f Fault) hold(ctx context.Context, stopped <-chan struct{}) {
	if f.Hold == nil {
		return
	}
	select {
	case <-f.Hold:
	case <-ctx.Done():
	case <-stopped:
	}
}

// refusal is an error only if there is one: a nil *refusal would not be a nil error.
func (f Fault) refusal() error {
	if f.Code == 0 {
		return nil
	}
	return &refusal{code: f.Code, description: f.Description, retryAfter: f.RetryAfter}
}
