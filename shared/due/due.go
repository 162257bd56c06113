// Package due keeps the marks that bring unfinished obligations back: a hint, by time, of what may need a second look.
//
// A mark is put in the same write as its obligation, moved only by the reaper, deleted blind by whoever settles the
// obligation, and dropped by the reaper when it finds it settled. Losing the race to delete one costs a look, nothing
// more.
//
// Records:
//
//	due#<shard> / <time>#<kind>#<subject>    JSON of Mark; shard 00 to 15, time in milliseconds, 13 digits
package due

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// Shards is how many partitions the marks are spread over.
const Shards = 16

// Kind says what obligation a mark stands for.
type Kind string

// The kinds.
const (
	Wake  Kind = "wake"  // a queued turn whose session must be woken
	Lease Kind = "lease" // a running turn whose worker may have died
	Send  Kind = "send"  // a message that must reach its channel
	Stop  Kind = "stop"  // a stop that has been pressed and not been carried out
	// Expire is of what its owner may have taken too long for: an open wait.
	Expire Kind = "expire"
	// Rest is of a session that may have been idle for so long that it is dropped.
	Rest Kind = "rest"
)

// Term reports whether marks of the kind stand for a term that must have passed, rather than for something to be done: it
// is no use to act on one early.
func (k Kind) Term() bool { return k == Expire || k == Rest }

// Mark is one hint.
type Mark struct {
	At      time.Time // when to look
	Kind    Kind
	Subject string // unique among marks of its kind: the turn, the turn and epoch, the message
	Attempt int    // how often the reaper has acted on it

	Session      id.Session // with Wake and Lease
	Thread       id.Thread
	Turn         id.Turn // with Wake and Lease
	Epoch        int64   // with Lease
	Conversation string  // with Send: the route's key
	Record       string  // with Wake and Send: the sort key of what is to be settled

	revision table.Revision // of the mark as scanned
}

type stored struct {
	Kind         Kind   `json:"k"`
	Subject      string `json:"i"`
	Attempt      int    `json:"n,omitempty"`
	Session      string `json:"s,omitempty"`
	Thread       string `json:"t,omitempty"`
	Turn         string `json:"u,omitempty"`
	Epoch        int64  `json:"e,omitempty"`
	Conversation string `json:"c,omitempty"`
	Record       string `json:"r,omitempty"`
}

// Shard is where the mark lives; it depends on the subject only, so that a moved mark stays in its partition.
func (m Mark) Shard() int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(m.Subject)) // never fails
	return int(h.Sum32() % Shards)
}

// Key addresses the mark.
func (m Mark) Key() table.Key {
	return table.Key{
		Partition: partition(m.Shard()),
		Sort:      fmt.Sprintf("%013d#%s#%s", m.At.UnixMilli(), m.Kind, m.Subject),
	}
}

// Put stores the mark; part of the write that creates its obligation.
func (m Mark) Put() table.Op {
	value := table.Encode(stored{
		Kind: m.Kind, Subject: m.Subject, Attempt: m.Attempt, Session: string(m.Session), Thread: string(m.Thread),
		Turn: string(m.Turn), Epoch: m.Epoch, Conversation: m.Conversation, Record: m.Record,
	})
	return table.Put(m.Key(), value, table.Absent())
}

// Settle deletes the mark blind; part of the write that settles its obligation.
func (m Mark) Settle() table.Op { return table.DeleteBlind(m.Key()) }

// Move is the write, without ID, that puts a scanned mark at another time and counts the attempt. A mark that someone
// else moved or dropped meanwhile makes it fail, which is as well.
func (m Mark) Move(at time.Time) []table.Op {
	next := m
	next.At, next.Attempt = at, m.Attempt+1
	if next.Key() == m.Key() {
		next.At = at.Add(time.Millisecond)
	}
	return []table.Op{table.Delete(m.Key(), table.At(m.revision)), next.Put()}
}

// Scan returns up to limit marks of one shard that are due before until, oldest first. A mark that can't be decoded is
// left out.
func Scan(ctx context.Context, t table.Table, shard int, until time.Time, limit int) ([]Mark, error) {
	page, err := t.Scan(ctx, table.Query{
		Partition: partition(shard), Until: fmt.Sprintf("%013d", until.UnixMilli()), Limit: limit,
	})
	if err != nil {
		return nil, fmt.Errorf("scanning due marks of shard %d: %w", shard, err)
	}
	marks := make([]Mark, 0, len(page.Items))
	for _, item := range page.Items {
		if m, ok := decode(item); ok {
			marks = append(marks, m)
		}
	}
	return marks, nil
}

func decode(item table.Item) (Mark, bool) {
	var ms int64
	if _, err := fmt.Sscanf(item.Key.Sort, "%013d#", &ms); err != nil {
		return Mark{}, false
	}
	var s stored
	if _, err := table.Decode(&item, &s); err != nil {
		return Mark{}, false
	}
	return Mark{
		At: time.UnixMilli(ms), Kind: s.Kind, Subject: s.Subject, Attempt: s.Attempt, Session: id.Session(s.Session),
		Thread: id.Thread(s.Thread), Turn: id.Turn(s.Turn), Epoch: s.Epoch, Conversation: s.Conversation,
		Record: s.Record, revision: item.Revision,
	}, true
}

func partition(shard int) string { return fmt.Sprintf("due#%02d", shard) }
