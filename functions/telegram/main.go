// Command telegram is the webhook's function: an update is stored as a queued turn before Telegram hears 200.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/bobbin-agent/bobbin/shared/aws/deployment"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
)

func main() {
	ctx := context.Background()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	d, err := deployment.Open()
	if err != nil {
		log.ErrorContext(ctx, "starting", slog.Any("error", err))
		os.Exit(1)
	}
	if d.Settings.Bot == 0 {
		log.ErrorContext(ctx, "starting: no bot is named; deploy with -c telegram-bot=DIGITS, those before the colon of its token")
		os.Exit(1)
	}
	lambda.Start(handler{
		secrets:  d.Secrets,
		receiver: telegram.Receiver{Bot: d.Settings.Bot, Door: d.Inbox()},
		log:      log,
	}.handle)
}
