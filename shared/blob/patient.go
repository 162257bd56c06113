package blob

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-agent/bobbin/shared/pause"
)

// Patience of Ensure and Fetch. A store that stays away longer is the caller's problem.
const (
	attempts   = 5
	firstPause = 40 * time.Millisecond // doubled each time
)

// Ensure puts an object whose name says its content, trying again when the store refuses. That it exists already is
// success: an earlier attempt, or someone else, has put the same. Errors wrap ErrRefused or ErrInvalid.
func Ensure(ctx context.Context, b Blob, name string, body []byte) error {
	err := patiently(ctx, func() error { return b.Put(ctx, name, body) })
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// Fetch reads a whole object, trying again when the store refuses. Errors wrap ErrNotFound, ErrRefused or ErrInvalid.
func Fetch(ctx context.Context, b Blob, name string) (body []byte, err error) {
	err = patiently(ctx, func() (err error) {
		body, err = b.Get(ctx, name)
		return err
	})
	return body, err
}

func patiently(ctx context.Context, try func() error) error {
	rest := firstPause
	for attempt := 1; ; attempt++ {
		err := try()
		if !errors.Is(err, ErrRefused) || attempt == attempts || !pause.For(ctx, rest) {
			return err
		}
		rest *= 2
	}
}
