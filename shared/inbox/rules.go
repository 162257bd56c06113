package inbox

import "time"

// Rules is how a connection's messages are taken. The zero value is good: messages steer, each one for itself, in their
// owner's one session.
type Rules struct {
	Busy     Busy          // what becomes of a message while its session works; "" is Steer
	Debounce time.Duration // messages that come within it become one turn; 0: each its own
	Scope    Scope         // "" is OwnerScope
	Reset    string        // the text that drops the conversation's session; "" for none
}

// Busy says what becomes of a message that comes while its session works.
type Busy string

// What becomes of it: the turn that runs takes it in, it waits for a turn of its own, or its sender is told to wait.
const (
	Steer   Busy = "steer"
	QueueUp Busy = "queue"
	Refuse  Busy = "refuse"
)

// Scope says which messages share a session.
type Scope string

// The scopes: all that an owner writes on the connection's channel, or what is written in one conversation.
const (
	OwnerScope        Scope = "owner"
	ConversationScope Scope = "conversation"
)
