// Package thread keeps an owner's one conversation over all channels: its head, and the messages as the owner sees them.
//
// Records:
//
//	thread#<id> / head                  JSON: owner, status, generation
//	thread#<id> / m#<time>#<message>    JSON of Message; time in microseconds, 16 digits
//	thread#<id> / run#<session>         JSON: the running turn and its epoch; put by claim, deleted by every end
package thread

import (
	"context"
	"errors"
	"fmt"

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
	Generation int64 // how many stops there were; a queued turn of an older generation does not run

	Revision table.Revision // as read
}

type storedHead struct {
	Owner      id.Owner `json:"owner"`
	Status     Status   `json:"status"`
	Generation int64    `json:"generation"`
}

// HeadKey addresses the head.
func HeadKey(thread id.Thread) table.Key {
	return table.Key{Partition: partition(thread), Sort: "head"}
}

// Put stores the head if it is still as it was read.
func (h Head) Put() table.Op {
	return table.Put(HeadKey(h.ID), table.Encode(storedHead{h.Owner, h.Status, h.Generation}), table.AtOrAbsent(h.Revision))
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
	return Head{ID: thread, Owner: s.Owner, Status: s.Status, Generation: s.Generation, Revision: item.Revision}, nil
}

// RunKey addresses the record that says which turn of a session runs.
func RunKey(thread id.Thread, session id.Session) table.Key {
	return table.Key{Partition: partition(thread), Sort: "run#" + string(session)}
}

// PutRun records that a session of the thread has a running turn.
func PutRun(thread id.Thread, session id.Session, turn id.Turn, epoch int64) table.Op {
	return table.Put(RunKey(thread, session), table.Encode(struct {
		Turn  id.Turn `json:"turn"`
		Epoch int64   `json:"epoch"`
	}{turn, epoch}), table.Absent())
}

func partition(thread id.Thread) string { return "thread#" + string(thread) }
