package config

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/inbox"
)

const (
	defaultReset = "/reset"
	noReset      = "-"
	stopCommand  = "/stop" // which the Telegram channel obeys before the inbox sees it
	mostReset    = 64      // characters: it is typed by hand

	// mostDebounce bounds what the sender of a single message waits for nothing.
	mostDebounce = 30 * time.Second
)

// Rules is how the messages of a connection (channel.Route.Connection) are taken. One that the settings don't know has
// the zero Rules.
func (s Shared) Rules(connection string) inbox.Rules {
	switch {
	case connection == channel.Web:
		return s.Web
	case strings.HasPrefix(connection, "telegram-"):
		return s.Telegram
	}
	return inbox.Rules{}
}

func (l Lookup) telegram() (inbox.Rules, error) {
	r, err := l.taking("BOBBIN_TELEGRAM")
	scope, scopeErr := choice(l, "BOBBIN_TELEGRAM_SCOPE", inbox.OwnerScope, inbox.ConversationScope)
	reset, resetErr := l.reset("BOBBIN_TELEGRAM_RESET")
	r.Scope, r.Reset = scope, reset
	return r, errors.Join(err, scopeErr, resetErr)
}

// taking reads what all channels have, whose variables begin with the prefix.
func (l Lookup) taking(prefix string) (inbox.Rules, error) {
	busy, err := choice(l, prefix+"_BUSY", inbox.Steer, inbox.QueueUp, inbox.Refuse)
	debounce, debounceErr := l.debounce(prefix + "_DEBOUNCE")
	return inbox.Rules{Busy: busy, Debounce: debounce}, errors.Join(err, debounceErr)
}

// choice reads one of a few words; without one it is the first.
func choice[T ~string](l Lookup, name string, first T, others ...T) (T, error) {
	text, words := l.text(name, string(first)), string(first)
	if text == string(first) {
		return first, nil
	}
	for _, other := range others {
		if text == string(other) {
			return other, nil
		}
		words += " or " + string(other)
	}
	return first, fmt.Errorf("%s is %q and must be %s", name, text, words)
}

func (l Lookup) debounce(name string) (time.Duration, error) {
	text := l.text(name, "0s")
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > mostDebounce {
		return 0, fmt.Errorf("%s is %q and must be a time from 0s to %v, such as 1.5s", name, text, mostDebounce)
	}
	return d, nil
}

func (l Lookup) reset(name string) (string, error) {
	switch text := l.text(name, defaultReset); {
	case text == noReset:
		return "", nil
	case text == stopCommand || utf8.RuneCountInString(text) > mostReset || strings.ContainsFunc(text, unicode.IsControl):
		return "", fmt.Errorf("%s is %q and must be one line of at most %d characters, such as %s, and not %s; %q is for none",
			name, text, mostReset, defaultReset, stopCommand, noReset)
	default:
		return text, nil
	}
}
