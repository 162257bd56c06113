package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/table"
)

func TestAFileThatIsNotWholeIsRefusedWithAWord(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func([]byte) []byte{
		"cut to half":        func(b []byte) []byte { return b[:len(b)/2] },
		"cut to a page":      func(b []byte) []byte { return b[:4096] },
		"cut to a few bytes": func(b []byte) []byte { return b[:10] },
		"nothing but noise": func([]byte) []byte {
			return []byte("this is no database, whatever its name says; it is but a text of some length, twice over")
		},
		"a header overwritten": func(b []byte) []byte {
			for i := range 8192 {
				b[i] = 0xa5
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fill(t, dir)
			path := filepath.Join(dir, fileName)
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, spoil(body), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir); !errors.Is(err, ErrDamaged) {
				t.Errorf("got %v, want ErrDamaged", err)
			}
		})
	}
}

// fill makes a store with enough in it that half of its file is not enough.
func fill(t *testing.T, dir string) {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, sort := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		key := table.Key{Partition: "p", Sort: sort}
		w := table.Write{ID: sort, Ops: []table.Op{table.Put(key, make([]byte, 300<<10), table.Absent())}}
		if err := s.Table().Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
