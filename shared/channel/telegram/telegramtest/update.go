package telegramtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// chat is what the server knows of a chat. A chat is known once something came from it.
type chat struct {
	blocked bool
	sent    []Sent
	recent  []time.Time // of messages within the last second
	changed bell        // a message was sent, or an update acknowledged
}

// update is one update that waits to be acknowledged.
type update struct {
	id   int64
	body []byte
	chat *chat
	lane *lane
	done bool
}

// laneKey names a queue: the updates of a lane go out one at a time, in order. Messages and their edits share the lane of
// their chat; other kinds have their own, and may overtake them.
type laneKey struct {
	chat int64
	kind string
}

type lane struct {
	queue   []*update
	running bool // a delivery loop is at work on it
}

// byDefault is what comes without allowed_updates: all but what Telegram documents as left out. The kinds are those that
// tests put in.
var byDefault = []string{
	"message", "edited_message", "channel_post", "edited_channel_post", "business_message", "guest_message",
	"callback_query", "my_chat_member", "stopped_message_generation", "purchased_paid_media",
}

// Say sends a text from the person whose ID is the chat's, in their private chat with the bot, and returns the update's
// ID and the message's.
func (s *Server) Say(person int64, text string) (updateID, messageID int64) {
	message := map[string]any{"text": text}
	if len(text) > 0 && text[0] == '/' {
		message["entities"] = []any{map[string]any{"type": "bot_command", "offset": 0, "length": commandLength(text)}}
	}
	return s.Message(person, message)
}

func commandLength(text string) int {
	for i, c := range text {
		if c == ' ' || c == '\n' {
			return i
		}
	}
	return len(text)
}

// Message sends a message with any content from a person in their private chat, as Say does. What is left out of
// message_id, date, chat and from is filled in.
func (s *Server) Message(person int64, message map[string]any) (updateID, messageID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	messageID = s.newMessageID()
	full := map[string]any{
		"message_id": messageID,
		"date":       time.Now().Unix(),
		"chat":       map[string]any{"id": person, "type": "private", "first_name": "Alex"},
		"from":       map[string]any{"id": person, "is_bot": false, "first_name": "Alex", "language_code": "en"},
	}
	maps.Copy(full, message)
	return s.enqueue(person, "message", full), messageID
}

// Push sends an update of any kind that belongs to a chat (0 for none) and returns its ID; 0 when the bot hasn't asked
// for that kind.
func (s *Server) Push(chat int64, kind string, payload any) (updateID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enqueue(chat, kind, payload)
}

// Body sends an update exactly as it is, its own update_id included, in the lane of a chat.
func (s *Server) Body(chat, updateID int64, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(chat, "message", updateID, body)
}

// SetNextUpdate starts the numbering anew, as Telegram does after an idle week.
func (s *Server) SetNextUpdate(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextUpdate = id
}

func (s *Server) newMessageID() int64 {
	s.nextMessage++
	return s.nextMessage - 1
}

func (s *Server) enqueue(chat int64, kind string, payload any) int64 {
	if !slices.Contains(s.allowed, kind) {
		return 0
	}
	id := s.nextUpdate
	body, err := json.Marshal(map[string]any{"update_id": id, kind: payload})
	if err != nil {
		panic(fmt.Sprintf("telegramtest: an update that is no JSON: %v", err))
	}
	s.nextUpdate++
	s.add(chat, kind, id, body)
	return id
}

func (s *Server) add(chat int64, kind string, id int64, body []byte) {
	if kind == "edited_message" {
		kind = "message"
	}
	l := s.lane(laneKey{chat, kind})
	u := &update{id: id, body: body, chat: s.chat(chat), lane: l}
	s.updates = append(s.updates, u)
	l.queue = append(l.queue, u)
	s.arrived.ring()
	s.deliver(l)
}

func (s *Server) lane(key laneKey) *lane {
	l, ok := s.lanes[key]
	if !ok {
		l = &lane{}
		s.lanes[key] = l
	}
	return l
}

// chat is the chat with an ID, known from now on.
func (s *Server) chat(id int64) *chat {
	c, ok := s.chats[id]
	if !ok {
		c = &chat{}
		s.chats[id] = c
	}
	return c
}

// acknowledge forgets updates that were taken.
func (s *Server) acknowledge(taken func(*update) bool) {
	for _, u := range s.updates {
		if !u.done && taken(u) {
			u.done = true
			u.chat.changed.ring()
		}
	}
	gone := func(u *update) bool { return u.done }
	for _, u := range s.updates {
		if u.done && len(u.lane.queue) > 0 && u.lane.queue[0] == u {
			u.lane.queue = u.lane.queue[1:]
		}
	}
	s.updates = slices.DeleteFunc(s.updates, gone)
}
