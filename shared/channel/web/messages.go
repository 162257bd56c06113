package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
)

const (
	// pageSize is how many messages one answer lists.
	pageSize = 50
	// maxBody bounds the bytes of a posted message: its text, with room for JSON's escapes.
	maxBody = 2*inbox.MaxTextBytes + 4<<10
	// maxCursor bounds the bytes of a cursor, which ends up in a key.
	maxCursor = 512
)

func (s *Site) list(w http.ResponseWriter, r *http.Request, p Person) error {
	after, before := r.FormValue("after"), r.FormValue("before")
	if after != "" && before != "" || len(after) > maxCursor || len(before) > maxCursor {
		return refuse(http.StatusBadRequest, "Ask for what is after one place, or before one.")
	}
	var page Page
	var err error
	if after != "" {
		page, err = s.Conversation.After(r.Context(), p.Thread, after, pageSize)
	} else {
		page, err = s.Conversation.Before(r.Context(), p.Thread, before, pageSize)
	}
	if err != nil {
		return err
	}
	if page.Messages == nil {
		page.Messages = []Message{}
	}
	return reply(w, http.StatusOK, struct {
		Thread   id.Thread `json:"thread"`
		Messages []Message `json:"messages"`
		More     bool      `json:"more"`
	}{p.Thread, page.Messages, page.More})
}

// posted is what all that the page posts to the conversation begins with.
type posted struct {
	ID     string    `json:"id"`     // a UUID in lower case, new for each message or press, the same for each attempt
	Thread id.Thread `json:"thread"` // the one that the owner was looking at; the active one if it is left out
}

func (m posted) check(p Person) error {
	switch {
	case !isUUID(m.ID):
		return refuse(http.StatusBadRequest, "The ID must be a UUID.")
	case m.Thread != "" && m.Thread != p.Thread:
		return refuse(http.StatusConflict, "The conversation was cleared before this was sent.")
	}
	return nil
}

// sent is a message as the page posts it.
type sent struct {
	posted
	Text string `json:"text"`
}

func (m sent) check(p Person) error {
	switch {
	case strings.TrimSpace(m.Text) == "":
		return refuse(http.StatusBadRequest, "The message is empty.")
	case len(m.Text) > inbox.MaxTextBytes:
		return refuse(http.StatusRequestEntityTooLarge, "The message is too long: 100 KB is the most.")
	}
	return m.posted.check(p)
}

// post accepts one message. After Accept it is durable, and so is its wake-up: a crash before the answer makes the page
// send it again under the same ID, which is a Duplicate.
func (s *Site) post(w http.ResponseWriter, r *http.Request, p Person) error {
	var m sent
	if err := decode(w, r, maxBody, &m); err != nil {
		return err
	}
	if err := m.check(p); err != nil {
		return err
	}
	now := s.Now()
	receipt, err := s.Door.Accept(r.Context(), now, message(now, p.external, m.ID, m.Text, string(p.Thread)))
	if err != nil {
		return err
	}
	return acknowledge(w, http.StatusAccepted, receipt)
}

// acknowledge answers what became of a message or a command.
func acknowledge(w http.ResponseWriter, status int, receipt inbox.Receipt) error {
	var outcome string
	switch receipt.Outcome {
	case inbox.Accepted:
		outcome = "accepted"
	case inbox.Duplicate:
		outcome = "duplicate"
	case inbox.Obeyed:
		outcome = "obeyed"
	case inbox.Refused:
		return refuse(http.StatusConflict, receipt.Told)
	case inbox.Stranger, inbox.Paired: // unpaired since it was found
		return refuse(http.StatusUnauthorized, "This browser is not paired any more.")
	}
	return reply(w, status, struct {
		Turn    id.Turn `json:"turn,omitempty"`
		Outcome string  `json:"outcome"`
		Told    string  `json:"told,omitempty"`
	}{receipt.Turn, outcome, receipt.Told})
}

func message(now time.Time, sender, update, text, conversation string) inbox.Message {
	return inbox.Message{
		Update: update, Sender: sender, ExternalID: update,
		Sent: now, Sequence: now.UnixMicro(), Text: text,
		Route: channel.Route{Connection: Connection, Conversation: conversation},
	}
}

// isUUID reports whether s is the lower-case text of a UUID: one ID has one spelling, or idempotency has a hole.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'f'
		if dash != (s[i] == '-') || !dash && !hex {
			return false
		}
	}
	return true
}
