package telegramtest

import (
	"context"
	"encoding/json"
	"time"
)

const maxBatch = 100

// getUpdates confirms what is before the offset and returns what is from there on, when there is any, or when the
// timeout is over. A newer call ends an older one.
func (s *Server) getUpdates(ctx context.Context, p params) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook != nil {
		return nil, &refusal{code: 409, description: "Conflict: can't use getUpdates method while webhook is active; " +
			"use deleteWebhook to delete the webhook first"}
	}
	if allowed, ok := p["allowed_updates"]; ok {
		s.allow(allowed)
	}
	s.confirm(value[int64](p, "offset"))
	s.poll++
	s.arrived.ring() // an older call finds that it is not the newest any more
	return s.await(ctx, s.poll, value[int](p, "limit"), value[int](p, "timeout"))
}

// await is called and returns with the lock held.
func (s *Server) await(ctx context.Context, poll, limit, timeout int) (any, error) {
	timer := time.NewTimer(time.Duration(timeout) * s.options.Second)
	defer timer.Stop()
	for over := timeout <= 0; ; {
		switch {
		case s.poll != poll:
			return nil, &refusal{code: 409, description: "Conflict: terminated by other getUpdates request; " +
				"make sure that only one bot instance is running"}
		case len(s.updates) > 0 || over:
			return s.batch(limit), nil
		}
		over = s.pause(ctx, timer)
	}
}

// pause gives the lock away until an update may have arrived; over says that it is no use to wait longer.
func (s *Server) pause(ctx context.Context, timer *time.Timer) (over bool) {
	arrived := s.arrived.wait()
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-arrived:
		return false
	case <-timer.C:
	case <-ctx.Done():
	case <-s.stopped:
	}
	return true
}

func (s *Server) batch(limit int) []json.RawMessage {
	if limit < 1 || limit > maxBatch {
		limit = maxBatch
	}
	updates := []json.RawMessage{}
	for _, u := range s.updates[:min(limit, len(s.updates))] {
		updates = append(updates, u.body)
	}
	return updates
}

// confirm forgets the updates before an offset. One beyond all that exist, from before the numbering started anew,
// confirms nothing; a negative one counts from the end.
func (s *Server) confirm(offset int64) {
	n := len(s.updates)
	if n == 0 || offset == 0 {
		return
	}
	if offset < 0 {
		offset = s.updates[max(0, n+int(offset))].id
	}
	if offset > s.updates[n-1].id+1 {
		return
	}
	s.acknowledge(func(u *update) bool { return u.id < offset })
}

// allow sets the kinds of updates; an empty list is the default one.
func (s *Server) allow(raw json.RawMessage) {
	var kinds []string
	if json.Unmarshal(raw, &kinds) != nil {
		return
	}
	if len(kinds) == 0 {
		kinds = byDefault
	}
	s.allowed = kinds
}
