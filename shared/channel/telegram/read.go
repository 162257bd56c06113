package telegram

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/inbox"
)

// reading is what an update means: ignored, or one of the door's methods with its message.
type reading struct {
	ignored Outcome // not 0: nothing to do
	message inbox.Message
	code    string // not "": Pair
	stop    bool   // Stop
	tell    string // not "": Tell
}

// read says what an update means. It decides alone from what is given.
func read(u Update, bot int64, now time.Time) reading {
	if u.Kind != kindMessage {
		return reading{ignored: OtherKind}
	}
	m := u.message()
	if m == nil {
		return reading{ignored: Unreadable}
	}
	if o := refuse(m); o != 0 {
		return reading{ignored: o}
	}
	in := reading{message: envelope(u, m, bot, now)}
	in.fill(m, bot)
	return in
}

// refuse says why a message is not a person's in a private chat; 0 when it is. A message of a business connection has
// the look of a private one, but its chat is the owner's with somebody else.
func refuse(m object) Outcome {
	chat, from := field[object](m, "chat"), field[object](m, "from")
	switch {
	case field[string](chat, "type") != "private" || m.has("business_connection_id", "guest_query_id"):
		return OtherChat
	case field[int64](chat, "id") == 0 || field[int64](from, "id") == 0:
		return NotPerson
	case field[bool](from, "is_bot") || m.has("sender_chat"):
		return NotPerson
	}
	return 0
}

// envelope is all of the message but its words.
func envelope(u Update, m object, bot int64, now time.Time) inbox.Message {
	chat, id := field[int64](field[object](m, "chat"), "id"), field[int64](m, "message_id")
	sent := now
	if date := field[int64](m, "date"); date > 0 {
		sent = time.Unix(date, 0).UTC()
	}
	external := messageName(id)
	return inbox.Message{
		Update:     updateKey(u.ID, chat, id),
		Sender:     strconv.FormatInt(field[int64](field[object](m, "from"), "id"), 10),
		ExternalID: external,
		Reply:      repliesTo(m, chat),
		Sent:       sent,
		Sequence:   u.ID,
		Route: channel.Route{
			Connection:   Connection(bot),
			Conversation: strconv.FormatInt(chat, 10),
			ReplyTo:      external,
		},
	}
}

// messageName is a message's ID in decimal; "" for 0, which is none.
func messageName(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// repliesTo is the ID of the message of the same chat that this one replies to; "" for none. What is replied to in
// another chat comes as external_reply, and its ID would mean another message here.
func repliesTo(m object, chat int64) string {
	reply := field[object](m, "reply_to_message")
	if field[int64](field[object](reply, "chat"), "id") != chat {
		return ""
	}
	return messageName(field[int64](reply, "message_id"))
}

// updateKey names a delivery. The update's ID alone would do, if it did not start anew at random after an idle week: it
// could then meet one that is still remembered, and a new message would be taken for an old one. The message's ID alone
// can be 0 or restart. Together they don't meet.
func updateKey(update, chat, message int64) string {
	return fmt.Sprintf("%d/%d/%d", update, chat, message)
}

// fill decides about the words.
func (in *reading) fill(m object, bot int64) {
	text, attached := words(m), attachment(m)
	in.message.Text, in.message.Quote = text, replyQuote(m, bot)
	if m.has("media_group_id") {
		in.message.Group = albumKey(m["media_group_id"], in.message.Route.Conversation)
	}
	if card, own := contact(m, field[int64](field[object](m, "from"), "id")); card != "" {
		in.share(card, own || forwarded(m))
	} else if text == "" {
		in.wordless(m, attached)
		return
	}
	if forwarded(m) {
		in.forward(forwardAuthor(m))
	} else {
		in.command(field[string](m, "text"))
	}
	if attached != "" && m.has("caption") {
		in.message.Text += "\n\n[" + attached + " came with this message; it can't be read yet]"
	}
	in.bound()
}

// share takes a contact card: the owner's words when it is their own (or about to be moved by forward), else a third
// party's.
func (in *reading) share(card string, asText bool) {
	if asText {
		in.message.Text = card
		return
	}
	in.message.Text = "[Shared a contact.]"
	in.quote(card)
}

// wordless answers what can't be read, and ignores what says nothing.
func (in *reading) wordless(m object, attached string) {
	switch {
	case attached == "":
		in.ignored = NoContent
	case m.has("media_group_id"):
		// One answer for the whole album, whose parts come one by one, each in an update of its own.
		in.message.Update = albumKey(m["media_group_id"], in.message.Route.Conversation)
		in.message.Text = "[an album]"
		in.tell = "I can't read what is in an album yet, only its caption."
	default:
		in.message.Text = bracket(attached)
		in.tell = "I can't read " + attached + " yet. Please tell me in words what it is about."
	}
}

// albumKey names the delivery of an album by its ID, whatever that is: hashed, so that one of any length and type makes a
// key, the same for the same bytes.
func albumKey(group json.RawMessage, conversation string) string {
	sum := sha256.Sum256(group)
	return "album-" + hex.EncodeToString(sum[:16]) + "-" + conversation
}

// forward moves the words to where third parties' words go: the owner wrote none of them.
func (in *reading) forward(author string) {
	in.quote(attributed("Forwarded from ", author, in.message.Text))
	in.message.Text = "[Forwarded a message.]"
}

func (in *reading) quote(text string) {
	if in.message.Quote != "" {
		text = in.message.Quote + "\n\n" + text
	}
	in.message.Quote = text
}

// bound holds the inbox's limit. Telegram's own is 4096 characters, so only a server that isn't Telegram gets here.
func (in *reading) bound() {
	if len(in.message.Text) <= inbox.MaxTextBytes && len(in.message.Quote) <= inbox.MaxTextBytes {
		return
	}
	in.code, in.message.Text, in.message.Quote = "", "[a message that is too long]", ""
	in.tell = "That message is too long for me. Please send it in smaller pieces."
}
