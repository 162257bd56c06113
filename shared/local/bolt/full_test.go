package bolt

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// A full disk is felt by the batch that meets it; once there is room, the same write succeeds, and counts once.
func TestTheStoreOutlivesAFullDisk(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	mustWrite(t, s, table.Write{ID: "before", Ops: []table.Op{table.Add(key, 1)}})
	full := table.Write{ID: "full", Ops: []table.Op{
		table.Add(key, 10),
		table.Put(table.Key{Partition: "p", Sort: "large"}, bytes.Repeat([]byte("v"), table.MaxValueBytes), table.Absent()),
	}}
	limitSize(s, 256<<10)
	if err := s.Table().Write(t.Context(), full); !errors.Is(err, table.ErrUnknown) && !errors.Is(err, table.ErrRefused) {
		t.Errorf("writing to a full disk = %v, want ErrUnknown or ErrRefused", err)
	}
	if item, err := s.Table().Get(t.Context(), key); err != nil || item.Counter != 1 {
		t.Errorf("the record on a full disk = %v, %v, want the one before", item, err)
	}
	limitSize(s, 0)
	for range 2 {
		mustWrite(t, s, full)
	}
	if item, err := s.Table().Get(t.Context(), key); err != nil || item.Counter != 11 {
		t.Errorf("the record once there is room = %v, %v, want a counter of 11", item, err)
	}
}

// limitSize bounds the file while the committer rests.
func limitSize(s *Store, bytes int) { s.db.MaxSize = bytes }
