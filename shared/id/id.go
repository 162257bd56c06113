// Package id makes the IDs of things: from a time and randomness that are given in, or derived from their cause.
//
// An ID made from its cause (From) is the idempotency of what it names: the same update, the same call always give the
// same ID, so "already there" is success. An ID made from time (Source.New) sorts by that time. All are lower-case UUID
// text of 36 bytes: version 7 of RFC 9562 from a time, version 8 from a cause.
package id

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"sync"
	"time"
)

// The kinds. They differ in type so that one can't stand for another.
type (
	// Owner is a person who is served.
	Owner string
	// Thread is an owner's one conversation over all channels, and the key of its workspace.
	Thread string
	// Session is what makes a turn remember the last one; a chat's has the text of its thread's.
	Session string
	// Turn is one run of the agent, derived from what caused it.
	Turn string
	// Message is one message of a thread, in or out.
	Message string
)

// Source makes IDs from time. The zero Source reads crypto/rand. It is safe for concurrent use.
type Source struct {
	Rand io.Reader // a seeded one makes a run repeatable; nil is crypto/rand

	mu sync.Mutex
}

// New returns a version 7 UUID for now, to the millisecond; 74 of its bits are random.
func (s *Source) New(now time.Time) string {
	var u [16]byte
	binary.BigEndian.PutUint64(u[:8], uint64(now.UnixMilli())<<16)
	s.read(u[6:])
	return text(u, 7)
}

func (s *Source) read(b []byte) {
	if s.Rand == nil {
		_, _ = rand.Read(b) // never fails: it ends the program instead
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.ReadFull(s.Rand, b); err != nil {
		panic("reading randomness: " + err.Error())
	}
}

// From returns the version 8 UUID of a cause: the same parts in the same order always give the same ID. The first part
// should name the kind of cause, so that causes of two kinds never meet.
func From(parts ...string) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	var u [16]byte
	copy(u[:], h.Sum(nil))
	return text(u, 8)
}

func text(u [16]byte, version byte) string {
	u[6] = u[6]&0x0f | version<<4
	u[8] = u[8]&0x3f | 0x80
	var out [36]byte
	hex.Encode(out[:8], u[:4])
	hex.Encode(out[9:13], u[4:6])
	hex.Encode(out[14:18], u[6:8])
	hex.Encode(out[19:23], u[8:10])
	hex.Encode(out[24:], u[10:])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}
