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

// stall holds up the committer, in a batch of its own, until the returned function is called.
func stall(t *testing.T, s *Store) (resume func()) {
	t.Helper()
	tx, err := s.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	s.commit.enqueue(&request{change: forget{}, done: make(chan error, 1)})
	awaitQueue(s, 0)
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

// awaitQueue returns when n requests wait.
func awaitQueue(s *Store, n int) {
	for queued := -1; queued != n; runtime.Gosched() {
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
	awaitQueue(s, writes)
	resume()
	wg.Wait()
	if got := s.commit.commits.Load(); got != 1 {
		t.Errorf("%d waiting writes took %d commits, want 1", writes, got)
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
	awaitQueue(s, 2)
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
