// Command runner is the function that the queue wakes: it runs turns and sends what they say.
package main

import (
	"context"
	"log/slog"
	"os"
	"sync"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/bobbin-agent/bobbin/shared/aws/deployment"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/tool"
)

func main() {
	ctx := context.Background()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	d, err := deployment.Open()
	if err != nil {
		log.ErrorContext(ctx, "starting", slog.Any("error", err))
		os.Exit(1)
	}
	alive := &tool.Lingering{}
	h := &handler{
		runner: sync.OnceValue(func() *runner.Runner { return open(d, alive, log) }),
		lease:  d.Queue.LeaseFor,
		alive:  alive,
		exit:   os.Exit,
		log:    log,
	}
	lambda.Start(h.handle)
}
