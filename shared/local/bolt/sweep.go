package bolt

import (
	"bytes"
	"context"
	"time"

	"go.etcd.io/bbolt"
)

// Expired records are looked for soon after Open and then now and then; nothing depends on when they go.
const (
	sweepFirst = time.Minute
	sweepEvery = time.Hour
	sweepStep  = 256 // records looked at in one transaction
)

func (s *Store) sweepNowAndThen() {
	timer := time.NewTimer(sweepFirst)
	defer timer.Stop()
	for {
		select {
		case <-s.closing:
			return
		case now := <-timer.C:
			_, _ = s.sweep(now) // what fails is tried again with the next sweep
			timer.Reset(sweepEvery)
		}
	}
}

// sweep drops the records that have expired and returns how many it saw. It goes through all records, a few at a time,
// so that writes never wait for it long.
func (s *Store) sweep(now time.Time) (dropped int, err error) {
	at := []byte{}
	for at != nil && !s.isClosing() {
		var keys [][]byte
		if keys, at, err = s.expired(at, now); err != nil {
			return dropped, err
		}
		if keys == nil {
			continue
		}
		if err := s.commit.submit(context.Background(), &drop{keys, now}); err != nil {
			return dropped, err
		}
		dropped += len(keys)
	}
	return dropped, nil
}

func (s *Store) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// expired looks at some records from a key on and returns the keys of those that have expired, and the key to go on
// from, nil at the end.
func (s *Store) expired(from []byte, now time.Time) (keys [][]byte, next []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketRecords).Cursor()
		key, raw := c.Seek(from)
		for range sweepStep {
			if key == nil {
				return nil
			}
			if isExpired(raw, now) {
				keys = append(keys, bytes.Clone(key))
			}
			key, raw = c.Next()
		}
		next = bytes.Clone(key)
		return nil
	})
	return keys, next, err
}

func isExpired(raw []byte, now time.Time) bool {
	r, err := parse(raw)
	return err == nil && r.hasExpiry && r.expires < now.Unix()
}

// drop removes records, except those that have been put again meanwhile.
type drop struct {
	keys [][]byte
	now  time.Time
}

func (d *drop) apply(s *state) error {
	for _, key := range d.keys {
		if isExpired(s.records.Get(key), d.now) {
			s.delete(s.records, key)
		}
	}
	return nil
}
