// Package fault says what an error means to a worker: try again, wait, give up and tell, drop, or look first.
//
// Whoever knows wraps the error once, where it arises; whoever acts asks Of. An error that nobody classified means
// GiveUp, because repeating what is not understood is how things happen twice.
package fault

import (
	"context"
	"errors"
	"time"
)

// Action is what a worker does about an error.
type Action uint8

// The actions.
const (
	GiveUp  Action = iota // it will not succeed: end the work and tell whoever waits for it
	Retry                 // nothing happened; the same again may succeed, now or after Verdict.After
	Drop                  // it is not ours to do any more (fenced) or already done (duplicate): stop, silently
	Unknown               // it may have happened: look before doing it again
)

func (a Action) String() string {
	switch a {
	case GiveUp:
		return "give up"
	case Retry:
		return "retry"
	case Drop:
		return "drop"
	case Unknown:
		return "unknown"
	}
	return "invalid"
}

// Verdict is what Of says of an error.
type Verdict struct {
	Action Action
	After  time.Duration // with Retry: wait at least this long first; 0 leaves the wait to the caller
}

// Error is a classified error.
type Error struct {
	Verdict
	Err error // never nil
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// As classifies err; nil stays nil.
func As(action Action, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Verdict: Verdict{Action: action}, Err: err}
}

// RetryAfter classifies err as Retry with a wait that the other side asked for; nil stays nil.
func RetryAfter(after time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Verdict: Verdict{Action: Retry, After: after}, Err: err}
}

// Of says what err means: the outermost classification in its chain; Drop for a cancelled context, whose owner has
// gone; else GiveUp.
func Of(err error) Verdict {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Verdict
	}
	if errors.Is(err, context.Canceled) {
		return Verdict{Action: Drop}
	}
	return Verdict{Action: GiveUp}
}
