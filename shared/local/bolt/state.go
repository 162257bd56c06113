package bolt

import "go.etcd.io/bbolt"

// state is the store as one batch finds and changes it.
type state struct {
	tx      *bbolt.Tx
	records *bbolt.Bucket
	expiry  *bbolt.Bucket
	objects *bbolt.Bucket
	pending *bbolt.Bucket
	memory  *memory
	found   []record // scratch of write.apply

	dirty bool  // there is something to commit
	err   error // the first error of bbolt, after which the batch is lost
}

func newState(tx *bbolt.Tx, m *memory) *state {
	return &state{
		tx:      tx,
		records: tx.Bucket(bucketRecords),
		expiry:  tx.Bucket(bucketExpiry),
		objects: tx.Bucket(bucketObjects),
		pending: tx.Bucket(bucketPending),
		memory:  m,
	}
}

// put stores a value, which must stay as it is until the transaction ends.
func (s *state) put(b *bbolt.Bucket, key, value []byte) { s.note(b.Put(key, value)) }

func (s *state) delete(b *bbolt.Bucket, key []byte) { s.note(b.Delete(key)) }

func (s *state) note(err error) {
	s.dirty = true
	if s.err == nil {
		s.err = err
	}
}

// finish adds what is remembered of the batch.
func (s *state) finish() error {
	if s.err == nil {
		s.err = s.memory.save(s.tx)
	}
	return s.err
}
