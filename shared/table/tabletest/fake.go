package tabletest

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// pageBytes is where a page of a scan ends early, as DynamoDB's do.
const pageBytes = 1 << 20

// Fake is a table in memory, as strict as DynamoDB: its limits, conflicts between two writes that are under way and
// touch one record (a check against a check too), scans torn by the writes that land meanwhile, pages that end at 1 MiB,
// and no write ID used for two different writes. Calls last no time, and so never meet, unless Fault makes them.
//
// The zero Fake is an empty table. It must not be copied.
type Fake struct {
	// Fault, if set, says what goes wrong with a call. It is asked before the call does anything, without a lock held,
	// and may block: a simulation decides here whose turn it is.
	Fault func(Call) Fault

	mu         sync.Mutex
	partitions map[string]*partition
	busy       map[table.Key]struct{} // touched by a write that is under way
	done       map[string]uint64      // IDs of applied writes, with the fingerprint of their operations
	counts     Counts
}

// partition holds the records of one partition: keys in order, items by key.
type partition struct {
	keys  []string
	items map[string]*table.Item // never changed in place
}

// Get reads one record.
func (f *Fake) Get(ctx context.Context, key table.Key) (*table.Item, error) {
	fault := f.begin(Call{Method: MethodGet, Key: key})
	if err := key.Validate(); err != nil {
		return nil, err
	}
	if err := fault.read(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return clone(f.at(key)), nil
}

// Write applies all operations or none.
func (f *Fake) Write(ctx context.Context, w table.Write) error {
	fault := f.begin(Call{Method: MethodWrite, Write: w})
	if err := w.Validate(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return refused(err)
	}
	w.Ops = own(w.Ops)
	switch fault.Kind {
	case Refused:
		return table.ErrRefused
	case Lost:
		return table.ErrUnknown
	case Late:
		time.AfterFunc(fault.Slow, func() { _ = f.perform(context.WithoutCancel(ctx), w, Fault{}) })
		return table.ErrUnknown
	case None, Unheard:
	}
	err := f.perform(ctx, w, fault)
	if fault.Kind == Unheard {
		return table.ErrUnknown
	}
	return err
}

// perform holds the records of the write for as long as the fault takes, then applies it.
func (f *Fake) perform(ctx context.Context, w table.Write, fault Fault) error {
	if err := f.occupy(w.Ops); err != nil {
		return err
	}
	defer f.release(w.Ops)
	late := fault.pass(ctx)
	err := f.apply(w)
	if late != nil {
		return fmt.Errorf("%w: %w", table.ErrUnknown, late)
	}
	return err
}

func (f *Fake) occupy(ops []table.Op) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range ops {
		if _, taken := f.busy[ops[i].Key]; taken {
			return fmt.Errorf("%w: conflict with a write under way on %s", table.ErrRefused, ops[i].Key)
		}
	}
	if f.busy == nil {
		f.busy = map[table.Key]struct{}{}
	}
	for i := range ops {
		f.busy[ops[i].Key] = struct{}{}
	}
	return nil
}

func (f *Fake) release(ops []table.Op) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range ops {
		delete(f.busy, ops[i].Key)
	}
}

// apply does the write at one moment, unless an earlier attempt did or a condition does not hold.
func (f *Fake) apply(w table.Write) error {
	content := fingerprint(w.Ops)
	f.mu.Lock()
	defer f.mu.Unlock()
	if earlier, ok := f.done[w.ID]; ok {
		if earlier != content {
			return fmt.Errorf("%w: the ID %s was used for another write", table.ErrInvalid, w.ID)
		}
		return nil
	}
	if err := f.check(w); err != nil {
		return err
	}
	for i := range w.Ops {
		op := &w.Ops[i]
		f.set(op.Key, next(op, f.at(op.Key), w.Revision()))
		f.counts.Bytes += int64(len(op.Value))
	}
	if f.done == nil {
		f.done = map[string]uint64{}
	}
	f.done[w.ID] = content
	return nil
}

func (f *Fake) check(w table.Write) error {
	var failed []table.Failed
	for i := range w.Ops {
		if current := f.at(w.Ops[i].Key); !holds(&w.Ops[i], current) {
			failed = append(failed, table.Failed{Index: i, Item: clone(current)})
		}
	}
	if failed == nil {
		return nil
	}
	return &table.ConditionError{Failed: failed}
}

func (f *Fake) at(key table.Key) *table.Item {
	if p := f.partitions[key.Partition]; p != nil {
		return p.items[key.Sort]
	}
	return nil
}

// set makes item the record of the key, or removes it when item is nil.
func (f *Fake) set(key table.Key, item *table.Item) {
	p := f.partitions[key.Partition]
	if p == nil {
		p = &partition{items: map[string]*table.Item{}}
		if f.partitions == nil {
			f.partitions = map[string]*partition{}
		}
		f.partitions[key.Partition] = p
	}
	at, present := slices.BinarySearch(p.keys, key.Sort)
	switch {
	case item == nil && present:
		p.keys = slices.Delete(p.keys, at, at+1)
		delete(p.items, key.Sort)
	case item != nil && !present:
		p.keys = slices.Insert(p.keys, at, key.Sort)
	}
	if item != nil {
		p.items[key.Sort] = item
	}
}

// Items returns every record, ordered by partition and sort key: for the checks at the end of a test.
func (f *Fake) Items() []table.Item {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []table.Item
	for _, name := range slices.Sorted(maps.Keys(f.partitions)) {
		p := f.partitions[name]
		for _, sort := range p.keys {
			all = append(all, *clone(p.items[sort]))
		}
	}
	return all
}

func clone(item *table.Item) *table.Item {
	if item == nil {
		return nil
	}
	c := *item
	c.Value = slices.Clone(item.Value)
	return &c
}

// own copies operations together with their values.
func own(ops []table.Op) []table.Op {
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i].Value = slices.Clone(ops[i].Value)
	}
	return ops
}

var seed = maphash.MakeSeed()

func fingerprint(ops []table.Op) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range ops {
		op := ops[i]
		_, _ = h.Write(op.Value)
		op.Value = nil
		fmt.Fprintf(&h, "|%d %q %q %v %d %d %d %v|", op.Kind, op.Key.Partition, op.Key.Sort, op.If, op.Expires.Unix(), op.Delta, op.Max, op.HasMax)
	}
	return h.Sum64()
}
