package bolt

import (
	"crypto/sha256"
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// generation is how many applied writes are remembered at least; about twice as many at most.
const generation = 16 << 10

// mark stands for the ID of a write.
type mark [16]byte

func markOf(writeID string) mark {
	sum := sha256.Sum256([]byte(writeID))
	return mark(sum[:])
}

// memory knows the last writes that were applied, so that one sent again has no second effect even if the records no
// longer tell. It holds two generations: when the young one is full, the old one is forgotten. It belongs to the
// committer, and is stored with each batch, as it must know after a crash what it knew before.
type memory struct {
	marks [2]map[mark]struct{} // by the number in bucketApplied
	young int
	fresh []byte // marks of the present batch
}

func (m *memory) has(k mark) bool {
	_, young := m.marks[m.young][k]
	_, old := m.marks[1-m.young][k]
	return young || old
}

func (m *memory) add(k mark) {
	m.marks[m.young][k] = struct{}{}
	m.fresh = append(m.fresh, k[:]...)
}

// save stores the marks of the present batch under the transaction's number.
func (m *memory) save(tx *bbolt.Tx) error {
	if len(m.fresh) == 0 {
		return nil
	}
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], uint64(tx.ID())) //nolint:gosec // never negative
	bucket := tx.Bucket(bucketApplied[m.young])
	bucket.FillPercent = 1 // keys only ever grow
	if err := bucket.Put(key[:], append([]byte(nil), m.fresh...)); err != nil {
		return err
	}
	m.fresh = m.fresh[:0]
	if len(m.marks[m.young]) < generation {
		return nil
	}
	return m.turn(tx)
}

// turn forgets the old generation and begins a new one.
func (m *memory) turn(tx *bbolt.Tx) error {
	m.young = 1 - m.young
	m.marks[m.young] = map[mark]struct{}{}
	if err := tx.DeleteBucket(bucketApplied[m.young]); err != nil {
		return err
	}
	_, err := tx.CreateBucket(bucketApplied[m.young])
	return err
}

// recall reads the memory from the file.
func recall(db *bbolt.DB) (*memory, error) {
	m := &memory{}
	return m, m.reload(db)
}

// reload replaces what is known by what is stored, after a transaction that may not have been.
func (m *memory) reload(db *bbolt.DB) error {
	m.fresh = m.fresh[:0]
	return db.View(func(tx *bbolt.Tx) error {
		var last [2]uint64
		for i, name := range bucketApplied {
			m.marks[i] = map[mark]struct{}{}
			c := tx.Bucket(name).Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				last[i] = binary.BigEndian.Uint64(k)
				for ; len(v) >= len(mark{}); v = v[len(mark{}):] {
					m.marks[i][mark(v)] = struct{}{}
				}
			}
		}
		m.young = 0
		if last[1] > last[0] {
			m.young = 1
		}
		return nil
	})
}
