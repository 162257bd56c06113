// Command install puts the main emulator in place ahead of the tests that need it. On a machine without Python it says
// in one line what those tests will leave out, and succeeds.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/bobbin-agent/bobbin/localstack/emulator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	_, err := emulator.Install(ctx, "", emulator.Ministack)
	stop()
	switch {
	case errors.Is(err, emulator.ErrNoPython):
		fmt.Fprintln(os.Stderr, "left out: all tests on an AWS emulator:", emulator.ErrNoPython)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
