// Command invite makes pairing codes in a deployment's table, in the AWS account that the environment gives.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bobbin-agent/bobbin/localstack/pairing"
	"github.com/bobbin-agent/bobbin/shared/aws/account"
	"github.com/bobbin-agent/bobbin/shared/aws/dynamo"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/owner"
)

const usage = "usage: BOBBIN_TABLE=… invite [-count N] [-owner NAME]"

func main() {
	if err := invite(context.Background(), os.Args[1:], config.Environment().Table()); err != nil {
		fmt.Fprintln(os.Stderr, "invite: "+strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

func invite(ctx context.Context, args []string, table string) error {
	order, err := pairing.Parse(args)
	if err == nil && table == "" {
		err = errors.New("BOBBIN_TABLE is not set: set it to the output Table of the stack")
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, usage)
	}
	cfg, err := account.Load(ctx)
	if err != nil {
		return err
	}
	codes, err := pairing.Make(ctx, &owner.Book{Table: dynamo.New(cfg, table), IDs: &id.Source{}}, order)
	if err != nil {
		return err
	}
	return pairing.Print(codes)
}
