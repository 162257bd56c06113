package secrettest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/bobbin-agent/bobbin/shared/secret"
)

// ErrInjected is what the errors of injected faults wrap, beside secret.ErrRefused.
var ErrInjected = errors.New("injected fault")

// Fake is a store in memory that refuses as told. The zero Fake is empty and never refuses.
type Fake struct {
	// Refuse says whether to refuse the n-th read of a name, counted from 1; nil never does. It is called outside any
	// lock, from the caller's goroutine.
	Refuse func(name string, n int) bool

	mu      sync.Mutex
	secrets map[string]string
	calls   map[string]int
}

// NewFake makes a store of these secrets, by name.
func NewFake(secrets map[string]string) *Fake { return &Fake{secrets: maps.Clone(secrets)} }

// Set changes a secret; an empty value removes it.
func (f *Fake) Set(name, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.secrets == nil {
		f.secrets = make(map[string]string)
	}
	f.secrets[name] = value
}

// Calls says how often each name has been read.
func (f *Fake) Calls() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.calls)
}

// Get is secret.Store's.
func (f *Fake) Get(_ context.Context, name string) (string, error) {
	value, n := f.read(name)
	if f.Refuse != nil && f.Refuse(name, n) {
		return "", fmt.Errorf("%w: %s: %w", secret.ErrRefused, name, ErrInjected)
	}
	if value == "" {
		return "", fmt.Errorf("%w: %s", secret.ErrNotFound, name)
	}
	return value, nil
}

func (f *Fake) read(name string) (value string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = make(map[string]int)
	}
	f.calls[name]++
	return strings.TrimSpace(f.secrets[name]), f.calls[name]
}
