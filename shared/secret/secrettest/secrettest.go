// Package secrettest holds every implementation of shared/secret to its guarantees, and has an in-memory store with
// faults for the tests of whoever uses one.
package secrettest

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/secret"
)

// Open makes a store that holds these secrets, by name, as well as its technology can: one that can't hold an empty
// value leaves it out. It cleans up after itself.
type Open func(t *testing.T, secrets map[string]string) secret.Store

// largest is what every store can hold: the 4 KiB of a standard parameter of AWS.
var largest = strings.Repeat("0123456789abcdef", 256)

// values has each secret of the suite as stored and as it must be read; "" stands for ErrNotFound.
var values = map[string]struct{ stored, read string }{
	"plain":       {"s3cr3t", "s3cr3t"},
	"padded":      {" \t s3cr3t\r\n", "s3cr3t"},
	"inner-space": {"line one\nline  two", "line one\nline  two"},
	"punctuation": {`{"k":"v=1&x;$HOME%41"}`, `{"k":"v=1&x;$HOME%41"}`},
	"any-script":  {"zażółć 🐢", "zażółć 🐢"},
	"largest":     {largest, largest},
	"empty":       {"", ""},
	"blank":       {" \n", ""},
}

// Run holds the store to its guarantees.
func Run(t *testing.T, open Open) {
	t.Helper()
	stored := map[string]string{}
	for name, v := range values {
		stored[name] = v.stored
	}
	s := open(t, stored)
	for name, v := range values {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // the second may come from a cache
				get(t, s, name, v.read)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		get(t, s, "missing", "")
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		var wait sync.WaitGroup
		for range 8 {
			for name, v := range values {
				wait.Go(func() { get(t, s, name, v.read) })
			}
		}
		wait.Wait()
	})
}

// get fails the test unless the store answers want, or ErrNotFound and no other error if want is "".
func get(t *testing.T, s secret.Store, name, want string) {
	t.Helper()
	got, err := s.Get(t.Context(), name)
	if got != want {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
	switch {
	case want != "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want == "" && !errors.Is(err, secret.ErrNotFound):
		t.Errorf("%s: got error %v, want ErrNotFound", name, err)
	}
}
