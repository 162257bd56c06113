// Package table is the seam to the record store: strong reads, all-or-nothing conditional writes, partition scans.
//
// A record is addressed by a partition and a sort key, holds opaque bytes, and carries the revision of the write that
// put it. There are no secondary indexes: an index is a record written in the same write. Implementations: shared/local/bolt
// on one machine, shared/aws/dynamo on AWS, tabletest in memory with faults; tabletest.Run holds all of them to the
// guarantees below.
package table

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Limits of one write, the strictest of any implementation (DynamoDB's), enforced by Write.Validate for all of them.
const (
	MaxOps       = 100       // operations in one write
	MaxItemBytes = 400 << 10 // key and value of one record
	MaxBytes     = 4 << 20   // all records of one write
	MaxKeyBytes  = 1024      // partition or sort key
	MaxScan      = 1000      // records in one page
	valueReserve = 1 << 10   // what revision, expiry and names may take of MaxItemBytes
	maxValue     = MaxItemBytes - 2*MaxKeyBytes - valueReserve
)

// MaxValueBytes is the largest value a record may hold.
const MaxValueBytes = maxValue

var (
	// ErrUnknown means that a write may or may not have been applied, or may still be: look before acting on either.
	ErrUnknown = errors.New("outcome of the write is unknown")
	// ErrRefused means that the store did not do what was asked and will not: throttled, conflicting, unreachable.
	// The same call may succeed later.
	ErrRefused = errors.New("the store refused the request")
	// ErrInvalid means that the request breaks a limit of this package; it can never succeed.
	ErrInvalid = errors.New("invalid request")
)

// Key addresses one record. Both parts are UTF-8.
type Key struct {
	Partition string // 1 to MaxKeyBytes bytes
	Sort      string // 1 to MaxKeyBytes bytes; scans order by its bytes
}

func (k Key) String() string { return k.Partition + "/" + k.Sort }

// Revision names the write that last put a record: the ID of that write. Writes have unique IDs, so a revision never
// comes back, and whoever wrote a record knows its revision without reading it.
type Revision string

// Item is one record as read.
type Item struct {
	Key      Key
	Value    []byte    // owned by the caller
	Counter  int64     // the sum of all Adds since the record was last put; 0 if there was none
	Revision Revision  // never empty
	Expires  time.Time // when the store may drop it; zero for never
}

// OpKind says what an operation does.
type OpKind uint8

// The operations.
const (
	OpPut    OpKind = iota + 1 // store Value under Key; conditional
	OpDelete                   // remove Key; conditional on a revision, or blind when If is zero
	OpCheck                    // change nothing; conditional
	OpAdd                      // add Delta to the record's counter; conditional on Max when HasMax
)

// Cond is what must hold of a record for the whole write to happen. The zero Cond demands nothing and is allowed for
// blind deletes and adds only.
type Cond struct {
	absent   bool
	revision Revision
}

// Absent demands that there is no such record. A record whose expiry has passed may still count as present.
func Absent() Cond { return Cond{absent: true} }

// At demands that the record's revision is still r.
func At(r Revision) Cond { return Cond{revision: r} }

// AtOrAbsent demands revision r, or absence if r is empty: the condition of whoever read a record that may not exist.
func AtOrAbsent(r Revision) Cond {
	if r == "" {
		return Absent()
	}
	return At(r)
}

// WantsAbsent reports whether the condition demands absence.
func (c Cond) WantsAbsent() bool { return c.absent }

// Revision is the revision that the condition demands, or "".
func (c Cond) Revision() Revision { return c.revision }

// Blind reports whether the condition demands nothing.
func (c Cond) Blind() bool { return !c.absent && c.revision == "" }

// Op is one operation of a write. Use the constructors.
type Op struct {
	Kind    OpKind
	Key     Key
	If      Cond
	Value   []byte
	Expires time.Time
	Delta   int64
	Max     int64
	HasMax  bool
}

// Put stores value under key if the condition holds. It replaces the whole record: a counter begins at 0 again, and an
// earlier expiry is gone.
func Put(key Key, value []byte, c Cond) Op { return Op{Kind: OpPut, Key: key, Value: value, If: c} }

// PutExpiring is Put of a record that the store may drop after expires, of which it keeps whole seconds. Expiry is
// housekeeping: a reader that depends on the time compares it itself.
func PutExpiring(key Key, value []byte, c Cond, expires time.Time) Op {
	return Op{Kind: OpPut, Key: key, Value: value, If: c, Expires: expires}
}

// Delete removes the record if the condition holds. Deleting what is absent under a revision fails.
func Delete(key Key, c Cond) Op { return Op{Kind: OpDelete, Key: key, If: c} }

// DeleteBlind removes the record if it is there.
func DeleteBlind(key Key) Op { return Op{Kind: OpDelete, Key: key} }

// Check demands the condition and changes nothing.
func Check(key Key, c Cond) Op { return Op{Kind: OpCheck, Key: key, If: c} }

// Add adds delta to the record's counter, creating the record at 0 without a value. A value and an expiry stay.
func Add(key Key, delta int64) Op { return Op{Kind: OpAdd, Key: key, Delta: delta} }

// AddUpTo is Add that fails if the sum would exceed most.
func AddUpTo(key Key, delta, most int64) Op {
	return Op{Kind: OpAdd, Key: key, Delta: delta, Max: most, HasMax: true}
}

// Write is one all-or-nothing change of up to MaxOps records, each touched by one operation.
type Write struct {
	// ID is unique to this logical write, at most 36 bytes, and becomes the revision of every record it puts or adds
	// to. Sending the same Write again after ErrUnknown is safe: it is applied at most once.
	ID  string
	Ops []Op
}

// Revision is what the records put by the write carry once it is applied.
func (w Write) Revision() Revision { return Revision(w.ID) }

// Failed says which condition of a write did not hold, and what stood there.
type Failed struct {
	Index int   // of the operation in Write.Ops
	Item  *Item // the record as the store saw it; nil if absent
}

// ConditionError is the answer to a write of which a condition did not hold. Nothing was applied.
type ConditionError struct {
	Failed []Failed // at least one, in order of Index; a store may stop looking after the first
}

func (e *ConditionError) Error() string {
	return fmt.Sprintf("condition of operation %d did not hold", e.Failed[0].Index)
}

// On returns the failure of the operation with that index, or nil.
func (e *ConditionError) On(index int) *Failed {
	for i := range e.Failed {
		if e.Failed[i].Index == index {
			return &e.Failed[i]
		}
	}
	return nil
}

// Query asks for part of one partition, ordered by sort key.
type Query struct {
	Partition string
	Prefix    string // only sort keys that begin with it
	After     string // exclusive start: a sort key; in descending order only keys before it
	Until     string // exclusive end of an ascending scan: only sort keys below it; ignored when empty
	Limit     int    // at most this many, 1 to MaxScan; 0 means MaxScan
	Desc      bool
}

// Page is one answer to a Query.
type Page struct {
	Items []Item
	Next  string // the After of the next page; "" when there is no more
}

// Table is the record store. All methods are safe for concurrent use and keep no reference to what they were given.
type Table interface {
	// Get reads one record with strong consistency; nil if there is none. Errors wrap ErrRefused or ErrInvalid.
	Get(ctx context.Context, key Key) (*Item, error)
	// Write applies all operations or none. It returns nil when applied, also by an earlier attempt with the same ID;
	// *ConditionError when a condition did not hold; an error that wraps ErrRefused, ErrInvalid (nothing was applied,
	// nothing will be) or ErrUnknown.
	Write(ctx context.Context, w Write) error
	// Scan reads part of one partition. Each record is read with strong consistency, but the page is not a snapshot: it
	// may show one record of a write and miss another. Errors wrap ErrRefused or ErrInvalid.
	Scan(ctx context.Context, q Query) (Page, error)
}
