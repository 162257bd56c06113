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
	ErrorName                       // the server does not know the model, or has nothing at the address
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
	case ErrorName:
		return "name"
	}
	return "invalid"
}

// Error is a provider's error. Its text is fit for the owner: the provider's own words, or plain ones without addresses;
// keys cut out.
type Error struct {
	Provider   string
	Kind       ErrorKind
	Status     int           // of HTTP; 0 when there was none
	Message    string        // the provider's own words, or plain ones
	Detail     string        // what the operator may want to know beside it, such as addresses; keys cut out, not in the text
	RetryAfter time.Duration // what the provider asked for; 0 when it did not
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %s", e.Provider, e.Message)
	}
	return fmt.Sprintf("%s: %s (HTTP %d)", e.Provider, e.Message, e.Status)
}

// Hint is what the owner can do about it: a sentence, or "" where nothing is known to help.
func (e *Error) Hint() string {
	switch e.Kind {
	case ErrorAuth:
		return "Check the model's key and name in Bobbin's settings."
	case ErrorName:
		return "Check the model's name (BOBBIN_MODEL), and its server's address if one is set (BOBBIN_MODEL_URL)."
	case ErrorOther, ErrorTemporary, ErrorOverflow:
	}
	return ""
}
