package model

import (
	"fmt"
	"time"
)

// ErrorKind says what can be done about a provider's error.
type ErrorKind uint8

// The kinds.
const (
	ErrorOther     ErrorKind = iota // nothing; it ends the turn
	ErrorTemporary                  // overloaded, rate-limited, broken connection: the same request may succeed later
	ErrorOverflow                   // the request does not fit the model's context window
	ErrorAuth                       // the key is missing, wrong or may not use this model
)

func (k ErrorKind) String() string {
	switch k {
	case ErrorOther:
		return "other"
	case ErrorTemporary:
		return "temporary"
	case ErrorOverflow:
		return "overflow"
	case ErrorAuth:
		return "auth"
	}
	return "invalid"
}

// Error is a provider's error. Its text is fit for the owner: the provider's own words, keys cut out.
type Error struct {
	Provider   string
	Kind       ErrorKind
	Status     int           // of HTTP; 0 when there was none
	Message    string        // the provider's own words, keys cut out
	RetryAfter time.Duration // what the provider asked for; 0 when it did not
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %s", e.Provider, e.Message)
	}
	return fmt.Sprintf("%s: %s (HTTP %d)", e.Provider, e.Message, e.Status)
}
