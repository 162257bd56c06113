package model

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-agent/bobbin/shared/pause"
)

// maxRetryAfter is the longest wait that a server can ask for and get: an owner who would wait longer is told the
// server's words at once, since to ask earlier than it said would only be refused again.
const maxRetryAfter = 60 * time.Second

// retryWaits are the waits before the second, third and fourth attempt.
var retryWaits = [...]time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}

// Retry wraps m so that a temporary error is tried again, up to three times, after 2, 4 and 8 seconds; a server that
// asked for a longer wait gets it, up to 60 seconds. Other errors, those of a server that asked for more than that, and
// the last attempt's, are returned as they are; a context that ends during a wait is returned as its own error. Once an
// attempt has shown something, a DeltaRestart goes before the next one, so that a failed attempt leaves no trace.
func Retry(m Model) Model { return retrier{m} }

type retrier struct{ Model }

func (r retrier) Stream(ctx context.Context, req Request, show func(Delta)) (Response, error) {
	for attempt := 0; ; attempt++ {
		shown := false
		resp, err := r.Model.Stream(ctx, req, noting(show, &shown))
		wait, again := retryWait(err, attempt)
		if !again {
			return resp, err
		}
		if shown {
			show(Delta{Kind: DeltaRestart})
		}
		if !pause.For(ctx, wait) {
			return Response{}, ctx.Err()
		}
	}
}

// noting passes deltas on to show and notes that there were some.
func noting(show func(Delta), shown *bool) func(Delta) {
	if show == nil {
		return nil
	}
	return func(d Delta) {
		*shown = true
		show(d)
	}
}

// retryWait says whether an attempt, counted from 0, that ended with err is followed by another, and after what wait.
func retryWait(err error, attempt int) (time.Duration, bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != ErrorTemporary || e.RetryAfter > maxRetryAfter || attempt >= len(retryWaits) {
		return 0, false
	}
	return max(retryWaits[attempt], e.RetryAfter), true
}
