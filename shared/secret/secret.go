// Package secret is the seam to named secrets: tokens and keys that are read late and never logged.
//
// Implementations: Env in this package for one machine, shared/aws/ssm on AWS, secrettest in memory with faults;
// secrettest.Run holds all of them to the guarantees below.
package secret

import (
	"context"
	"errors"
)

var (
	// ErrNotFound means that there is no secret of that name, or an empty one.
	ErrNotFound = errors.New("no such secret")
	// ErrRefused means that the store did not answer; the same call may succeed later.
	ErrRefused = errors.New("the secret store refused the request")
)

// Store reads secrets by name.
type Store interface {
	// Get returns the secret's value, without surrounding white space, never empty. Implementations may answer from a
	// cache of up to five minutes. Errors wrap ErrNotFound or ErrRefused and never hold a value.
	Get(ctx context.Context, name string) (string, error)
}

// Optional reads a secret that need not be there; "" if it is not.
func Optional(ctx context.Context, from Store, name string) (string, error) {
	value, err := from.Get(ctx, name)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return value, err
}
