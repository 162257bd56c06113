package table

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/bobbin-agent/bobbin/shared/pause"
)

// Patience of Apply. A store that stays away longer is the caller's problem.
const (
	applyAttempts = 5
	applyPause    = 40 * time.Millisecond // doubled each time, and spread from a half to one and a half of it
)

// Apply writes and settles what can be settled: after an unknown outcome or a refusal it sends the same write again,
// which is safe because a write's ID is also the revision of what it put. It returns nil, a *ConditionError, or, when
// the store would not answer, an error that wraps ErrUnknown or ErrRefused.
//
// A write that was applied on an attempt with unknown outcome and whose records another write has changed since comes
// back as a *ConditionError: the caller reloads, as for any lost race, and finds its own deed in the records.
func Apply(ctx context.Context, t Table, w Write) error {
	unknown := false
	rest := applyPause
	for attempt := 1; ; attempt++ {
		err := t.Write(ctx, w)
		var failed *ConditionError
		switch {
		case err == nil, errors.Is(err, ErrInvalid):
			return err
		case errors.As(err, &failed):
			return err
		}
		unknown = unknown || errors.Is(err, ErrUnknown)
		if attempt == applyAttempts || !pause.For(ctx, Spread(w.ID, attempt, rest)) {
			if unknown && !errors.Is(err, ErrUnknown) {
				return errors.Join(ErrUnknown, err)
			}
			return err
		}
		rest *= 2
	}
}

// Try is Apply for a caller that has to know which condition did not hold: a *ConditionError comes beside the error
// instead of as one.
func Try(ctx context.Context, t Table, w Write) (*ConditionError, error) {
	err := Apply(ctx, t, w)
	if failed, ok := errors.AsType[*ConditionError](err); ok {
		return failed, nil
	}
	return nil, err
}

// Spread returns from a half to one and a half of a pause, so that those who collided don't come back in step. It depends
// on its arguments alone, on who pauses and for the how manyth time, so that a run can be repeated.
func Spread(id string, attempt int, pause time.Duration) time.Duration {
	h := fnv.New32a()
	fmt.Fprint(h, id, attempt)
	return pause/2 + pause*time.Duration(h.Sum32()%1000)/1000
}

// Ours reports whether a failed condition in fact shows that the write had been applied by an earlier attempt: one of
// the records it puts already carries its ID. Implementations call it before they answer with a ConditionError.
func (w Write) Ours(e *ConditionError) bool {
	for _, f := range e.Failed {
		if f.Item != nil && f.Item.Revision == w.Revision() {
			return true
		}
	}
	return false
}
