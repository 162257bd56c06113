package telegramtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Call is one call of a method, in the order in which they were answered.
type Call struct {
	Method      string
	Chat        int64 // chat_id; 0 for none
	Params      map[string]json.RawMessage
	Code        int    // the answer's; 0 when the connection was broken off
	Description string // of an answer that isn't ok
	Handled     bool   // what was asked was done, whatever was answered
}

// Text is the call's text parameter.
func (c Call) Text() string { return value[string](c.Params, "text") }

// ParseMode is the call's parse_mode parameter.
func (c Call) ParseMode() string { return value[string](c.Params, "parse_mode") }

// bell wakes all who wait for the next change. It is used with the server's lock held.
type bell struct{ next chan struct{} }

func (b *bell) ring() {
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

func (b *bell) wait() <-chan struct{} {
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// until returns when done says so, asked again at each ring of the bell. Both are used with the lock held.
func (s *Server) until(ctx context.Context, b *bell, done func() bool) error {
	for {
		s.mu.Lock()
		ready, rung := done(), b.wait()
		s.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) record(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	s.happened.ring()
}

// Calls are all calls so far, those of getUpdates included once they were answered.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Attempts are all deliveries to the webhook so far, in the order of their ends.
func (s *Server) Attempts() []Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts)
}

// Sent are the messages that a chat was sent so far, in order.
func (s *Server) Sent(person int64) []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.chats[person]; ok {
		return slices.Clone(c.sent)
	}
	return nil
}

// Waiting is how many updates are not acknowledged.
func (s *Server) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates)
}

// WaitSent returns a chat's messages as soon as there are n.
func (s *Server) WaitSent(ctx context.Context, person int64, n int) ([]Sent, error) {
	s.mu.Lock()
	c := s.chat(person)
	s.mu.Unlock()
	err := s.until(ctx, &c.changed, func() bool { return len(c.sent) >= n })
	sent := s.Sent(person)
	if err != nil {
		return sent, fmt.Errorf("waiting for message %d to chat %d, which has %d: %w", n, person, len(sent), err)
	}
	return sent, nil
}

// WaitAcknowledged returns when all updates of a chat that were put in so far are acknowledged.
func (s *Server) WaitAcknowledged(ctx context.Context, person int64) error {
	s.mu.Lock()
	c, last := s.chat(person), (*update)(nil)
	for _, u := range s.updates {
		if u.chat == c {
			last = u
		}
	}
	s.mu.Unlock()
	if last == nil {
		return nil
	}
	if err := s.until(ctx, &c.changed, func() bool { return last.done }); err != nil {
		return fmt.Errorf("waiting for update %d to be acknowledged: %w", last.id, err)
	}
	return nil
}

// WaitCalls returns the calls of a method as soon as n of them were answered.
func (s *Server) WaitCalls(ctx context.Context, method string, n int) ([]Call, error) {
	var found []Call
	err := s.until(ctx, &s.happened, func() bool {
		found = slices.DeleteFunc(slices.Clone(s.calls), func(c Call) bool { return !strings.EqualFold(c.Method, method) })
		return len(found) >= n
	})
	if err != nil {
		return found, fmt.Errorf("waiting for call %d of %s, after %d: %w", n, method, len(found), err)
	}
	return found, nil
}

// WaitAttempts returns the deliveries to the webhook as soon as there were n.
func (s *Server) WaitAttempts(ctx context.Context, n int) ([]Attempt, error) {
	err := s.until(ctx, &s.happened, func() bool { return len(s.attempts) >= n })
	attempts := s.Attempts()
	if err != nil {
		return attempts, fmt.Errorf("waiting for delivery %d, after %d: %w", n, len(attempts), err)
	}
	return attempts, nil
}
