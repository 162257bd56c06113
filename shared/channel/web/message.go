package web

import (
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// Message is one message of a thread as the page shows it. Its JSON is the page's interface.
type Message struct {
	ID id.Message `json:"id"`
	// Cursor is the message's place: compared as text, cursors order the conversation. It never changes.
	Cursor string `json:"cursor"`
	// Client is the ID that the page gave a message sent from it (ExternalID of the inbox's message), by which the
	// page knows it again; "" for all others.
	Client  string    `json:"client,omitempty"`
	Turn    id.Turn   `json:"turn,omitempty"` // the turn that it started or that wrote it
	From    From      `json:"from"`
	Text    string    `json:"text"`    // Markdown, but for an owner's, which is plain
	Channel string    `json:"channel"` // the service it came or goes by: "web", "telegram"
	At      time.Time `json:"at"`
	State   State     `json:"state"`
}

// From says who speaks.
type From string

// The speakers.
const (
	FromOwner  From = "owner"
	FromAgent  From = "agent"
	FromNotice From = "notice" // the system: a failed turn, say
)

// State is how far a message is: the first five are an owner's, the last three an agent's or a notice's. A message in
// Queued, Running or Sending is read again by the page until it has left that state.
type State string

// The states.
const (
	Queued    State = "queued"    // its turn has not started
	Running   State = "running"   // its turn runs
	Done      State = "done"      // its turn has ended well, or waits for the owner
	Failed    State = "failed"    // its turn has ended otherwise; a notice says why
	Cancelled State = "cancelled" // its turn was stopped

	Sending   State = "sending"   // on its way to the channel
	Delivered State = "delivered" // the channel has it; for web, it is stored
	Held      State = "held"      // the channel did not take it: it is only here
)

// Page is a piece of the conversation.
type Page struct {
	Messages []Message // in the conversation's order
	More     bool      // there are others in the direction that was asked for
}

// Wait is something the owner is asked for and has not done yet. Its JSON is the page's interface. The agent's last
// message of the turn is the one that asks.
type Wait struct {
	Turn  id.Turn   `json:"turn"` // that ended with it
	Kind  wait.Kind `json:"kind"`
	Text  string    `json:"text"` // Markdown
	Asked time.Time `json:"asked"`
}
