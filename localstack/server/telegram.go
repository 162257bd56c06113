package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/markup"
	"github.com/bobbin-agent/bobbin/shared/config"
)

// Telegram is the bot of the one process.
type Telegram struct {
	client  *telegram.Client
	channel *telegram.Channel
	secret  string // of the webhook; "" when updates are fetched
}

// NewTelegram makes the bot of a token. With a webhook's secret, updates come to POST /telegram; without, they are
// fetched.
func NewTelegram(s config.Shared, token, secret string) (*Telegram, error) {
	client, err := telegram.NewClient(s.TelegramAPI, token)
	if err != nil {
		return nil, fmt.Errorf("BOBBIN_TELEGRAM_TOKEN is wrong: %w", err) // the address has been looked at before
	}
	pace := telegram.NewPace(telegram.Rate{PerSecond: s.Rate.InAll, ChatPerSecond: s.Rate.PerChat})
	return &Telegram{
		client: client, channel: &telegram.Channel{Client: client, Pace: pace, Markup: markup.Render}, secret: secret,
	}, nil
}

// Name asks who the bot is.
func (t *Telegram) Name(ctx context.Context) (string, error) {
	me, err := t.client.GetMe(ctx)
	return me.Username, err
}

func (t *Telegram) connection() string { return telegram.Connection(t.client.Bot()) }

func (t *Telegram) receiver(ctx context.Context, door telegram.Door, log *slog.Logger) telegram.Receiver {
	return telegram.Receiver{Bot: t.client.Bot(), Door: door, Count: func(o telegram.Outcome) {
		log.DebugContext(ctx, "telegram update", slog.String("outcome", o.String()))
	}}
}

func (t *Telegram) webhook(ctx context.Context, door telegram.Door, log *slog.Logger) telegram.Webhook {
	return telegram.Webhook{Secret: t.secret, Receiver: t.receiver(ctx, door, log)}
}

// run fetches updates, unless they come to the webhook. Its error says what is wrong with the settings.
func (t *Telegram) run(ctx context.Context, door telegram.Door, log *slog.Logger) error {
	if t.secret != "" {
		return t.check(ctx)
	}
	poll := telegram.Poll{Client: t.client, Receiver: t.receiver(ctx, door, log), Report: func(err error) {
		log.WarnContext(ctx, "fetching updates", slog.Any("error", err))
	}}
	if err := poll.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the bot of BOBBIN_TELEGRAM_TOKEN can't be used: %w", err)
	}
	return nil
}

// check tries the token. Only Telegram's own refusal is an error.
func (t *Telegram) check(ctx context.Context) error {
	_, err := t.client.GetMe(ctx)
	if refused, ok := errors.AsType[*telegram.APIError](err); ok && refused.Code == http.StatusUnauthorized {
		return fmt.Errorf("the bot's token is refused: set BOBBIN_TELEGRAM_TOKEN to the one that @BotFather gives (%w)", err)
	}
	return nil
}
