// Package config reads the settings from the environment, the only place that does. A wrong one ends in an error of one
// line that names the variable and says what to put there.
package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/secret"
)

// The names of secrets. On AWS each is a parameter under the deployment's prefix, elsewhere a variable.
const (
	TelegramToken  = "telegram-token"
	TelegramSecret = "telegram-webhook-secret"
	AnthropicKey   = "anthropic-api-key"
	OpenAIKey      = "openai-api-key"
)

// Variables says which variable holds which secret where secrets come from the environment.
var Variables = map[string]string{
	TelegramToken:  "BOBBIN_TELEGRAM_TOKEN",
	TelegramSecret: "BOBBIN_TELEGRAM_WEBHOOK_SECRET",
	AnthropicKey:   "ANTHROPIC_API_KEY",
	OpenAIKey:      "OPENAI_API_KEY",
}

// Lookup finds a variable; os.LookupEnv is one.
type Lookup func(name string) (string, bool)

// Environment is the process's own.
func Environment() Lookup { return os.LookupEnv }

// Secrets reads secrets from the variables that Variables names.
func (l Lookup) Secrets() secret.Store { return secret.Env{Variables: Variables, Lookup: l} }

// Shared is what all ways of running have in common.
type Shared struct {
	Model       string // BOBBIN_MODEL: provider:name; "" leaves the choice to the keys that are there
	ModelURL    string // BOBBIN_MODEL_URL: another address of the provider's protocol
	TelegramAPI string // BOBBIN_TELEGRAM_API: another Bot API server; "" is Telegram's own
	Rate        Rate   // BOBBIN_TELEGRAM_RATE

	Telegram inbox.Rules // BOBBIN_TELEGRAM_BUSY, _DEBOUNCE, _SCOPE, _RESET
	Web      inbox.Rules // BOBBIN_WEB_BUSY, _DEBOUNCE; the page has no reset text, and one session with its owner

	Turns   int // BOBBIN_TURNS: how many turns run at once, over all sessions
	Steps   int // BOBBIN_STEPS: how many steps a turn may take
	Repeats int // BOBBIN_REPEATS: how many identical calls in a row end a turn
}

// Defaults and bounds of Shared; fewer turns run at once on a machine that is somebody's desk.
const (
	localTurns, cloudTurns, mostTurns         = 3, 10, 1000
	defaultSteps, mostSteps                   = 75, 10_000
	defaultRepeats, leastRepeats, mostRepeats = 5, 2, 1000
)

// shared reads Shared; turns is the default of Turns, which depends on where it runs.
func (l Lookup) shared(turns int) (Shared, error) {
	rate, rateErr := parseRate(l.text("BOBBIN_TELEGRAM_RATE", ""))
	telegram, telegramErr := l.telegram()
	web, webErr := l.taking("BOBBIN_WEB")
	turns, turnsErr := l.number("BOBBIN_TURNS", turns, 1, mostTurns)
	steps, stepsErr := l.number("BOBBIN_STEPS", defaultSteps, 1, mostSteps)
	repeats, repeatsErr := l.number("BOBBIN_REPEATS", defaultRepeats, leastRepeats, mostRepeats)
	s := Shared{
		Model:       l.text("BOBBIN_MODEL", ""),
		ModelURL:    l.text("BOBBIN_MODEL_URL", ""),
		TelegramAPI: l.text("BOBBIN_TELEGRAM_API", ""),
		Rate:        rate,
		Telegram:    telegram, Web: web,
		Turns: turns, Steps: steps, Repeats: repeats,
	}
	return s, errors.Join(rateErr, address("BOBBIN_MODEL_URL", s.ModelURL), address("BOBBIN_TELEGRAM_API", s.TelegramAPI),
		telegramErr, webErr, turnsErr, stepsErr, repeatsErr)
}

// address doesn't repeat the value, which may hold a password.
func address(name, value string) error {
	u, err := url.Parse(value)
	if value != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%s must be an address that begins with https:// or http://", name)
	}
	return nil
}

func (l Lookup) text(name, otherwise string) string {
	if v, ok := l(name); ok && strings.TrimSpace(v) != "" {
		return strings.TrimSpace(v)
	}
	return otherwise
}

func (l Lookup) number(name string, otherwise, least, most int) (int, error) {
	text := l.text(name, "")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return otherwise, fmt.Errorf("%s is %q and must be a whole number from %d to %d", name, text, least, most)
	}
	return n, nil
}
