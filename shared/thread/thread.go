// Package thread keeps an owner's one conversation over all channels: its head, and the messages as the owner sees them.
//
// Records:
//
//	thread#<id> / head                  JSON: owner, status, generation, the last stops
//	thread#<id> / m#<time>#<message>    JSON of Message; time in microseconds, 16 digits
//	thread#<id> / run#<session>         JSON: the running turn; put by claim, deleted by every end
package thread

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// ErrNotFound means that there is no such thread.
var ErrNotFound = errors.New("no such thread")

// Status says whether a thread takes messages.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Archived Status = "archived" // superseded by a newer thread of its owner; nothing runs on it
)

// Head is the thread's mutable head. It changes at a stop or a reset only, so that accepting and claiming can condition
// on its revision.
type Head struct {
	ID         id.Thread
	Owner      id.Owner
	Status     Status
	Generation int64  // how many stops there were
	Stops      []Stop // the last of them, oldest first

	Revision table.Revision // as read
}

type storedHead struct {
	Owner      id.Owner `json:"owner"`
	Status     Status   `json:"status"`
	Generation int64    `json:"generation"`
	Stops      []Stop   `json:"stops,omitempty"`
}

// HeadKey addresses the head.
func HeadKey(thread id.Thread) table.Key {
	return table.Key{Partition: Partition(thread), Sort: "head"}
}

// Put stores the head if it is still as it was read.
func (h Head) Put() table.Op {
	return table.Put(HeadKey(h.ID), table.Encode(storedHead{h.Owner, h.Status, h.Generation, h.Stops}), table.AtOrAbsent(h.Revision))
}

// Unchanged demands that the head is as it was read.
func (h Head) Unchanged() table.Op { return table.Check(HeadKey(h.ID), table.At(h.Revision)) }

// Load reads the head. Errors wrap ErrNotFound or the table's.
func Load(ctx context.Context, t table.Table, thread id.Thread) (Head, error) {
	item, err := t.Get(ctx, HeadKey(thread))
	if err != nil {
		return Head{}, fmt.Errorf("reading thread %s: %w", thread, err)
	}
	if item == nil {
		return Head{}, fmt.Errorf("reading thread %s: %w", thread, ErrNotFound)
	}
	var s storedHead
	if _, err := table.Decode(item, &s); err != nil {
		return Head{}, err
	}
	return Head{
		ID: thread, Owner: s.Owner, Status: s.Status, Generation: s.Generation, Stops: s.Stops, Revision: item.Revision,
	}, nil
}

const runPrefix = "run#"

// RunKey addresses the record that says which turn of a session runs.
func RunKey(thread id.Thread, session id.Session) table.Key {
	return table.Key{Partition: Partition(thread), Sort: runPrefix + string(session)}
}

// PutRun records that a session of the thread has a running turn.
func PutRun(thread id.Thread, session id.Session, turn id.Turn) table.Op {
	return table.Put(RunKey(thread, session), table.Encode(struct {
		Turn id.Turn `json:"turn"`
	}{turn}), table.Absent())
}

// Running lists the sessions of a thread that have a running turn.
func Running(ctx context.Context, t table.Table, thread id.Thread) ([]id.Session, error) {
	var all []id.Session
	q := table.Query{Partition: Partition(thread), Prefix: runPrefix}
	for {
		page, err := t.Scan(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("reading what runs in thread %s: %w", thread, err)
		}
		for _, item := range page.Items {
			all = append(all, id.Session(strings.TrimPrefix(item.Key.Sort, runPrefix)))
		}
		if page.Next == "" {
			return all, nil
		}
		q.After = page.Next
	}
}

// Partition is the partition of all records of a thread, also of those that other packages own.
func Partition(thread id.Thread) string { return "thread#" + string(thread) }
