package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
)

// Channel sends a bot's messages. All fields must be set; all that send for one bot should share the Pace.
type Channel struct {
	Client *Client
	Pace   *Pace
	Markup func(markdown string) []channel.Part // package markup's Render
}

var _ channel.Channel = (*Channel)(nil)

// Render turns Markdown into parts in Telegram's HTML, as channel.Channel promises.
func (c *Channel) Render(markdown string) []channel.Part { return c.Markup(markdown) }

// Send sends one part and returns its message ID in decimal. What Telegram can't read as HTML it gets again once as
// plain text; what names a message or topic that is gone goes again once without it. A 429 closes the chat for all
// senders until its time is over.
func (c *Channel) Send(ctx context.Context, to channel.Route, part channel.Part) (string, error) {
	m, err := compose(to, part)
	if err != nil {
		return "", fault.As(fault.GiveUp, err)
	}
	id, err := c.send(ctx, m)
	for err != nil && relax(&m, part, err) {
		id, err = c.send(ctx, m)
	}
	if err != nil {
		return "", classify(err)
	}
	return strconv.FormatInt(id, 10), nil
}

// send waits for its place in the flow and sends once.
func (c *Channel) send(ctx context.Context, m outgoing) (int64, error) {
	if err := c.Pace.Wait(ctx, m.ChatID); err != nil {
		return 0, err
	}
	id, err := c.Client.sendMessage(ctx, m)
	if e, ok := errors.AsType[*APIError](err); ok && e.Code == http.StatusTooManyRequests {
		c.Pace.Gate(m.ChatID, e.wait())
	}
	return id, err
}

func compose(to channel.Route, part channel.Part) (outgoing, error) {
	chat, err := strconv.ParseInt(to.Conversation, 10, 64)
	if err != nil {
		return outgoing{}, fmt.Errorf("reading the chat's ID: %w", err)
	}
	m := outgoing{ChatID: chat, Text: part.Rich, ParseMode: "HTML", LinkPreview: linkPreview{Disabled: true}}
	if part.Rich == "" {
		m.Text, m.ParseMode = part.Plain, ""
	}
	if to.ReplyTo == "" {
		return m, nil
	}
	id, err := strconv.ParseInt(to.ReplyTo, 10, 64)
	if err != nil {
		return outgoing{}, fmt.Errorf("reading the ID of the message to reply to: %w", err)
	}
	m.Reply = &replyTarget{MessageID: id, Optional: true}
	return m, nil
}

// relax drops from a refused message what the refusal is about; false when nothing is left to drop. Each thing can be
// dropped once, so sending ends.
func relax(m *outgoing, part channel.Part, err error) bool {
	e, ok := errors.AsType[*APIError](err)
	if !ok || e.Code != http.StatusBadRequest {
		return false
	}
	switch {
	case e.says("can't parse entities") && m.ParseMode != "":
		m.Text, m.ParseMode = part.Plain, ""
		return true
	case (e.says("thread not found") || e.says("replied not found")) && m.Reply != nil:
		m.Reply = nil
		return true
	}
	return false
}
