package inbox

import (
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
)

// MaxTextBytes bounds the text of one message; a channel that takes longer ones answers before accepting.
const MaxTextBytes = 100 << 10

// maxQuoteBytes is what is kept of a quote: both are stored in one record, and JSON may spell them in 2.5 times as many
// bytes.
const maxQuoteBytes = MaxTextBytes / 2

// Message is one message as a channel delivered it, authenticated and decoded.
type Message struct {
	// Update names this delivery among all of the connection (Route.Connection), the same each time it is delivered
	// again. It is the idempotency of accepting.
	Update string
	// Sender is the channel's ID of the person, the key of pairing.
	Sender string
	// ExternalID is the channel's ID of the message, to reply to; "" if it has none.
	ExternalID string
	// Reply is the channel's ID of the message that this one replies to; "" if none.
	Reply string
	// Sent is when it was sent, as the channel says, to the second at least.
	Sent time.Time
	// Sequence orders messages of one second within the connection; a channel without one gives microseconds.
	Sequence int64
	// Text is what the owner wrote, and what stands for it (a sticker's emoji, a place); at most MaxTextBytes.
	Text string
	// Quote is what else came along from third parties (a forwarded text, the message replied to); untrusted. Of a long
	// one the beginning is kept.
	Quote string
	// Group names what the message was sent together with, such as an album, among all of the connection; "" for nothing.
	Group string
	// Route is where the answer goes.
	Route channel.Route
}

// storable is the message as it fits into a record: without what is no text and would be spelt in six bytes, and with a
// quote that leaves room for the text.
func (m Message) storable() Message {
	m.Text = printable(m.Text)
	if m.Quote = printable(m.Quote); len(m.Quote) > maxQuoteBytes {
		m.Quote = strings.ToValidUTF8(m.Quote[:maxQuoteBytes], "") + "…"
	}
	return m
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// Outcome says what became of a message.
type Outcome uint8

// The outcomes. All are success for the channel: what was to be stored is stored, and what is told is on its way.
const (
	Accepted  Outcome = iota + 1 // stored; its turn will run
	Duplicate                    // stored before; nothing new
	Stranger                     // nobody's: the sender gets one fixed reply in all time, and no turn
	Paired                       // the code was good; the sender is the owner from now on
	Refused                      // not taken: the session is busy, or its queue full; Receipt.Told says so
	Obeyed                       // a command was carried out, or nothing was there to be done
)

// Receipt says what became of a message or a command.
type Receipt struct {
	Outcome Outcome
	Turn    id.Turn // with Accepted and Duplicate, if the message made a turn
	Told    string  // with Refused and Obeyed: what the sender is told at once; "" for nothing
}
