package telegram

import (
	"context"
	"encoding/json"
	"time"
)

// outgoing is sendMessage's parameters.
type outgoing struct {
	ChatID      int64        `json:"chat_id"`
	Text        string       `json:"text"`
	ParseMode   string       `json:"parse_mode,omitempty"`
	LinkPreview linkPreview  `json:"link_preview_options"`
	Reply       *replyTarget `json:"reply_parameters,omitempty"`
}

// linkPreview is off: fetching a link of the model's for its preview would tell its server that it was written.
type linkPreview struct {
	Disabled bool `json:"is_disabled"`
}

type replyTarget struct {
	MessageID int64 `json:"message_id"`
	Optional  bool  `json:"allow_sending_without_reply"`
}

// sendMessage sends one text and returns the message's ID.
func (c *Client) sendMessage(ctx context.Context, m outgoing) (int64, error) {
	var sent struct {
		ID int64 `json:"message_id"`
	}
	err := c.call(ctx, callTimeout, "sendMessage", m, &sent)
	return sent.ID, err
}

// pollMargin is how much longer than its own timeout a getUpdates call may take.
const pollMargin = 15 * time.Second

// GetUpdates waits up to timeout, in whole seconds, for updates from offset on, at most 100, and confirms all before it.
// Each is one raw update for Decode.
func (c *Client) GetUpdates(ctx context.Context, offset int64, timeout time.Duration) ([]json.RawMessage, error) {
	params := struct {
		Offset  int64    `json:"offset"`
		Limit   int      `json:"limit"`
		Timeout int      `json:"timeout"`
		Allowed []string `json:"allowed_updates"`
	}{offset, 100, int(timeout / time.Second), allowedUpdates}
	var updates []json.RawMessage
	err := c.call(ctx, timeout+pollMargin, "getUpdates", params, &updates)
	return updates, err
}

// Me is the bot itself.
type Me struct {
	ID       int64  `json:"id"`
	Name     string `json:"first_name"`
	Username string `json:"username"` // without @
}

// GetMe asks who the bot is: the way to try a token.
func (c *Client) GetMe(ctx context.Context) (Me, error) {
	var me Me
	err := c.call(ctx, callTimeout, "getMe", struct{}{}, &me)
	return me, err
}

// SetWebhook has updates sent to an address from now on; secret is what SecretHeader will carry, 1 to 256 of letters,
// digits, _ and -.
func (c *Client) SetWebhook(ctx context.Context, address, secret string) error {
	params := struct {
		URL     string   `json:"url"`
		Secret  string   `json:"secret_token"`
		Allowed []string `json:"allowed_updates"`
	}{address, secret, allowedUpdates}
	return c.call(ctx, callTimeout, "setWebhook", params, nil)
}

// DeleteWebhook ends the webhook, which GetUpdates needs. What waits for delivery is kept.
func (c *Client) DeleteWebhook(ctx context.Context) error {
	return c.call(ctx, callTimeout, "deleteWebhook", struct{}{}, nil)
}

// SendTyping shows in a chat for 5 s, or until a message comes, that the bot is at work.
func (c *Client) SendTyping(ctx context.Context, chat int64) error {
	params := struct {
		ChatID int64  `json:"chat_id"`
		Action string `json:"action"`
	}{chat, "typing"}
	return c.call(ctx, callTimeout, "sendChatAction", params, nil)
}
