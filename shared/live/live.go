// Package live carries what happens in a thread right now to whoever is looking at it: messages stored, turns queued,
// running and ended, the text of a reply as the model writes it.
//
// It is a preview and a nudge, never a record. Nothing waits for it, and what it loses is found by reading the thread
// again; so Publish returns at once, and a subscriber too slow to follow is told to Resync. Hub is the one of a single
// process.
package live

import "github.com/bobbin-agent/bobbin/shared/id"

// Kind says what an Event tells.
type Kind string

// The kinds.
const (
	Stored  Kind = "stored"  // a message was stored or its state changed: read the thread
	Turned  Kind = "turned"  // the turn has reached Event.Status
	Text    Kind = "text"    // the turn's reply goes on with Event.Text
	Restart Kind = "restart" // the turn's reply so far is Event.Text and nothing else; the turn is running
	Resync  Kind = "resync"  // events were lost: forget what was told, read the thread; Restarts follow
)

// Status is how far a turn has come.
type Status string

// The statuses. A turn that waits, fails or is cancelled has ended too: the thread's messages say how.
const (
	Queued  Status = "queued"
	Running Status = "running"
	Ended   Status = "ended" // publish it after the Stored of the reply, so that the preview gives way to the message
)

// Event is one thing that happened in a thread. Its JSON is what the web page reads.
type Event struct {
	Kind    Kind       `json:"kind"`
	Turn    id.Turn    `json:"turn,omitempty"`    // with every kind but Resync; with Stored if a turn made the message
	Message id.Message `json:"message,omitempty"` // with Stored, if the publisher knows it
	Status  Status     `json:"status,omitempty"`  // with Turned
	Text    string     `json:"text,omitempty"`    // with Text and Restart: Markdown
}

// Ending is the events that tell of a turn's end, in their order: read the thread, which has what the turn said, then give
// up the preview.
func Ending(t id.Turn) []Event {
	return []Event{{Kind: Stored, Turn: t}, {Kind: Turned, Turn: t, Status: Ended}}
}
