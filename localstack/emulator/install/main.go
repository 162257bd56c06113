// Command install puts the main emulator in place ahead of the tests that need it. It also says, in one line each, what
// those who run all tests on this machine will miss: what takes a browser that is not here or a deployed stack, and, if
// the emulator can't be installed, what takes that. With -must the last is an error.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	must := flag.Bool("must", false, "fail where the emulator can't be installed, instead of leaving its tests out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := prepare(ctx, os.Stderr, *must)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
