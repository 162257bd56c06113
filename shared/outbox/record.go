// Package outbox brings messages to their channels: written with what they report, sent in order per conversation, each
// part once, or told to be possibly twice.
//
// No channel takes an idempotency key. So a part is marked before it is sent and confirmed after, and whoever finds a
// mark without confirmation sends it once more, a while later, with a line that says so: never silently twice. Of a reply
// that may have been lost all the same a notice follows: never silently lost.
//
// Records:
//
//	conv#<route> / o#<time>#<message>    JSON of Row: a message to send; gone once settled
//	conv#<route> / head                  JSON of Head: who is sending in this conversation, until when
//	ref#<route>#<external ID> / -        JSON of Ref: what a reply to a sent message belongs to, for whoever routes
//	                                     replies; may go 90 days after the message
package outbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

// Row is a message on its way.
type Row struct {
	Thread  id.Thread      `json:"thread,omitempty"`  // "" when it belongs to none: a stranger's
	Message string         `json:"message,omitempty"` // the sort key of the message in the thread
	Route   channel.Route  `json:"route"`
	From    thread.From    `json:"from"`
	Text    string         `json:"text"` // Markdown
	Session id.Session     `json:"session,omitempty"`
	Turn    id.Turn        `json:"turn,omitempty"`
	Part    int            `json:"part,omitempty"`    // the first part not confirmed
	Sending int            `json:"sending,omitempty"` // how often that part's sending has begun
	Doubt   bool           `json:"doubt,omitempty"`   // some part was sent twice, perhaps
	Missed  bool           `json:"missed,omitempty"`  // it is the notice that another may not have arrived
	Sent    []string       `json:"sent,omitempty"`    // the channel's IDs of the confirmed parts
	After   time.Time      `json:"after,omitzero"`    // not before: the channel asked to wait
	Tries   int            `json:"tries,omitempty"`   // how often sending was put off
	Born    table.Revision `json:"born,omitempty"`    // of the message in the thread; "" as long as it is the row's own

	At       time.Time      `json:"-"` // when the message stands in its thread, to the microsecond; with ID, the row's place
	ID       id.Message     `json:"-"`
	Revision table.Revision `json:"-"`
}

// Ref says what a reply to a message of ours belongs to.
type Ref struct {
	Thread  id.Thread  `json:"thread"`
	Session id.Session `json:"session"`
	Turn    id.Turn    `json:"turn"`
}

// Answered reads what a reply to the message with the channel's ID belongs to; nil if that is not known, or not any more.
func Answered(ctx context.Context, t table.Table, to channel.Route, external string) (*Ref, error) {
	item, err := t.Get(ctx, refKey(to.Key(), external))
	if err != nil || item == nil {
		return nil, err
	}
	var r Ref
	_, err = table.Decode(item, &r)
	return &r, err
}

// rowsPrefix begins the sort keys of rows.
const rowsPrefix = "o#"

// refTerm is how long it is known what a reply to a message belongs to.
const refTerm = 90 * 24 * time.Hour

// firstLook is when the reaper asks what became of a message that nobody confirmed.
const firstLook = 30 * time.Second

// Partition holds what is to be sent in a conversation.
func Partition(conversation string) string { return "conv#" + conversation }

func (r Row) key() table.Key {
	return table.Key{Partition: Partition(r.Route.Key()), Sort: r.sort()}
}

func (r Row) sort() string { return fmt.Sprintf("%s%016d#%s", rowsPrefix, r.At.UnixMicro(), r.ID) }

// readRow decodes a row and its place. A record that Enqueue can't have put is an error.
func readRow(item *table.Item) (Row, error) {
	var r Row
	var err error
	if r.Revision, err = table.Decode(item, &r); err != nil {
		return Row{}, err
	}
	at, name, _ := strings.Cut(strings.TrimPrefix(item.Key.Sort, rowsPrefix), "#")
	us, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return Row{}, fmt.Errorf("decoding the key of %s: %w", item.Key, err)
	}
	r.At, r.ID = time.UnixMicro(us), id.Message(name)
	if r.key() != item.Key {
		return Row{}, fmt.Errorf("decoding the key of %s: it should be %s", item.Key, r.key())
	}
	return r, nil
}

func (r Row) put(c table.Cond) table.Op { return table.Put(r.key(), table.Encode(r), c) }

// mark is the row's due mark, as put with it.
func (r Row) mark() due.Mark {
	return due.Mark{
		At: r.At.Add(firstLook), Kind: due.Send, Subject: string(r.ID), Conversation: r.Route.Key(),
		Record: r.sort(), Thread: r.Thread,
	}
}

// Enqueue returns the operations that put a message into its thread and, unless storing is delivering, into the outbox
// with its due mark. They belong into the write of what the message reports. m.At orders it in both.
func Enqueue(r Row, m thread.Message) []table.Op {
	m.Via = r.Route.Connection
	if r.Route.Stored() {
		m.State = thread.Stored
		return []table.Op{m.Put(r.Thread, table.Absent())}
	}
	m.State = thread.Pending
	r.At, r.ID, r.From, r.Text = m.At, m.ID, m.From, m.Text
	if r.Thread == "" {
		return []table.Op{r.put(table.Absent()), r.mark().Put()}
	}
	r.Message = m.Key(r.Thread).Sort
	return []table.Op{r.put(table.Absent()), r.mark().Put(), m.Put(r.Thread, table.Absent())}
}
