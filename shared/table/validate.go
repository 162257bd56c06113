package table

import (
	"fmt"
	"unicode/utf8"
)

// MaxIDBytes bounds Write.ID; a UUID fits.
const MaxIDBytes = 36

// opReserve is what a record's revision, expiry, counter and attribute names may take of MaxBytes.
const opReserve = 128

// Validate reports, wrapped in ErrInvalid, how the write breaks a limit. Every implementation calls it first, so that
// what passes on one passes on all.
func (w Write) Validate() error {
	if w.ID == "" || len(w.ID) > MaxIDBytes {
		return invalid("write ID must have 1 to %d bytes, has %d", MaxIDBytes, len(w.ID))
	}
	if len(w.Ops) == 0 || len(w.Ops) > MaxOps {
		return invalid("a write has 1 to %d operations, got %d", MaxOps, len(w.Ops))
	}
	total := 0
	seen := make(map[Key]struct{}, len(w.Ops))
	for i := range w.Ops {
		op := &w.Ops[i]
		if err := op.validate(); err != nil {
			return fmt.Errorf("operation %d on %s: %w", i, op.Key, err)
		}
		if _, dup := seen[op.Key]; dup {
			return invalid("operation %d touches %s a second time", i, op.Key)
		}
		seen[op.Key] = struct{}{}
		total += op.size() + opReserve
	}
	if total > MaxBytes {
		return invalid("a write holds at most %d bytes, got %d", MaxBytes, total)
	}
	return nil
}

func (op *Op) size() int { return len(op.Key.Partition) + len(op.Key.Sort) + len(op.Value) }

func (op *Op) validate() error {
	if err := op.Key.Validate(); err != nil {
		return err
	}
	switch op.Kind {
	case OpPut:
		if op.If.Blind() {
			return invalid("a put needs a condition")
		}
		if len(op.Value) > MaxValueBytes {
			return invalid("a value holds at most %d bytes, got %d", MaxValueBytes, len(op.Value))
		}
	case OpCheck:
		if op.If.Blind() {
			return invalid("a check needs a condition")
		}
	case OpDelete:
		if op.If.WantsAbsent() {
			return invalid("a delete can't demand absence")
		}
	case OpAdd:
		if !op.If.Blind() {
			return invalid("an add takes a bound, not a condition")
		}
	default:
		return invalid("unknown kind %d", op.Kind)
	}
	return nil
}

// Validate reports, wrapped in ErrInvalid, how the key breaks a limit.
func (k Key) Validate() error {
	for _, part := range [2]string{k.Partition, k.Sort} {
		if part == "" || len(part) > MaxKeyBytes {
			return invalid("each part of a key has 1 to %d bytes, got %d", MaxKeyBytes, len(part))
		}
		if !utf8.ValidString(part) {
			return invalid("a key is UTF-8, got %q", part)
		}
	}
	return nil
}

// Validate reports, wrapped in ErrInvalid, how the query breaks a limit.
func (q Query) Validate() error {
	if q.Partition == "" || len(q.Partition) > MaxKeyBytes {
		return invalid("a partition has 1 to %d bytes, got %d", MaxKeyBytes, len(q.Partition))
	}
	if q.Limit < 0 || q.Limit > MaxScan {
		return invalid("a page holds 1 to %d records, asked for %d", MaxScan, q.Limit)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
