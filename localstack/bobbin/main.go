// Command bobbin is the whole of Bobbin in one process: `bobbin` runs it, `bobbin pair` makes pairing codes. Its settings
// are environment variables, see README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/bobbin-agent/bobbin/shared/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], config.Environment())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bobbin: "+oneLine(err))
		os.Exit(1)
	}
}
