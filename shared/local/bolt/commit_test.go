package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// stall keeps the committer from beginning a transaction until the returned function is called.
func stall(t *testing.T, s *Store) (resume func()) {
	t.Helper()
	tx, err := s.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

// awaitQueue returns when n requests wait behind the one that the committer holds.
func awaitQueue(s *Store, n int) {
	for queued := -1; queued < n; runtime.Gosched() {
		s.commit.mu.Lock()
		queued = len(s.commit.waiting)
		s.commit.mu.Unlock()
	}
}

// watched is a context that tells when somebody begins to wait for its end.
type watched struct {
	context.Context //nolint:containedctx // it is a context itself
	waiting         chan struct{}
}

func (w watched) Done() <-chan struct{} {
	close(w.waiting)
	return w.Context.Done()
}

func TestWritesThatWaitAreCommittedTogether(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	resume := stall(t, s)
	const writes = 200
	errs := make([]error, writes)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			// Each key is wanted by two writes.
			k := table.Key{Partition: "p", Sort: fmt.Sprint(i / 2)}
			errs[i] = s.Table().Write(t.Context(), create(fmt.Sprint(i), "", k))
		})
	}
	awaitQueue(s, writes/2)
	resume()
	wg.Wait()
	if got := s.commit.commits.Load(); got > writes/2+1 {
		t.Errorf("%d writes took %d commits", writes, got)
	}
	for i := 0; i < writes; i += 2 {
		var failed *table.ConditionError
		if first, second := errs[i], errs[i+1]; (first == nil) == (second == nil) || !errors.As(errors.Join(first, second), &failed) {
			t.Errorf("two writes of one new key = %v and %v, want one success and one failed condition", first, second)
		}
	}
}

func TestAWriteWhoseCallerLeavesIsUnknownAndOwesNothingToTheCaller(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	resume := stall(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	value := []byte("precious")
	w := table.Write{ID: "w", Ops: []table.Op{table.Put(key, value, table.Absent())}}
	answer := make(chan error)
	waiting := make(chan struct{})
	go func() { answer <- s.Table().Write(watched{ctx, waiting}, w) }() //nolint:contextcheck // ends with ctx
	<-waiting
	cancel()
	if err := <-answer; !errors.Is(err, table.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("writing = %v, want ErrUnknown with the context's error", err)
	}
	copy(value, "spoiled!")
	resume()
	copy(value, "precious")
	if err := s.Table().Write(t.Context(), w); err != nil {
		t.Errorf("sending the write again = %v, want nil", err)
	}
	if item, err := s.Table().Get(t.Context(), key); err != nil || string(item.Value) != "precious" {
		t.Errorf("the record = %v, %v, want the value as it was given", item, err)
	}
}

func TestAFailedConditionAloneIsNotCommitted(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	mustWrite(t, s, create("w", "", key))
	before := s.commit.commits.Load()
	var failed *table.ConditionError
	if err := s.Table().Write(t.Context(), create("x", "", key)); !errors.As(err, &failed) {
		t.Errorf("writing = %v, want a failed condition", err)
	}
	if got := s.commit.commits.Load(); got != before {
		t.Errorf("a write without effect took %d commits", got-before)
	}
}

func TestCloseAnswersWhatWaits(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	resume := stall(t, s)
	answers := make(chan error)
	for i := range 2 {
		go func() {
			answers <- s.Table().Write(t.Context(), create(fmt.Sprint(i), "", table.Key{Partition: "p", Sort: fmt.Sprint(i)}))
		}()
	}
	awaitQueue(s, 1)
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	resume()
	for range 2 {
		if err := <-answers; err != nil {
			t.Errorf("a write that waited when the store closed = %v, want nil", err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestAWriteIsRememberedWhenItsRecordsNoLongerTell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openIn(t, dir)
	add := table.Write{ID: "add", Ops: []table.Op{table.Add(key, 1)}}
	mustWrite(t, s, add)
	mustWrite(t, s, table.Write{ID: "other", Ops: []table.Op{table.Add(key, 10)}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openIn(t, dir)
	mustWrite(t, s, add)
	if item, err := s.Table().Get(t.Context(), key); err != nil || item.Counter != 11 {
		t.Errorf("the record after the add was sent again = %v, %v, want a counter of 11", item, err)
	}
}

func TestMemoryHoldsAtLeastOneGenerationAndForgetsTheRest(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	m := s.commit.memory
	const batch = 1000
	n := 0
	for n < 4*generation {
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
		if err := m.reload(s.db); err != nil {
			t.Fatal(err)
		}
	}
}
