// Package web is the web channel: the page, and the HTTP interface that the page and nothing else uses.
//
//	GET  /              the page; GET /static/… its parts
//	GET  /api/status    which model answers, whether the visitor is known
//	GET  /api/messages  the conversation: its end, what comes ?after= a cursor, what came ?before= one
//	POST /api/messages  accepts one message; answers 202 only once it is stored for good
//	POST /api/stop      {id, thread, ago_ms}: ends all that was begun before it was pressed, ago_ms milliseconds ago
//	POST /api/cancel    {id, thread, turn}: withdraws a message whose turn is still queued
//	POST /api/answer    {id, thread, turn, yes}: says yes or no to what that turn waits to be confirmed
//	POST /api/clear     {id, thread}: puts the conversation away and begins a new one; absent without Clearing
//	GET  /api/waits     what waits for the owner: [{turn, kind, text, asked}], in no order
//	GET  /api/events    what happens now, as server-sent events; absent without Live, and the page polls
//	POST /api/pair      makes this browser the owner's, for a one-time code; absent on a local server
//
// Every answer but the page is JSON; a refusal is {"error": "a sentence for the owner"}. What is sent or pressed has an
// ID, made by the page, that is its idempotency: whatever the page did not hear, it may send again. It also names the
// thread that the owner was looking at: 409 if that is not the active one any more, and also if the inbox refuses.
//
// The page is plain HTML, CSS and ECMAScript modules without a build step, in page/. It loads nothing from elsewhere,
// the policy in its headers forbids it to, and what the model writes becomes DOM nodes, never HTML.
package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/live"
)

// Connection is this channel's name in routes and identities; there is one.
const Connection = channel.Web

// Door takes in what the owner sends and presses. All methods return nil only when what they say is durable, and are
// idempotent by m.Update; errors are classified by fault. Of a command's message only what says whose and which it is
// counts, and of a Stop's also when it was pressed: Sent, and Sequence within that second.
type Door interface {
	// Accept stores the message and its turn, once for each Update.
	Accept(ctx context.Context, now time.Time, m inbox.Message) (inbox.Receipt, error)
	// Pair makes m.Sender the owner's if the code is good (Paired) and uses the code up. Every attempt comes from a
	// sender never seen before, so it is the code's length that must withstand guessing, and a wrong one (Stranger)
	// should leave nothing behind.
	Pair(ctx context.Context, now time.Time, m inbox.Message, code string) (inbox.Receipt, error)
	// Stop ends what runs or waits for the owner and cancels what is queued, as far as it was sent before m.Sent.
	Stop(ctx context.Context, now time.Time, m inbox.Message) (inbox.Receipt, error)
	// Answer says yes or no to what the turn waits to be confirmed: Obeyed, with Told, if that is not open any more.
	Answer(ctx context.Context, now time.Time, m inbox.Message, asked id.Turn, yes bool) (inbox.Receipt, error)
	// Cancel withdraws the owner's message of a turn that is queued: Obeyed, with Told, if it runs already.
	Cancel(ctx context.Context, now time.Time, m inbox.Message, t id.Turn) (inbox.Receipt, error)
	// Clear archives the thread and begins a new one.
	Clear(ctx context.Context, now time.Time, m inbox.Message) (inbox.Receipt, error)
}

// Conversation reads a thread as its owner sees it.
type Conversation interface {
	// After returns the first limit messages behind the cursor; "" is the beginning.
	After(ctx context.Context, thread id.Thread, cursor string, limit int) (Page, error)
	// Before returns the last limit messages ahead of the cursor, in the conversation's order; "" is the end.
	Before(ctx context.Context, thread id.Thread, cursor string, limit int) (Page, error)
	// Waits returns all that the thread waits for its owner to do, in no order.
	Waits(ctx context.Context, thread id.Thread) ([]Wait, error)
}

// Live tells what happens in a thread now; live.Hub is one. A channel that is closed ends the stream, and the page
// comes back.
type Live interface {
	Subscribe(thread id.Thread) (events <-chan live.Event, cancel func())
}

// People finds who is behind an identity of this channel.
type People interface {
	// Find returns ErrStranger if the identity is nobody's.
	Find(ctx context.Context, external string) (Person, error)
}

// ErrStranger says that an identity is nobody's.
var ErrStranger = errors.New("not paired")

// Person is who a request comes from.
type Person struct {
	Owner  id.Owner
	Thread id.Thread // the owner's active one

	external string // the channel's ID of the person
}

// About says what is running here.
type About struct {
	Version  string `json:"version"`
	Model    string `json:"model"`          // "provider:name"
	Scripted bool   `json:"scripted"`       // the model only follows instructions, for trying things out
	Note     string `json:"note,omitempty"` // how to set a real one; plain text, one or two sentences
}

// Site is what the channel needs.
type Site struct {
	Door         Door
	Conversation Conversation
	People       People
	Live         Live // nil where nothing can stream
	About        About
	// Local, if not empty, serves one machine: whoever reaches it is the person with this external ID, and only
	// loopback names are answered. Otherwise a browser is known by its cookie, over HTTPS only.
	Local string
	// Clearing lets the owner clear the conversation.
	Clearing bool
	// Report hears of errors that the owner is told only vaguely, for the log; may be nil. It gets the request's
	// context.
	Report func(context.Context, error)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Handler serves the site. It looks at r.Host, which an adapter of another event format must therefore set.
func Handler(s Site) http.Handler {
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Report == nil {
		s.Report = func(context.Context, error) {}
	}
	mux := http.NewServeMux()
	routePage(mux)
	mux.Handle("GET /api/status", s.answering(s.status))
	mux.Handle("GET /api/messages", s.answering(s.known(s.list)))
	mux.Handle("POST /api/messages", s.answering(s.known(s.post)))
	mux.Handle("GET /api/waits", s.answering(s.known(s.waits)))
	mux.Handle("POST /api/stop", s.command(s.stop))
	mux.Handle("POST /api/cancel", s.command(s.cancel))
	mux.Handle("POST /api/answer", s.command(s.answer))
	mux.Handle("POST /api/clear", s.command(s.clear))
	mux.Handle("GET /api/events", s.answering(s.known(s.events)))
	mux.Handle("POST /api/pair", s.answering(s.pair))
	return s.guard(mux)
}
