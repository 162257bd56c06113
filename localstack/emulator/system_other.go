//go:build !unix

package emulator

import (
	"context"
	"errors"
	"os"
)

// interrupt says that such a system can't ask a process to end; it is killed.
func interrupt(*os.Process) error { return errors.ErrUnsupported }

// lock does nothing: on such a system two installers at once are the user's to avoid.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
