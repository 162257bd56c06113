package bolt

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/blob"
)

var large = bytes.Repeat([]byte("x"), inline+1)

func TestPutsThatLoseTheRaceForANameLeaveNoFile(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	const racers = 8
	resume := stall(t, s) // so that all of them write their file before one of them has the name
	var wins atomic.Int64
	var wg sync.WaitGroup
	for range racers {
		wg.Go(func() {
			switch err := s.Blob().Put(t.Context(), "name", large); {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, blob.ErrExists):
				t.Errorf("putting = %v, want nil or ErrExists", err)
			}
		})
	}
	awaitQueue(s, racers)
	resume()
	wg.Wait()
	if wins.Load() != 1 {
		t.Errorf("%d of %d puts of one name succeeded", wins.Load(), racers)
	}
	expectNoLeftovers(t, s)
}

func TestADeletedObjectLeavesNoFile(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	if err := s.Blob().Put(t.Context(), "name", large); err != nil {
		t.Fatal(err)
	}
	if err := s.Blob().Delete(t.Context(), "name"); err != nil {
		t.Fatal(err)
	}
	expectNoLeftovers(t, s)
}

// A crash while a large object is put or deleted leaves a pending file; the next Open removes it.
func TestOpenRemovesFilesThatNoObjectNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openIn(t, dir)
	for _, name := range []string{"kept", "deleted"} {
		if err := s.Blob().Put(t.Context(), name, large); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.commit.submit(t.Context(), announce{"crashed", "crashed-before-index"}); err != nil {
		t.Fatal(err)
	}
	if err := (objects{s}).writeFile("crashed-before-index", large); err != nil {
		t.Fatal(err)
	}
	if err := s.commit.submit(t.Context(), announce{"crashed", "crashed-before-file"}); err != nil {
		t.Fatal(err)
	}
	if err := s.commit.submit(t.Context(), &deleteObject{name: "deleted"}); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(s.folder); err != nil || len(files) != 3 {
		t.Fatalf("files before the crash = %v, %v, want 3", files, err)
	}
	s = reopen(t, s, dir)
	expectNoLeftovers(t, s)
	if got, err := s.Blob().Get(t.Context(), "kept"); err != nil || !bytes.Equal(got, large) {
		t.Errorf("the object whose put was done = %d bytes, %v", len(got), err)
	}
}
