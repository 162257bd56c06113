package main

import (
	"context"
	"log/slog"

	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/aws/deployment"
	"github.com/bobbin-agent/bobbin/shared/aws/s3"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/provider"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/tool/ask"
	"github.com/bobbin-agent/bobbin/shared/tool/clock"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// open puts the runner together. It asks for no secret: the model and the bot do, each when it is used, so that one that
// is missing, wrong or new concerns what needs it alone.
func open(d *deployment.Deployment, alive *tool.Lingering, log *slog.Logger) *runner.Runner {
	desk := d.Desk()
	answering := &vendor{
		settings: provider.Settings{Choice: d.Settings.Model, URL: d.Settings.ModelURL},
		secrets:  d.Secrets, prefix: d.Settings.Secrets,
	}
	sending := newBot(d.Settings, d.Secrets)
	var r *runner.Runner
	r = &runner.Runner{
		Desk:  desk,
		Queue: d.Queue,
		Agent: &agent.Agent{
			Model: model.Retry(answering), Tools: []tool.Tool{clock.Tool(), ask.Tool()}, Blobs: s3.New(d.SDK, d.Settings.Bucket),
			Limits: agent.Limits{Steps: d.Settings.Steps, Identical: d.Settings.Repeats}, Alive: alive,
			Posted: func(ctx context.Context, t turn.Turn) { r.Post(ctx, t) },
		},
		Outbox: &outbox.Sender{
			Table: d.Table, IDs: d.IDs, Holder: desk.Holder,
			Channel: func(connection string) (channel.Channel, bool) {
				return sending, sending.id != 0 && connection == telegram.Connection(sending.id)
			},
		},
		Note: func(ctx context.Context, event string, t turn.Turn, err error) {
			log.LogAttrs(ctx, level(err), "work", slog.String("event", event), slog.String("turn", string(t.ID)),
				slog.String("session", string(t.Session)), slog.Any("error", err))
		},
	}
	return r
}

func level(err error) slog.Level {
	if err != nil {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
