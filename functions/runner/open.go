package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/aws/deployment"
	"github.com/bobbin-agent/bobbin/shared/aws/s3"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/markup"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/anthropic"
	"github.com/bobbin-agent/bobbin/shared/model/openai"
	"github.com/bobbin-agent/bobbin/shared/model/provider"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/secret"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/tool/clock"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// open reads the secrets and puts the runner together.
func open(ctx context.Context, d *deployment.Deployment, log *slog.Logger) (*runner.Runner, error) {
	answering, err := openModel(ctx, d)
	if err != nil {
		return nil, err
	}
	bot, err := openTelegram(ctx, d)
	if err != nil {
		return nil, err
	}
	desk := d.Desk()
	return &runner.Runner{
		Desk:  desk,
		Queue: d.Queue,
		Agent: &agent.Agent{
			Model: model.Retry(answering), Tools: []tool.Tool{clock.Tool()}, Blobs: s3.New(d.SDK, d.Settings.Bucket),
		},
		Outbox: &outbox.Sender{
			Table: d.Table, IDs: d.IDs, Holder: desk.Holder,
			Channel: func(connection string) (channel.Channel, bool) {
				return bot, bot != nil && connection == telegram.Connection(bot.Client.Bot())
			},
		},
		Note: func(ctx context.Context, event string, t turn.Turn, err error) {
			log.LogAttrs(ctx, level(err), "work", slog.String("event", event), slog.String("turn", string(t.ID)),
				slog.String("session", string(t.Session)), slog.Any("error", err))
		},
	}, nil
}

func level(err error) slog.Level {
	if err != nil {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// openModel fetches the one key that the chosen provider takes, which is the one that the role may read.
func openModel(ctx context.Context, d *deployment.Deployment) (model.Model, error) {
	s := provider.Settings{Choice: d.Settings.Model, URL: d.Settings.ModelURL}
	var err error
	switch s.Provider() {
	case anthropic.Provider:
		s.AnthropicKey, err = secret.Optional(ctx, d.Secrets, config.AnthropicKey)
	case openai.Provider:
		s.OpenAIKey, err = secret.Optional(ctx, d.Secrets, config.OpenAIKey)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key of the model: %w", err)
	}
	return provider.Open(s)
}

// openTelegram makes the bot; nil when there is none.
func openTelegram(ctx context.Context, d *deployment.Deployment) (*telegram.Channel, error) {
	if d.Settings.Bot == 0 {
		return nil, nil
	}
	token, err := d.Secrets.Get(ctx, config.TelegramToken)
	if err != nil {
		return nil, fmt.Errorf("reading the token of the bot: %w", err)
	}
	client, err := telegram.NewClient(d.Settings.TelegramAPI, token)
	if err != nil {
		return nil, err
	}
	rate := telegram.Rate{PerSecond: d.Settings.Rate.InAll, ChatPerSecond: d.Settings.Rate.PerChat}
	return &telegram.Channel{Client: client, Pace: telegram.NewPace(rate), Markup: markup.Render}, nil
}
