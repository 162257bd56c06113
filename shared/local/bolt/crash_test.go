package bolt

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// victimFlag, followed by a folder, makes the test binary the child of the crash test.
const victimFlag = "-victim="

func TestMain(m *testing.M) {
	if dir, ok := strings.CutPrefix(os.Args[len(os.Args)-1], victimFlag); ok {
		writeUntilKilled(dir, os.Stdout)
	}
	os.Exit(m.Run())
}

const victims = 4 // goroutines of the child

// writeUntilKilled writes records and objects and prints the number of each that was answered with success.
func writeUntilKilled(dir string, out io.Writer) {
	s, err := Open(dir)
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for worker := range victims {
		wg.Go(func() {
			for i := worker; ; i += victims {
				writeNumber(s, i)
				mu.Lock()
				_, _ = fmt.Fprintln(out, i)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// numbered are the records and the object of one number: two records of one write, and a body of which every eighth is
// too large to be inline.
func numbered(i int) (w table.Write, name string, body []byte) {
	id := strconv.Itoa(i)
	w = table.Write{ID: id, Ops: []table.Op{
		table.Put(table.Key{Partition: "a", Sort: id}, []byte(id), table.Absent()),
		table.Put(table.Key{Partition: "b", Sort: id}, []byte(id), table.Absent()),
	}}
	size := 100
	if i%8 == 0 {
		size = inline + 100
	}
	return w, "objects/" + id, bytes.Repeat([]byte{byte(i)}, size)
}

func writeNumber(s *Store, i int) {
	ctx := context.Background()
	w, name, body := numbered(i)
	if err := s.Table().Write(ctx, w); err != nil {
		panic(err)
	}
	if err := s.Blob().Put(ctx, name, body); err != nil {
		panic(err)
	}
}

// Whatever was acknowledged before a kill -9 is there afterwards, and the folder opens at once, several times over.
func TestAcknowledgedWritesSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 3 {
		acknowledged := killAfter(t, dir, 200)
		s, err := Open(dir)
		if err != nil {
			t.Fatalf("opening after kill %d: %v", round, err)
		}
		for _, i := range acknowledged {
			expectNumber(t, s, i)
		}
		expectNoHalves(t, s)
		expectNoLeftovers(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		dir = t.TempDir()
	}
}

// killAfter runs the child until it has acknowledged n numbers, kills it and returns all that it acknowledged.
func killAfter(t *testing.T, dir string, n int) []int {
	t.Helper()
	child := exec.Command(os.Args[0], victimFlag+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var numbers []int
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if i, err := strconv.Atoi(lines.Text()); err == nil {
			numbers = append(numbers, i)
		}
		if len(numbers) == n {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || len(numbers) < n {
		t.Fatalf("the child acknowledged %d numbers and ended with %v, want %d and a kill", len(numbers), err, n)
	}
	return numbers
}

func expectNumber(t *testing.T, s *Store, i int) {
	t.Helper()
	w, name, body := numbered(i)
	for _, op := range w.Ops {
		if item, err := s.Table().Get(t.Context(), op.Key); err != nil || item == nil || !bytes.Equal(item.Value, op.Value) {
			t.Errorf("acknowledged record %s = %v, %v", op.Key, item, err)
		}
	}
	if got, err := s.Blob().Get(t.Context(), name); err != nil || !bytes.Equal(got, body) {
		t.Errorf("acknowledged object %s = %d bytes, %v, want %d", name, len(got), err, len(body))
	}
	if err := s.Table().Write(t.Context(), w); err != nil {
		t.Errorf("sending acknowledged write %d again = %v, want nil", i, err)
	}
}

// expectNoHalves demands that of each write both records are there or none.
func expectNoHalves(t *testing.T, s *Store) {
	t.Helper()
	var count [2]int
	for i, partition := range []string{"a", "b"} {
		for q := (table.Query{Partition: partition}); ; {
			page, err := s.Table().Scan(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			count[i] += len(page.Items)
			if q.After = page.Next; q.After == "" {
				break
			}
		}
	}
	if count[0] != count[1] {
		t.Errorf("writes of two records left %d and %d", count[0], count[1])
	}
}

// expectNoLeftovers demands that each file belongs to an object.
func expectNoLeftovers(t *testing.T, s *Store) {
	t.Helper()
	files, err := os.ReadDir(s.folder)
	if err != nil {
		t.Fatal(err)
	}
	large := 0
	for after := ""; ; {
		page, err := s.Blob().List(t.Context(), "", after)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Objects {
			if o.Size > inline {
				large++
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(files) != large {
		t.Errorf("%d files for %d large objects", len(files), large)
	}
}
