package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// A stored record: a byte of flags, the revision after a byte with its length, then, if flagged, the expiry in seconds
// of Unix time and the counter, both as varints; the rest is the value.
const (
	flagExpires = 1 << iota
	flagCounter
)

// maxHeader is what a record takes besides its value.
const maxHeader = 2 + table.MaxIDBytes + 2*binary.MaxVarintLen64

var errDamaged = errors.New("damaged record")

// record is a stored record taken apart; its slices point into the stored one. The zero record is an absent one.
type record struct {
	revision []byte
	expiry   expiry
	counter  int64
	value    []byte
}

// expiry is when a record may be dropped, in seconds of Unix time, if it is set.
type expiry struct {
	at  int64
	set bool
}

func (r *record) present() bool { return r.revision != nil }

// appendTo appends the stored form.
func (r *record) appendTo(b []byte) []byte {
	flags := byte(0)
	if r.expiry.set {
		flags |= flagExpires
	}
	if r.counter != 0 {
		flags |= flagCounter
	}
	b = append(b, flags, byte(len(r.revision))) //nolint:gosec // at most table.MaxIDBytes
	b = append(b, r.revision...)
	if r.expiry.set {
		b = binary.AppendVarint(b, r.expiry.at)
	}
	if r.counter != 0 {
		b = binary.AppendVarint(b, r.counter)
	}
	return append(b, r.value...)
}

// parse takes a stored record apart; nil is an absent one.
func parse(raw []byte) (record, error) {
	if raw == nil {
		return record{}, nil
	}
	if len(raw) < 2 || len(raw) < 2+int(raw[1]) {
		return record{}, errDamaged
	}
	var ok bool
	flags, end := raw[0], 2+int(raw[1])
	r := record{revision: raw[2:end:end], value: raw[end:], expiry: expiry{set: flags&flagExpires != 0}}
	if r.expiry.set {
		if r.expiry.at, r.value, ok = varint(r.value); !ok {
			return record{}, errDamaged
		}
	}
	if flags&flagCounter != 0 {
		if r.counter, r.value, ok = varint(r.value); !ok {
			return record{}, errDamaged
		}
	}
	return r, nil
}

func varint(b []byte) (n int64, rest []byte, ok bool) {
	n, size := binary.Varint(b)
	if size <= 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}

// item copies the record for a caller.
func (r *record) item(key table.Key) table.Item {
	item := table.Item{Key: key, Counter: r.counter, Revision: table.Revision(r.revision)}
	if len(r.value) > 0 {
		item.Value = append(make([]byte, 0, len(r.value)), r.value...)
	}
	if r.expiry.set {
		item.Expires = time.Unix(r.expiry.at, 0).UTC()
	}
	return item
}

// appendPartition appends what the stored keys of one partition begin with, and no others.
func appendPartition(b []byte, partition string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(partition))) //nolint:gosec // at most table.MaxKeyBytes
	return append(b, partition...)
}

func appendKey(b []byte, key table.Key) []byte {
	return append(appendPartition(b, key.Partition), key.Sort...)
}

// keyBytes is the length of the stored key.
func keyBytes(key table.Key) int { return 2 + len(key.Partition) + len(key.Sort) }

func damaged(key table.Key, err error) error {
	return fmt.Errorf("%w: reading %s: %w", table.ErrRefused, key, err)
}
