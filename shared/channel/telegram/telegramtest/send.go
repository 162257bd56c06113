package telegramtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	maxUnits    = 4096    // UTF-16 units of a text after its markup was read
	maxRawBytes = 1 << 15 // of a text as it was sent
)

// Sent is a message that the bot sent and the server took.
type Sent struct {
	ID       int64
	Chat     int64
	Text     string   // what the person sees
	Raw      string   // what the bot sent: the text with its markup
	Entities []Entity // in the order of their beginnings, outer before inner
	ReplyTo  int64    // the message it answers; 0 for none
	At       time.Time
}

func badRequest(description string) *refusal {
	return &refusal{code: http.StatusBadRequest, description: "Bad Request: " + description}
}

func (s *Server) sendMessage(p params) (any, error) {
	m, err := readMessage(p)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.writable(m.Chat)
	if err != nil {
		return nil, err
	}
	if err := s.reply(&m, value[params](p, "reply_parameters")); err != nil {
		return nil, err
	}
	if err := s.limit(c, m.At); err != nil {
		return nil, err
	}
	m.ID = s.newMessageID()
	c.sent = append(c.sent, m)
	c.changed.ring()
	return map[string]any{
		"message_id": m.ID, "date": m.At.Unix(), "text": m.Text, "from": s.me(),
		"chat": map[string]any{"id": m.Chat, "type": "private", "first_name": "Alex"},
	}, nil
}

// readMessage reads and checks the text and its markup.
func readMessage(p params) (Sent, error) {
	m := Sent{Chat: value[int64](p, "chat_id"), Raw: value[string](p, "text"), At: time.Now()}
	if m.Chat == 0 {
		return m, badRequest("chat_id is empty")
	}
	if len(m.Raw) > maxRawBytes {
		return m, badRequest("text is too long")
	}
	m.Text = m.Raw
	switch mode := strings.ToLower(value[string](p, "parse_mode")); mode {
	case "":
	case "html":
		text, entities, err := ParseHTML(m.Raw)
		if err != nil {
			return m, badRequest("can't parse entities: " + sentence(err.Error()))
		}
		m.Text, m.Entities = text, entities
	default:
		return m, badRequest("unsupported parse_mode")
	}
	return m, checkText(m.Text)
}

// sentence begins with a capital, as the server's words do.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return badRequest("message text is empty")
	case UTF16(strings.TrimSpace(text)) > maxUnits:
		return badRequest("message is too long")
	}
	return nil
}

// writable is the chat, if the bot may write there.
func (s *Server) writable(id int64) (*chat, error) {
	c, ok := s.chats[id]
	if !ok {
		return nil, badRequest("chat not found")
	}
	if c.blocked {
		return nil, &refusal{code: http.StatusForbidden, description: "Forbidden: bot was blocked by the user"}
	}
	return c, nil
}

// reply looks for the message to answer. All that were ever numbered are taken to exist.
func (s *Server) reply(m *Sent, p params) error {
	id := value[int64](p, "message_id")
	if id > 0 && id < s.nextMessage {
		m.ReplyTo = id
	} else if len(p) > 0 && !value[bool](p, "allow_sending_without_reply") {
		return badRequest("message to be replied not found")
	}
	return nil
}

// limit refuses what is more than the chat bears in a second.
func (s *Server) limit(c *chat, now time.Time) error {
	if s.options.ChatPerSecond == 0 {
		return nil
	}
	c.recent = slices.DeleteFunc(c.recent, func(t time.Time) bool { return now.Sub(t) >= time.Second })
	if len(c.recent) >= s.options.ChatPerSecond {
		return tooMany(1)
	}
	c.recent = append(c.recent, now)
	return nil
}

func tooMany(seconds int) *refusal {
	return &refusal{
		code: http.StatusTooManyRequests, retryAfter: seconds,
		description: fmt.Sprintf("Too Many Requests: retry after %d", seconds),
	}
}

func (s *Server) sendChatAction(p params) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.writable(value[int64](p, "chat_id")); err != nil {
		return nil, err
	}
	if value[string](p, "action") != "typing" {
		return nil, badRequest("wrong parameter action in request")
	}
	return true, nil
}

// Block has a person block the bot, or unblock it.
func (s *Server) Block(person int64, blocked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chat(person).blocked = blocked
}

// Know makes a private chat known, as if its person had written before.
func (s *Server) Know(person int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chat(person)
}
