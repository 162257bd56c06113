package bolt

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

// openIn opens a folder for the length of the test.
func openIn(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestTableConforms(t *testing.T) {
	t.Parallel()
	tabletest.Run(t, func(t *testing.T) table.Table { return openIn(t, t.TempDir()).Table() })
}

func TestBlobConforms(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Blob { return openIn(t, t.TempDir()).Blob() })
}

var key = table.Key{Partition: "p", Sort: "s"}

func create(id, value string, k table.Key) table.Write {
	return table.Write{ID: id, Ops: []table.Op{table.Put(k, []byte(value), table.Absent())}}
}

func mustWrite(t testing.TB, s *Store, w table.Write) {
	t.Helper()
	if err := s.Table().Write(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

func mustGet(t testing.TB, s *Store, k table.Key) *table.Item {
	t.Helper()
	item, err := s.Table().Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func reopen(t testing.TB, s *Store, dir string) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return openIn(t, dir)
}

func TestEverythingIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small := []byte("small")
	s := openIn(t, dir)
	mustWrite(t, s, create("w", "value", key))
	for name, body := range map[string][]byte{"small": small, "large": large} {
		if err := s.Blob().Put(t.Context(), name, body); err != nil {
			t.Fatal(err)
		}
	}
	s = reopen(t, s, dir)
	if item, err := s.Table().Get(t.Context(), key); err != nil || item == nil || string(item.Value) != "value" {
		t.Errorf("record after reopening = %v, %v", item, err)
	}
	for name, body := range map[string][]byte{"small": small, "large": large} {
		if got, err := s.Blob().Get(t.Context(), name); err != nil || !bytes.Equal(got, body) {
			t.Errorf("object %s after reopening = %d bytes, %v, want %d", name, len(got), err, len(body))
		}
	}
}

func TestASecondOpenIsToldThatTheFolderIsInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openIn(t, dir)
	_, err := Open(dir)
	if !errors.Is(err, ErrLocked) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
		t.Errorf("opening a folder in use = %v, want one line with ErrLocked and the folder", err)
	}
}

func TestAnUnusableFolderIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	garbage := filepath.Join(t.TempDir(), "garbage")
	for path, content := range map[string]string{file: "", filepath.Join(garbage, fileName): strings.Repeat("not a database ", 1000)} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), garbage} {
		s, err := Open(dir)
		if err == nil {
			_ = s.Close()
			t.Errorf("opening %s succeeded", dir)
			continue
		}
		if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
			t.Errorf("opening %s = %q, want one line that names it", dir, err)
		}
	}
}

func TestAPageOfLargeRecordsEndsEarly(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	w := table.Write{ID: "w"}
	for i := range 8 {
		k := table.Key{Partition: "p", Sort: strconv.Itoa(i)}
		w.Ops = append(w.Ops, table.Put(k, make([]byte, table.MaxValueBytes), table.Absent()))
	}
	mustWrite(t, s, w)
	page, err := s.Table().Scan(t.Context(), table.Query{Partition: "p"})
	if err != nil || len(page.Items) != 3 || page.Next != "2" {
		t.Errorf("a page holds %d records up to %q, %v, want the 3 that pass 1 MiB", len(page.Items), page.Next, err)
	}
}

func TestCallsAfterCloseAreRefused(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice = %v, want nil", err)
	}
	_, getErr := s.Table().Get(t.Context(), key)
	_, scanErr := s.Table().Scan(t.Context(), table.Query{Partition: "p"})
	for _, err := range []error{getErr, scanErr, s.Table().Write(t.Context(), create("w", "", key))} {
		if !errors.Is(err, table.ErrRefused) {
			t.Errorf("call after close = %v, want table.ErrRefused", err)
		}
	}
	_, blobErr := s.Blob().Get(t.Context(), "a")
	_, listErr := s.Blob().List(t.Context(), "", "")
	for _, err := range []error{blobErr, listErr, s.Blob().Put(t.Context(), "a", nil), s.Blob().Delete(t.Context(), "a")} {
		if !errors.Is(err, blob.ErrRefused) {
			t.Errorf("call after close = %v, want blob.ErrRefused", err)
		}
	}
}
