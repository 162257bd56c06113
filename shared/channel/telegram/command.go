package telegram

import "regexp"

// In a private chat the name behind the @ can only be the bot's own.
var (
	// pairing is "/start CODE" as a person types it or as Telegram sends it for a t.me link.
	pairing = regexp.MustCompile(`^/start(?:@[A-Za-z0-9_]+)?[ \n]+([A-Za-z0-9_-]+)\s*$`)
	// lone is a command that is the whole text.
	lone = regexp.MustCompile(`^(/[A-Za-z0-9_]+)(?:@[A-Za-z0-9_]+)?\s*$`)
)

const (
	maxCode     = 64 // letters of the code in a t.me link
	stopCommand = "/stop"
)

// command reads the sender's own text for what the channel itself obeys. Any other lone command is a message like all
// others, but for the bot's name, which Telegram's clients add and nobody means: the inbox compares such a text with
// the one that the connection declares for a reset.
func (in *reading) command(text string) {
	if code := pairing.FindStringSubmatch(text); code != nil && len(code[1]) <= maxCode {
		in.code = code[1]
	}
	if name := lone.FindStringSubmatch(text); name != nil {
		in.message.Text, in.stop = name[1], name[1] == stopCommand
	}
}
