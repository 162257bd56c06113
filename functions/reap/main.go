// Command reap is the minute's function: it brings back what was left behind.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/bobbin-agent/bobbin/shared/aws/deployment"
	"github.com/bobbin-agent/bobbin/shared/reaper"
)

func main() {
	ctx := context.Background()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	d, err := deployment.Open()
	if err != nil {
		log.ErrorContext(ctx, "starting", slog.Any("error", err))
		os.Exit(1)
	}
	lambda.Start(handler{
		reaper: &reaper.Reaper{Table: d.Table, IDs: d.IDs, Queue: d.Queue, Desk: d.Desk()},
		log:    log,
	}.handle)
}
