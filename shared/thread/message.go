package thread

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// From says whose a message is.
type From string

// The senders of messages.
const (
	Owner  From = "owner"
	Agent  From = "agent"
	Notice From = "notice" // from Bobbin itself, not from the model
)

// State says how far a message to the owner has come.
type State string

// The states of delivery.
const (
	Stored   State = ""         // nothing to deliver: the owner's own, or the page's
	Pending  State = "pending"  // in the outbox
	Sent     State = "sent"     // the channel took it
	Repeated State = "repeated" // the channel took it, perhaps for the second time; the owner was told so
	Refused  State = "refused"  // the channel refuses it for good; Error says why
	Lost     State = "unknown"  // it may have arrived; sending it again was given up
)

// Message is one message of the conversation.
type Message struct {
	ID    id.Message
	At    time.Time // to the microsecond
	From  From
	Text  string // Markdown when from the agent
	Via   string // the connection it came through or goes to
	Turn  id.Turn
	State State
	Error string // with Refused and Lost: in words fit for the owner
	// External is the channel's IDs of the message, of each part when there are several.
	External []string
}

type storedMessage struct {
	From     From     `json:"from"`
	Text     string   `json:"text"`
	Via      string   `json:"via"`
	Turn     id.Turn  `json:"turn,omitempty"`
	State    State    `json:"state,omitempty"`
	Error    string   `json:"error,omitempty"`
	External []string `json:"external,omitempty"`
}

// Key addresses the message within its thread.
func (m Message) Key(thread id.Thread) table.Key {
	return table.Key{
		Partition: Partition(thread),
		Sort:      fmt.Sprintf("m#%016d#%s", m.At.UnixMicro(), m.ID),
	}
}

// Put stores the message under a condition.
func (m Message) Put(thread id.Thread, c table.Cond) table.Op {
	return table.Put(m.Key(thread), table.Encode(storedMessage{m.From, m.Text, m.Via, m.Turn, m.State, m.Error, m.External}), c)
}

// Log is one page of a conversation.
type Log struct {
	Messages []Message // oldest first
	Cursor   string    // of the last message of the page, for After; of the first, for Latest; "" when empty
	More     bool
}

// Latest returns the newest messages, at most limit, older than the cursor if one is given.
func Latest(ctx context.Context, t table.Table, thread id.Thread, before string, limit int) (Log, error) {
	log, err := scan(ctx, t, table.Query{
		Partition: Partition(thread), Prefix: "m#", After: before, Limit: limit, Desc: true,
	})
	for i, j := 0, len(log.Messages)-1; i < j; i, j = i+1, j-1 {
		log.Messages[i], log.Messages[j] = log.Messages[j], log.Messages[i]
	}
	return log, err
}

// Cursor is the place behind all messages of that microsecond, for After.
func Cursor(at time.Time) string { return fmt.Sprintf("m#%016d$", at.UnixMicro()) } // $ is what comes next after #

// After returns the oldest messages newer than the cursor, at most limit.
func After(ctx context.Context, t table.Table, thread id.Thread, cursor string, limit int) (Log, error) {
	return scan(ctx, t, table.Query{Partition: Partition(thread), Prefix: "m#", After: cursor, Limit: limit})
}

// Find reads one message; nil if there is none. It is for whoever knows the sort key.
func Find(ctx context.Context, t table.Table, thread id.Thread, sort string) (*Message, table.Revision, error) {
	item, err := t.Get(ctx, table.Key{Partition: Partition(thread), Sort: sort})
	if err != nil || item == nil {
		return nil, "", err
	}
	m, err := decodeMessage(*item)
	if err != nil {
		return nil, "", err
	}
	return &m, item.Revision, nil
}

func scan(ctx context.Context, t table.Table, q table.Query) (Log, error) {
	page, err := t.Scan(ctx, q)
	if err != nil {
		return Log{}, fmt.Errorf("reading messages: %w", err)
	}
	log := Log{Messages: make([]Message, 0, len(page.Items)), More: page.Next != ""}
	for _, item := range page.Items {
		m, err := decodeMessage(item)
		if err != nil {
			return Log{}, err
		}
		log.Messages = append(log.Messages, m)
		log.Cursor = item.Key.Sort
	}
	return log, nil
}

func decodeMessage(item table.Item) (Message, error) {
	var s storedMessage
	if _, err := table.Decode(&item, &s); err != nil {
		return Message{}, err
	}
	var us int64
	var name string
	if _, err := fmt.Sscanf(item.Key.Sort, "m#%016d#%s", &us, &name); err != nil {
		return Message{}, fmt.Errorf("decoding message key %s: %w", item.Key, err)
	}
	return Message{
		ID: id.Message(name), At: time.UnixMicro(us), From: s.From, Text: s.Text, Via: s.Via, Turn: s.Turn,
		State: s.State, Error: s.Error, External: s.External,
	}, nil
}
