package telegram

import (
	"errors"
	"regexp"
	"strconv"
)

// ErrToken means that a text isn't a bot token. It doesn't repeat the text.
var ErrToken = errors.New("the Telegram bot token must look like 123456789:AA…, as @BotFather gives it")

var tokenShape = regexp.MustCompile(`^([1-9][0-9]*):[A-Za-z0-9_-]+$`)

// BotID is the bot's user ID: the digits before a token's colon. The error is ErrToken.
func BotID(token string) (int64, error) {
	m := tokenShape.FindStringSubmatch(token)
	if m == nil {
		return 0, ErrToken
	}
	id, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, ErrToken
	}
	return id, nil
}

// Connection is the name of a bot's connection, as in channel.Route.
func Connection(bot int64) string { return "telegram-" + strconv.FormatInt(bot, 10) }
