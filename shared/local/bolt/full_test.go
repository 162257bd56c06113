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

// broken is a change that bbolt refuses.
type broken struct{}

func (broken) apply(s *state) error {
	s.note(errors.New("broken"))
	return nil
}

// A batch that can't be finished is refused as a whole, and nothing of it is remembered as applied.
func TestABrokenBatchIsRefusedWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openIn(t, dir)
	resume := stall(t, s)
	w := table.Write{ID: "w", Ops: []table.Op{table.Add(key, 1)}}
	answers := make(chan error)
	go func() { answers <- s.Table().Write(t.Context(), w) }()
	awaitQueue(s, 1)
	go func() { answers <- s.commit.submit(t.Context(), broken{}) }()
	awaitQueue(s, 2)
	resume()
	for range 2 {
		if err := <-answers; !errors.Is(err, errRejected) {
			t.Errorf("an answer from a broken batch = %v, want errRejected", err)
		}
	}
	if got := mustGet(t, s, key); got != nil {
		t.Errorf("a broken batch left %v", got)
	}
	mustWrite(t, s, create("next", "", table.Key{Partition: "p", Sort: "next"}))
	s = reopen(t, s, dir)
	mustWrite(t, s, w)
	if got := mustGet(t, s, key).Counter; got != 1 {
		t.Errorf("the write sent again made %d, want 1", got)
	}
}
