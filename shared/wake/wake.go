// Package wake is what a wake-up says: that a session has work, or that a conversation has messages to send.
//
// It carries nothing else: what is to be done stands in the table.
package wake

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/queue"
)

// ErrBody means that a wake-up's body is not one.
var ErrBody = errors.New("not a wake-up")

// Up is one wake-up: either Session and Thread are set, or Conversation is.
type Up struct {
	Session      id.Session `json:"session,omitempty"`
	Thread       id.Thread  `json:"thread,omitempty"`
	Conversation string     `json:"conversation,omitempty"` // a route's key
}

// Session asks for a session to be run.
func Session(session id.Session, thread id.Thread) Up { return Up{Session: session, Thread: thread} }

// Conversation asks for a conversation's messages to be sent.
func Conversation(key string) Up { return Up{Conversation: key} }

// Free is the cause of waking a session whose turn waits for a permit, of which one is free since from.
func Free(waiting id.Turn, from string) string { return string(waiting) + "#free#" + from }

// group is the lane of the wake-up: those of a session, or of a conversation, come one after the other.
func (u Up) group() string {
	if u.Session != "" {
		return string(u.Session)
	}
	return id.From("conversation", u.Conversation) // a route's key may be long and hold what a group may not
}

// Message is the wake-up as sent for a cause. A cause asks once: the queue swallows the same cause within minutes, so
// whoever asks again names another.
func (u Up) Message(cause string) queue.Message {
	return queue.Message{Group: u.group(), Dedup: u.dedup(cause), Body: u.body()}
}

// Rescue is the wake-up as the reaper sends it: in a lane of its own, because the ordinary lane may be held by the very
// wake-up whose worker has died.
func (u Up) Rescue(cause string) queue.Message {
	return queue.Message{Group: u.group() + "#rescue", Dedup: u.dedup("rescue#" + cause), Body: u.body()}
}

// dedup keeps a cause of any length and alphabet within what queues take.
func (u Up) dedup(cause string) string { return id.From("wake", u.group(), cause) }

func (u Up) body() string {
	b, err := json.Marshal(u)
	if err != nil {
		panic("encoding a wake-up: " + err.Error()) // strings always encode
	}
	return string(b)
}

// Parse reads a wake-up's body. Errors wrap ErrBody.
func Parse(body string) (Up, error) {
	var u Up
	if err := json.Unmarshal([]byte(body), &u); err != nil {
		return Up{}, fmt.Errorf("%w: %w", ErrBody, err)
	}
	if (u.Session == "") == (u.Conversation == "") || (u.Session == "") != (u.Thread == "") {
		return Up{}, fmt.Errorf("%w: it names not exactly one session or conversation", ErrBody)
	}
	return u, nil
}
