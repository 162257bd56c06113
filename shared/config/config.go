// Package config reads the settings from the environment, the only place that does. A wrong one ends in an error of one
// line that names the variable and says what to put there.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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
}

// Rate is how many messages a second are sent to Telegram. In each field 0 is Telegram's own limit and a negative
// number is none.
type Rate struct{ InAll, PerChat float64 }

// Local is how the one process on one machine runs.
type Local struct {
	Shared
	Data    string // BOBBIN_DATA: the folder of everything that is kept
	Address string // BOBBIN_ADDR: host:port of the page, on a loopback address
	Workers int    // BOBBIN_WORKERS: how many wake-ups are handled at once
	// Poll says whether updates are fetched from Telegram; if not, they come to the webhook, whose secret is set.
	Poll bool
	// HasToken says whether there is a bot.
	HasToken bool
	// Verbose is BOBBIN_VERBOSE: log every step of every turn.
	Verbose bool
}

// Defaults of Local.
const (
	defaultData    = "data"
	defaultAddress = "127.0.0.1:8080"
	defaultWorkers = 64
)

// Local reads the settings of the one process.
func (l Lookup) Local() (Local, error) {
	shared, err := l.shared()
	c := Local{
		Shared:  shared,
		Data:    l.text("BOBBIN_DATA", defaultData),
		Address: l.text("BOBBIN_ADDR", defaultAddress),
	}
	workers, workersErr := l.number("BOBBIN_WORKERS", defaultWorkers, 1, 1000)
	c.Workers = workers
	c.Verbose = l.text("BOBBIN_VERBOSE", "") != ""
	c.HasToken = l.text(Variables[TelegramToken], "") != ""
	c.Poll = c.HasToken && l.text(Variables[TelegramSecret], "") == ""
	data, dataErr := filepath.Abs(c.Data)
	c.Data = data
	return c, errors.Join(err, workersErr, loopback(c.Address), dataErr)
}

// loopback refuses to serve the page, which knows no password here, to other machines.
func loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("BOBBIN_ADDR is %q and must be host:port, such as %s", address, defaultAddress)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("BOBBIN_ADDR is %q and must be a loopback address, such as %s: "+
			"whoever reaches the page is taken for the owner", address, defaultAddress)
	}
	return nil
}

// Cloud is how the functions on AWS run.
type Cloud struct {
	Shared
	Table    string // BOBBIN_TABLE
	Bucket   string // BOBBIN_BUCKET
	QueueURL string // BOBBIN_QUEUE_URL
	Secrets  string // BOBBIN_SECRETS: what the names of the secrets' parameters begin with
	Bot      int64  // BOBBIN_TELEGRAM_BOT: the bot's numeric ID, the digits before its token's colon; 0 when there is none
	AWS      AWS
}

// AWS is what Lambda itself puts into a function's environment: where it runs, and the credentials of its role, which
// are good as long as the process can live.
type AWS struct {
	Region       string // AWS_REGION
	AccessKey    string // AWS_ACCESS_KEY_ID
	SecretKey    string // AWS_SECRET_ACCESS_KEY
	SessionToken string // AWS_SESSION_TOKEN
	Endpoint     string // AWS_ENDPOINT_URL: everything goes to this server instead, an emulator; "" is AWS
}

// Table is BOBBIN_TABLE: the deployment's table, for commands that work on it from outside; "" when there is none.
func (l Lookup) Table() string { return l.text("BOBBIN_TABLE", "") }

// Cloud reads the settings of a function, which the stack sets.
func (l Lookup) Cloud() (Cloud, error) {
	shared, err := l.shared()
	c := Cloud{
		Shared:   shared,
		Table:    l.text("BOBBIN_TABLE", ""),
		Bucket:   l.text("BOBBIN_BUCKET", ""),
		QueueURL: l.text("BOBBIN_QUEUE_URL", ""),
		Secrets:  l.text("BOBBIN_SECRETS", ""),
		AWS: AWS{
			Region:       l.text("AWS_REGION", ""),
			AccessKey:    l.text("AWS_ACCESS_KEY_ID", ""),
			SecretKey:    l.text("AWS_SECRET_ACCESS_KEY", ""),
			SessionToken: l.text("AWS_SESSION_TOKEN", ""),
			Endpoint:     l.text("AWS_ENDPOINT_URL", ""),
		},
	}
	if c.AWS.Region == "" || c.AWS.AccessKey == "" || c.AWS.SecretKey == "" {
		err = errors.Join(err, errors.New("AWS_REGION, AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set, which Lambda sets"))
	}
	for name, value := range map[string]string{
		"BOBBIN_TABLE": c.Table, "BOBBIN_BUCKET": c.Bucket, "BOBBIN_QUEUE_URL": c.QueueURL, "BOBBIN_SECRETS": c.Secrets,
	} {
		if value == "" {
			err = errors.Join(err, fmt.Errorf("%s is not set: deploy the stack again", name))
		}
	}
	if bot := l.text("BOBBIN_TELEGRAM_BOT", ""); bot != "" {
		n, parseErr := strconv.ParseInt(bot, 10, 64)
		if parseErr != nil || n <= 0 {
			err = errors.Join(err, fmt.Errorf("BOBBIN_TELEGRAM_BOT is %q and must be the digits before the colon of the bot's token", bot))
		}
		c.Bot = n
	}
	return c, err
}

func (l Lookup) shared() (Shared, error) {
	rate, err := parseRate(l.text("BOBBIN_TELEGRAM_RATE", ""))
	s := Shared{
		Model:       l.text("BOBBIN_MODEL", ""),
		ModelURL:    l.text("BOBBIN_MODEL_URL", ""),
		TelegramAPI: l.text("BOBBIN_TELEGRAM_API", ""),
		Rate:        rate,
	}
	return s, errors.Join(err, address("BOBBIN_MODEL_URL", s.ModelURL), address("BOBBIN_TELEGRAM_API", s.TelegramAPI))
}

func address(name, value string) error {
	u, err := url.Parse(value)
	if value != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%s is %q and must be an address that begins with https:// or http://", name, value)
	}
	return nil
}

// parseRate reads "30/1", "30" or "off".
func parseRate(s string) (Rate, error) {
	if s == "" {
		return Rate{}, nil
	}
	inAll, perChat, both := strings.Cut(s, "/")
	a, errA := rate(inAll)
	r := Rate{InAll: a}
	var errB error
	switch {
	case both:
		r.PerChat, errB = rate(perChat)
	case a < 0:
		r.PerChat = a
	}
	if errA != nil || errB != nil {
		return Rate{}, fmt.Errorf("BOBBIN_TELEGRAM_RATE is %q and must be messages a second in all and to one chat, "+
			`such as 30/1, or "off" for a Bot API server of your own`, s)
	}
	return r, nil
}

func rate(s string) (float64, error) {
	if strings.EqualFold(strings.TrimSpace(s), "off") {
		return -1, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err == nil && !(v > 0 && v <= 1e6) {
		err = strconv.ErrRange
	}
	return v, err
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
