package capacity

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
)

const partition = "cap"

// What the sort keys begin with, up to the first #.
const (
	slotKind = "slot"
	waitKind = "wait"
)

// Load reads who holds permits and who waits, permits being how many there are. It is no snapshot: a turn that is claimed
// or ends meanwhile may be among neither or both. A record that can't be read is an error, because a permit that is
// overlooked would be given away again.
func Load(ctx context.Context, t table.Table, permits int) (State, error) {
	s := State{Permits: permits}
	for q := (table.Query{Partition: partition}); ; {
		page, err := t.Scan(ctx, q)
		if err != nil {
			return State{}, fmt.Errorf("scanning permits: %w", err)
		}
		for i := range page.Items {
			if err := s.add(&page.Items[i]); err != nil {
				return State{}, fmt.Errorf("reading permits: %w", err)
			}
		}
		if page.Next == "" {
			return s, nil
		}
		q.After = page.Next
	}
}

// add takes in one record.
func (s *State) add(item *table.Item) error {
	switch kind, rest, _ := strings.Cut(item.Key.Sort, "#"); kind {
	case slotKind:
		slot, err := decodeSlot(rest, item)
		s.Slots = append(s.Slots, slot)
		return err
	case waitKind:
		waiter, err := decodeWaiter(rest, item)
		s.Waiters = append(s.Waiters, waiter)
		return err
	}
	return fmt.Errorf("record %s is of no known kind", item.Key)
}

func decodeSlot(number string, item *table.Item) (slot Slot, err error) {
	if slot.Number, err = strconv.Atoi(number); err != nil {
		return Slot{}, fmt.Errorf("record %s: %w", item.Key, err)
	}
	_, err = table.Decode(item, &slot)
	return slot, err
}

func decodeWaiter(place string, item *table.Item) (w Waiter, err error) {
	since, turn, _ := strings.Cut(place, "#")
	micros, err := strconv.ParseInt(since, 10, 64)
	if err != nil {
		return Waiter{}, fmt.Errorf("record %s: %w", item.Key, err)
	}
	w.Since, w.Turn = time.UnixMicro(micros).UTC(), id.Turn(turn)
	_, err = table.Decode(item, &w)
	return w, err
}

// Take puts the slot where there is none; part of the write that claims its turn.
func (s Slot) Take() table.Op { return table.Put(slotKey(s.Number), table.Encode(s), table.Absent()) }

// Free deletes a slot, whoever holds it. It belongs into the fenced write that ends the slot's turn and nowhere else:
// that one happens once, while the slot is still that turn's.
func Free(number int) table.Op { return table.DeleteBlind(slotKey(number)) }

// Spare demands that nobody holds a slot: that work of the background, which takes another in the same write, leaves one
// permit free.
func Spare(number int) table.Op { return table.Check(slotKey(number), table.Absent()) }

func slotKey(number int) table.Key {
	return table.Key{Partition: partition, Sort: fmt.Sprintf("%s#%03d", slotKind, number)}
}

// Join puts the waiter in line, where it isn't yet.
func (w Waiter) Join() table.Op { return table.Put(w.key(), table.Encode(w), table.Absent()) }

// Leave deletes the waiter, if it waits: when it starts, and when its turn ends without having started, because nobody
// comes past a waiter of whom there is nothing left to run. Since must be what it joined with, to the microsecond.
func (w Waiter) Leave() table.Op { return table.DeleteBlind(w.key()) }

func (w Waiter) key() table.Key {
	return table.Key{
		Partition: partition, Sort: fmt.Sprintf("%s#%016d#%s", waitKind, w.Since.UnixMicro(), w.Turn),
	}
}
