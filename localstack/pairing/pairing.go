// Package pairing makes pairing codes and is what the commands that make them have in common.
package pairing

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-agent/bobbin/shared/owner"
)

const (
	// Founder is the name of the first owner.
	Founder = "owner"
	// maxCodes bounds how many codes are made at once.
	maxCodes = 10_000
	// codesAtOnce is how many are made side by side, so that they share the store's commits.
	codesAtOnce = 32
)

// Order asks for one-time codes.
type Order struct {
	Owner string `json:"owner"` // a new owner of this name is added for each code; "" is the owner who is there
	Count int    `json:"count"` // how many codes
}

// Parse reads an order from a command's arguments. Errors are one line, flag.ErrHelp among them.
func Parse(args []string) (Order, error) {
	var o Order
	flags := flag.NewFlagSet("pair", flag.ContinueOnError)
	flags.IntVar(&o.Count, "count", 1, "how many codes")
	flags.StringVar(&o.Owner, "owner", "", "add an owner of this name for each code")
	flags.SetOutput(io.Discard) // the error says it all
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("nothing is known of %q", flags.Arg(0))
	}
	return o, nil
}

// Make makes the codes, each of which can be used once within an hour, adding the first owner if there is none.
func Make(ctx context.Context, book *owner.Book, o Order) ([]string, error) {
	if o.Count < 1 || o.Count > maxCodes {
		return nil, fmt.Errorf("the number of codes, -count, is %d and must be from 1 to %d", o.Count, maxCodes)
	}
	first, err := book.Found(ctx, Founder, time.Now())
	if err != nil {
		return nil, err
	}
	codes := make([]string, o.Count)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(codesAtOnce)
	for i := range codes {
		group.Go(func() (err error) {
			codes[i], err = makeOne(ctx, book, first, o.Owner)
			return err
		})
	}
	return codes, group.Wait()
}

// makeOne makes a code for the owner, or for a new one of that name.
func makeOne(ctx context.Context, book *owner.Book, o owner.Owner, name string) (string, error) {
	if name != "" {
		var err error
		if o, err = book.Add(ctx, name, time.Now()); err != nil {
			return "", err
		}
	}
	return book.NewCode(ctx, o.ID, time.Now())
}

// Print writes the codes to the standard output, one a line, and tells a person at a terminal what to do with them.
func Print(codes []string) error {
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
