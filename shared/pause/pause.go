// Package pause waits, unless there is nobody left to wait for.
package pause

import (
	"context"
	"math/rand/v2"
	"time"
)

// For waits that long, not at all if d is not positive, and returns true; false as soon as the context has ended, which
// it may have before.
func For(ctx context.Context, d time.Duration) bool {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// UpTo is For with a random part of most, so that those who met do not meet again.
func UpTo(ctx context.Context, most time.Duration) bool {
	return For(ctx, rand.N(most)+1) //nolint:gosec // spreads callers, guards nothing
}
