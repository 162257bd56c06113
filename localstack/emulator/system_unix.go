//go:build unix

package emulator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// interrupt asks the process to end.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// lock waits until this process alone holds the file's lock, which ends with the process at the latest.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // a path of this package's own choice
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // closing gives the lock up
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			break
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("waiting for another installer: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	_ = f.Close()
	return nil, fmt.Errorf("locking %s: %w", path, err)
}
