// Command web is the page's function: it serves the page and takes what the owner writes there.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/bobbin-agent/bobbin/shared/aws/deployment"
	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/channel/web/webstore"
)

func main() {
	ctx := context.Background()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	d, err := deployment.Open()
	if err != nil {
		log.ErrorContext(ctx, "starting", slog.Any("error", err))
		os.Exit(1)
	}
	lambda.Start(handler{site: web.Handler(web.Site{
		Door:         d.Inbox(),
		Conversation: webstore.Conversation{Table: d.Table},
		People:       webstore.People{Book: d.Book()},
		About:        web.About{Model: d.Settings.Model},
		Clearing:     d.Settings.Clearing,
		Report: func(ctx context.Context, err error) {
			log.LogAttrs(ctx, slog.LevelWarn, "serving the page", slog.Any("error", err))
		},
	})}.handle)
}
