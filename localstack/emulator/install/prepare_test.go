package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/localstack/emulator"
)

// bare is a machine with nothing on it, and a repository without an emulator as the working directory.
func bare(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("PATH", dir)
}

func TestEverythingThatIsLeftOutIsALine(t *testing.T) {
	bare(t)
	var said strings.Builder
	if err := prepare(t.Context(), &said, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(said.String(), "\n"), "\n")
	for i, want := range []string{"emulator", "browser", "make emulate"} {
		if len(lines) != 3 || !strings.HasPrefix(lines[i], "left out: ") || !strings.Contains(lines[i], want) {
			t.Fatalf("said\n%s\nwant a line with %q as number %d of 3", said.String(), want, i+1)
		}
	}
}

func TestAnEmulatorThatMustBeThereIsNotLeftOut(t *testing.T) {
	bare(t)
	var said strings.Builder
	if err := prepare(t.Context(), &said, true); !emulator.Missing(err) {
		t.Errorf("got %v and %q, want an error that says what is missing", err, said.String())
	}
}
