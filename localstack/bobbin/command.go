package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/config"
)

const usage = "usage: bobbin, or bobbin pair [-count N] [-owner NAME]; settings are in README.md"

// command does what the command line says. Being asked for help is no error.
func command(ctx context.Context, args []string, env config.Lookup) error {
	var err error
	switch {
	case len(args) == 0:
		return run(ctx, env)
	case args[0] == "pair":
		err = pair(ctx, args[1:], env)
	case args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help":
		err = flag.ErrHelp
	default:
		return fmt.Errorf("there is no command %q: %s", args[0], usage)
	}
	if errors.Is(err, flag.ErrHelp) {
		_, err = fmt.Fprintln(os.Stdout, usage)
	}
	return err
}

// oneLine joins what went wrong into one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
