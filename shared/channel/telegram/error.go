package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
)

// APIError is the Bot API's own answer that it did not do what was asked.
type APIError struct {
	Method      string        // "sendMessage"
	Code        int           // error_code, which is the HTTP status
	Description string        // the server's own words
	RetryAfter  time.Duration // with 429: how long to wait; 0 when it doesn't say
	MigrateTo   int64         // the chat's new ID, when it was upgraded; else 0
}

func (e *APIError) Error() string {
	return fmt.Sprintf("Telegram's %s: %s (%d)", e.Method, e.Description, e.Code)
}

// says whether the description holds the words, whatever their case.
func (e *APIError) says(words string) bool {
	return strings.Contains(strings.ToLower(e.Description), words)
}

// tokenRefused says whether the server doesn't know the token; it answers 404 to one that looks wrong.
func (e *APIError) tokenRefused() bool {
	return e.Code == http.StatusUnauthorized || e.Code == http.StatusNotFound
}

// transportError is a call without an answer.
type transportError struct {
	method string
	sent   bool // the server may have seen the request
	err    error
}

func (e *transportError) Error() string {
	return "calling Telegram's " + e.method + ": " + e.err.Error()
}

func (e *transportError) Unwrap() error { return e.err }

// throttled is the wait when a 429 doesn't say how long.
const throttled = 5 * time.Second

// tokenWait is how long a message waits for a token that is refused to be replaced, which people do.
const tokenWait = 5 * time.Minute

// classify says what an error of sending means to whoever sends.
func classify(err error) error {
	if t, ok := errors.AsType[*transportError](err); ok {
		return t.classify()
	}
	e, ok := errors.AsType[*APIError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fault.As(fault.Retry, err) // while it waited for its place in the flow
	case !ok:
		return err
	case e.Code == http.StatusTooManyRequests:
		return fault.RetryAfter(e.wait(), err)
	case e.Code >= http.StatusInternalServerError:
		return fault.As(fault.Unknown, err)
	case e.tokenRefused():
		return fault.RetryAfter(tokenWait, fmt.Errorf("the bot token is refused: %w", err))
	}
	if why := e.reason(); why != "" {
		err = fmt.Errorf("%s: %w", why, err)
	}
	return fault.As(fault.GiveUp, err)
}

func (e *transportError) classify() error {
	switch {
	case e.sent:
		return fault.As(fault.Unknown, e)
	case errors.Is(e.err, context.Canceled):
		return e // whoever sends has gone
	}
	return fault.As(fault.Retry, e)
}

func (e *APIError) wait() time.Duration {
	if e.RetryAfter <= 0 {
		return throttled
	}
	return e.RetryAfter
}

// reason puts a refusal into words for the owner; "" leaves the server's.
func (e *APIError) reason() string {
	switch {
	case e.says("bot was blocked"):
		return "the bot is blocked in this chat"
	case e.says("user is deactivated"):
		return "the Telegram account is deactivated"
	case e.says("chat not found"), e.says("initiate conversation"):
		return "the bot has no such chat; its user must write first"
	case e.MigrateTo != 0:
		return "the chat has moved to another ID"
	case e.Code == http.StatusForbidden:
		return "the bot may not write in this chat"
	}
	return ""
}
