package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/bobbin-agent/bobbin/localstack/server"
	"github.com/bobbin-agent/bobbin/shared/config"
)

// pair prints pairing codes, one a line.
func pair(ctx context.Context, args []string, env config.Lookup) error {
	flags := flag.NewFlagSet("pair", flag.ContinueOnError)
	count := flags.Int("count", 1, "how many codes")
	name := flags.String("owner", "", "add an owner of this name for each code")
	flags.SetOutput(io.Discard) // the error says it all, in one line
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %s", err, usage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("nothing is known of %q: %s", flags.Arg(0), usage)
	}
	codes, err := makeCodes(ctx, server.Pairing{Owner: *name, Count: *count}, env)
	if err != nil {
		return err
	}
	if readByAPerson(os.Stdout) {
		_, _ = fmt.Fprintln(os.Stderr, "Send /start and the code from the chat to be paired, within an hour; each code works once.")
	}
	for _, code := range codes {
		if _, err := fmt.Fprintln(os.Stdout, code); err != nil {
			return err
		}
	}
	return nil
}

// readByAPerson reports whether a file is a terminal: a program that reads the codes wants nothing else.
func readByAPerson(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// makeCodes makes codes in the deployment's table if the environment names one, else in the data folder.
func makeCodes(ctx context.Context, p server.Pairing, env config.Lookup) ([]string, error) {
	if name := env.Table(); name != "" {
		return server.PairInTable(ctx, name, p)
	}
	settings, err := env.Local()
	if err != nil {
		return nil, err
	}
	return server.Pair(ctx, settings.Data, p)
}
