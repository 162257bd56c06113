package bolt

import (
	"errors"
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// A write sent again after a restart has no second effect, though its records no longer show that it was applied.
func TestAWriteIsRememberedWhenItsRecordsNoLongerTell(t *testing.T) {
	t.Parallel()
	other := table.Key{Partition: "p", Sort: "other"}
	for name, tt := range map[string]struct{ first, then table.Op }{
		"add":               {table.Add(key, 1), table.Add(key, 10)},
		"delete of nothing": {table.DeleteBlind(key), table.Put(key, nil, table.Absent())},
		"create":            {table.Put(key, nil, table.Absent()), table.DeleteBlind(key)},
	} {
		dir := t.TempDir()
		s := openIn(t, dir)
		w := table.Write{ID: "w", Ops: []table.Op{tt.first}}
		mustWrite(t, s, w)
		s = reopen(t, s, dir)
		mustWrite(t, s, table.Write{ID: "then", Ops: []table.Op{tt.then, table.Add(other, 1)}})
		before := mustGet(t, s, key)
		mustWrite(t, s, w)
		if diff := gocmp.Diff(before, mustGet(t, s, key)); diff != "" {
			t.Errorf("%s, sent again, changed the record:\n%s", name, diff)
		}
	}
}

// A write older than the memory is still known by the revision of its records.
func TestAForgottenWriteIsKnownByItsRecords(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	w := table.Write{ID: "w", Ops: []table.Op{table.Add(key, 1)}}
	mustWrite(t, s, w)
	clear(s.commit.memory.marks[0])
	mustWrite(t, s, w)
	if got := mustGet(t, s, key).Counter; got != 1 {
		t.Errorf("an add sent twice made %d", got)
	}
}

func TestMemoryHoldsAtLeastOneGenerationAndForgetsTheRest(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	m := s.commit.memory
	const batch = 1000
	n := 0
	for n < 3*generation+2*batch {
		tx, err := s.db.Begin(true)
		if err != nil {
			t.Fatal(err)
		}
		for range batch {
			m.add(markOf(fmt.Sprint(n)))
			n++
		}
		if err := errors.Join(m.save(tx), tx.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	for _, when := range []string{"running", "reloaded"} {
		for i := n - generation; i < n; i++ {
			if !m.has(markOf(fmt.Sprint(i))) {
				t.Fatalf("%s: write %d of %d is forgotten", when, i, n)
			}
		}
		if held := len(m.marks[0]) + len(m.marks[1]); held > 2*(generation+batch) {
			t.Errorf("%s: holds %d marks", when, held)
		}
		young := m.young
		if err := m.reload(s.db); err != nil || m.young != young {
			t.Fatalf("reloading = %v, the young generation is %d, want %d", err, m.young, young)
		}
	}
}
