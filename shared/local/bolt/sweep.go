package bolt

import (
	"context"
	"encoding/binary"
	"math"
	"time"
)

// Expired records are dropped soon after Open and then now and then; nothing depends on when they go.
const (
	sweepFirst = time.Minute
	sweepEvery = time.Hour
	sweepStep  = 256 // records dropped in one transaction, so that writes never wait for it long
)

func (s *Store) sweepNowAndThen() {
	timer := time.NewTimer(sweepFirst)
	defer timer.Stop()
	for {
		select {
		case <-s.closing:
			return
		case now := <-timer.C:
			_, _ = s.sweep(now) // what fails is tried again by the next sweep
			timer.Reset(sweepEvery)
		}
	}
}

// sweep drops the records that have expired and returns how many there were.
func (s *Store) sweep(now time.Time) (dropped int, err error) {
	for {
		d := &drop{now: now}
		if err := s.commit.submit(context.Background(), d); err != nil || d.dropped == 0 {
			return dropped, err
		}
		dropped += d.dropped
	}
}

// drop removes the first sweepStep of the records that have expired.
type drop struct {
	now     time.Time
	dropped int // set by apply
}

func (d *drop) apply(s *state) error {
	end := expiryKey(d.now.Unix(), nil)
	var keys [][]byte
	c := s.expiry.Cursor()
	for k, _ := c.First(); k != nil && len(keys) < sweepStep && string(k) < string(end); k, _ = c.Next() {
		keys = append(keys, append([]byte(nil), k...))
	}
	for _, k := range keys {
		s.delete(s.expiry, k)
		s.delete(s.records, k[len(end):])
	}
	d.dropped = len(keys)
	return nil
}

// expiryKey is where the index by expiry holds a record: its second, so that it sorts by time, then its stored key.
func expiryKey(seconds int64, key []byte) []byte {
	k := make([]byte, 8, 8+len(key))
	binary.BigEndian.PutUint64(k, uint64(seconds)^(math.MaxInt64+1)) //nolint:gosec // flips the sign to sort below zero
	return append(k, key...)
}

// reindex moves a record in the index by expiry.
func (s *state) reindex(key []byte, old, next expiry) {
	if old == next {
		return
	}
	if old.set {
		s.delete(s.expiry, expiryKey(old.at, key))
	}
	if next.set {
		s.put(s.expiry, expiryKey(next.at, key), nil)
	}
}
