package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-agent/bobbin/localstack/pairing"
	"github.com/bobbin-agent/bobbin/localstack/server"
	"github.com/bobbin-agent/bobbin/shared/config"
)

// pair prints pairing codes for the data folder, one a line.
func pair(ctx context.Context, args []string, env config.Lookup) error {
	order, err := pairing.Parse(args)
	if err != nil {
		return fmt.Errorf("%w: %s", err, usage)
	}
	if env.Table() != "" {
		return errors.New("BOBBIN_TABLE is set, and this is for a data folder: use make pair, or unset it")
	}
	settings, err := env.Local()
	if err != nil {
		return err
	}
	codes, err := server.Pair(ctx, settings.Data, order)
	if err != nil {
		return err
	}
	return pairing.Print(codes)
}
