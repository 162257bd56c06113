package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/markup"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/secret"
)

// tokenWait is how long a message waits for a token that is missing or wrong: people set it, and a good one counts
// within five minutes.
const tokenWait = 5 * time.Minute

// bot is the deployment's Telegram bot with the token that is in the Parameter Store now, which answers from memory for
// five minutes. Without a usable token nothing is sent, and nothing is lost: it is tried again later.
type bot struct {
	id      int64  // 0 when there is no bot
	base    string // of the Bot API server; "" is Telegram's own
	secrets secret.Store
	pace    *telegram.Pace // outlives a token: Telegram counts by bot

	mu     sync.Mutex
	token  string
	opened *telegram.Channel // with that token; nil before the first message
}

func newBot(s config.Cloud, secrets secret.Store) *bot {
	rate := telegram.Rate{PerSecond: s.Rate.InAll, ChatPerSecond: s.Rate.PerChat}
	return &bot{id: s.Bot, base: s.TelegramAPI, secrets: secrets, pace: telegram.NewPace(rate)}
}

// Render is channel.Channel's.
func (b *bot) Render(markdown string) []channel.Part { return markup.Render(markdown) }

// Send is channel.Channel's.
func (b *bot) Send(ctx context.Context, to channel.Route, part channel.Part) (string, error) {
	c, err := b.open(ctx)
	if err != nil {
		return "", err
	}
	return c.Send(ctx, to, part)
}

// open is the channel with the present token, the same as before while that has not changed.
func (b *bot) open(ctx context.Context) (*telegram.Channel, error) {
	token, err := b.secrets.Get(ctx, config.TelegramToken)
	switch {
	case errors.Is(err, secret.ErrNotFound):
		return nil, fault.RetryAfter(tokenWait, fmt.Errorf("reading the token of the bot: %w", err))
	case err != nil:
		return nil, fault.As(fault.Retry, fmt.Errorf("reading the token of the bot: %w", err))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil && b.token == token {
		return b.opened, nil
	}
	client, err := telegram.NewClient(b.base, token)
	if err == nil && client.Bot() != b.id {
		err = fmt.Errorf("the token is that of bot %d, and the stack was deployed for bot %d", client.Bot(), b.id)
	}
	if err != nil {
		return nil, fault.RetryAfter(tokenWait, fmt.Errorf("opening the bot: %w", err))
	}
	b.token, b.opened = token, &telegram.Channel{Client: client, Pace: b.pace, Markup: markup.Render}
	return b.opened, nil
}
