// Package wait keeps what a session waits for its owner to do: answer a question, confirm an action, fill in a form,
// approve a payment.
//
// A wait is put by the write that ends its turn as waiting, together with the message that asks, and is gone with the
// write that records what became of it. It holds up nothing: other sessions, and newer messages of its own, go on.
//
// Records:
//
//	thread#<id> / wait#<session>#<turn>    JSON of Wait: one that is open; by the turn that ended with it
package wait

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

// Kind says what is waited for.
type Kind string

// The kinds.
const (
	Question     Kind = "question"     // the owner's next message to the session answers it
	Confirmation Kind = "confirmation" // a yes or a no to one action
	Form         Kind = "form"         // a form whose entries the model does not see
	Payment      Kind = "payment"      // the approval of a payment
)

// Term is how long a wait of the kind stays open.
func (k Kind) Term() time.Duration {
	switch k {
	case Confirmation, Form, Payment:
		return 24 * time.Hour
	case Question:
	}
	return 30 * 24 * time.Hour
}

// Action is a call of a tool, stored as the model asked for it, to be made once if the owner says yes.
type Action struct {
	Key       string          `json:"key"` // of the action among all; see tool.Call
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Ask is what a turn asks its owner before it ends as waiting.
type Ask struct {
	Kind   Kind    `json:"kind"`
	Text   string  `json:"text"`             // Markdown, for the owner
	Action *Action `json:"action,omitempty"` // with Confirmation
}

// Wait is an open one.
type Wait struct {
	Ask
	Turn    id.Turn       `json:"turn"` // that ended with it; what continues it names this turn
	Owner   id.Owner      `json:"owner"`
	Thread  id.Thread     `json:"thread"`
	Session id.Session    `json:"session"`
	Route   channel.Route `json:"route"` // of the turn
	Place   thread.Place  `json:"place"` // of the newest message that the turn was about: what a stop is measured against
	Asked   time.Time     `json:"asked"`

	Revision table.Revision `json:"-"`
}

const prefix = "wait#"

// Key addresses the wait with which a turn of a session ended.
func Key(in id.Thread, session id.Session, turn id.Turn) table.Key {
	return table.Key{Partition: thread.Partition(in), Sort: prefix + string(session) + "#" + string(turn)}
}

func (w Wait) key() table.Key { return Key(w.Thread, w.Session, w.Turn) }

// Put lists the operations that open the wait: its record, and the mark at which it expires.
func (w Wait) Put() []table.Op {
	return []table.Op{table.Put(w.key(), table.Encode(w), table.Absent()), w.mark().Put()}
}

// Close lists the operations that close it, if it is as it was read.
func (w Wait) Close() []table.Op {
	return []table.Op{table.Delete(w.key(), table.At(w.Revision)), w.mark().Settle()}
}

// Drop lists the operations that close it, whoever may be closing it meanwhile.
func (w Wait) Drop() []table.Op { return []table.Op{table.DeleteBlind(w.key()), w.mark().Settle()} }

// Expires is when the owner has taken too long.
func (w Wait) Expires() time.Time { return w.Asked.Add(w.Kind.Term()) }

func (w Wait) mark() due.Mark {
	return due.Mark{
		At: w.Expires(), Kind: due.Expire, Subject: string(w.Turn), Thread: w.Thread, Session: w.Session, Turn: w.Turn,
		Record: w.key().Sort,
	}
}

// Find reads the open wait of a turn; nil if there is none.
func Find(ctx context.Context, t table.Table, in id.Thread, session id.Session, turn id.Turn) (*Wait, error) {
	item, err := t.Get(ctx, Key(in, session, turn))
	if err != nil || item == nil {
		return nil, err
	}
	return decode(item)
}

// Open lists the open waits of a thread, or of one of its sessions unless that is "".
func Open(ctx context.Context, t table.Table, in id.Thread, session id.Session) ([]Wait, error) {
	q := table.Query{Partition: thread.Partition(in), Prefix: prefix}
	if session != "" {
		q.Prefix += string(session) + "#"
	}
	var all []Wait
	for {
		page, err := t.Scan(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("reading what thread %s waits for: %w", in, err)
		}
		for i := range page.Items {
			w, err := decode(&page.Items[i])
			if err != nil {
				return nil, err
			}
			all = append(all, *w)
		}
		if page.Next == "" {
			return all, nil
		}
		q.After = page.Next
	}
}

func decode(item *table.Item) (*Wait, error) {
	var w Wait
	var err error
	w.Revision, err = table.Decode(item, &w)
	return &w, err
}

// Closes reports whether a wait of the kind closes when a newer turn of its session begins: byOwner says that the turn
// is the owner's message rather than what continues the wait.
func (k Kind) Closes(byOwner bool) bool {
	switch k {
	case Question, Payment:
		return byOwner
	case Form:
		return true
	case Confirmation:
	}
	return false
}

// Plain reads a message as a plain yes or no; ok is false if it is neither.
func Plain(text string) (yes, ok bool) {
	word := strings.ToLower(strings.Trim(strings.TrimSpace(text), ".!"))
	yes, ok = plain[word]
	return yes, ok
}

var plain = map[string]bool{
	"yes": true, "y": true, "ok": true, "okay": true, "confirm": true, "👍": true,
	"no": false, "n": false, "nope": false, "cancel": false, "👎": false,
	"ja": true, "nein": false, "oui": true, "non": false, "sí": true, "si": true, "sì": true, "да": true, "нет": false,
}
