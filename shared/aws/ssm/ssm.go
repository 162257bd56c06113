// Package ssm is the secret store on AWS: SecureString parameters of the Systems Manager's Parameter Store.
//
// A secret's parameter is named by a prefix and the secret's name, "/bobbin/prod/" and "telegram-token" for example. A
// value is kept for five minutes, so that a function asks once for many events and still learns of a new key soon.
package ssm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/bobbin-agent/bobbin/shared/secret"
)

// keep is how long a value is answered from memory.
const keep = 5 * time.Minute

// Store is a secret.Store.
type Store struct {
	api    api
	prefix string

	known sync.Map // *entry by secret name
}

var _ secret.Store = (*Store)(nil)

// entry is one secret. Whoever asks has the turn, so that several who want it at once ask once.
type entry struct {
	turn  chan struct{} // holds one token while somebody has it
	value string
	until time.Time
}

// api is what Store needs of the Systems Manager.
type api interface {
	// parameter reads a parameter, decrypted. The error wraps errMissing if there is none of that name.
	parameter(ctx context.Context, name string) (string, error)
}

var errMissing = errors.New("no such parameter")

// New makes the store of the parameters whose names begin with prefix, its last slash included.
func New(cfg aws.Config, prefix string) *Store {
	return &Store{api: newClient(cfg), prefix: prefix}
}

// Get is secret.Store's. That a secret is missing is not kept.
func (s *Store) Get(ctx context.Context, name string) (string, error) {
	known, _ := s.known.LoadOrStore(name, &entry{turn: make(chan struct{}, 1)})
	e := known.(*entry)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return "", fmt.Errorf("%w: waiting for parameter %s%s: %w", secret.ErrRefused, s.prefix, name, ctx.Err())
	}
	if time.Now().Before(e.until) {
		return e.value, nil
	}
	value, err := s.read(ctx, name)
	if err != nil {
		return "", err
	}
	e.value, e.until = value, time.Now().Add(keep)
	return value, nil
}

func (s *Store) read(ctx context.Context, name string) (string, error) {
	parameter := s.prefix + name
	value, err := s.api.parameter(ctx, parameter)
	switch {
	case errors.Is(err, errMissing):
		return "", fmt.Errorf("%w: set parameter %s", secret.ErrNotFound, parameter)
	case err != nil:
		return "", fmt.Errorf("%w: reading parameter %s: %w", secret.ErrRefused, parameter, err)
	}
	if value = strings.TrimSpace(value); value == "" {
		return "", fmt.Errorf("%w: parameter %s is empty", secret.ErrNotFound, parameter)
	}
	return value, nil
}
