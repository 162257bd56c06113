// Command bobbin is the whole of Bobbin in one process: `bobbin` runs it, `bobbin pair` makes pairing codes. Its settings
// are environment variables, see README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
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

func command(ctx context.Context, args []string, env config.Lookup) error {
	switch {
	case len(args) == 0:
		return run(ctx, env)
	case args[0] == "pair":
		return pair(ctx, args[1:], env)
	}
	return errors.New("usage: bobbin, or bobbin pair [-count N] [-owner NAME]; settings are in README.md")
}

// oneLine joins what went wrong into one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
