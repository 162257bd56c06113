// Package channel is what the engine knows of a messenger: how a reply is cut into parts, how a part is sent.
//
// Receiving is each channel's own: it ends in inbox.Accept. channel/telegram implements Channel; what goes to the page,
// channel/web, is delivered by being stored.
package channel

import "context"

// Route is where a turn's replies go, fixed when the turn is created.
type Route struct {
	// Connection is which bot or number, not only which service: "telegram-<bot ID>", "web".
	Connection string `json:"connection"`
	// Conversation is the connection's own key of the conversation; on Telegram the chat's ID in decimal.
	Conversation string `json:"conversation"`
	// ReplyTo is the channel's ID of the message that is answered; "" for none.
	ReplyTo string `json:"reply_to,omitempty"`
}

// Key names the conversation among all.
func (r Route) Key() string { return r.Connection + ":" + r.Conversation }

// Part is one piece of a message as the channel sends it. Each field holds the whole piece.
type Part struct {
	Rich  string // in the channel's own markup; "" when only Plain exists
	Plain string // without markup; never empty; sent when the channel refuses Rich
}

// Channel sends through one connection. Methods are safe for concurrent use.
type Channel interface {
	// Render turns Markdown into the parts to send, in order: never none, none empty, each within the channel's limits,
	// whatever the text. The same text always gives the same parts.
	Render(markdown string) []Part
	// Send sends one part, once, and returns the channel's ID of it. Its errors are classified by fault: Retry (not
	// sent; After when the channel says when), GiveUp (the channel refuses: blocked, no such chat), Unknown (it may
	// have been sent).
	Send(ctx context.Context, to Route, part Part) (externalID string, err error)
}

// Web is the page's connection. What goes there is delivered by being stored in the thread.
const Web = "web"

// Stored reports whether a message on the route is delivered by being stored: nobody has to send it.
func (r Route) Stored() bool { return r.Connection == Web }
