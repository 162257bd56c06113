package stack

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

// Settings is what may differ between deployments. Each is a context value of the CDK: -c name=value on the command
// line, or "context" in cdk.json. The zero Settings is not usable; see Parse.
type Settings struct {
	Stage       string        // "stage": keeps deployments in one account apart; in names of the stack and the secrets
	Arch        string        // "arch": arm64 or amd64, what the functions are built for
	Build       string        // "build": the folder with one folder per function, each holding its bootstrap
	Retain      bool          // "retain": on keeps the table and the bucket when the stack goes; off is for emulators
	TLSOnly     bool          // "tls": on lets bucket and queues refuse plain HTTP; off is for emulators
	CLICreds    bool          // "synthesizer": cli deploys as whoever calls, without the bootstrap's roles
	Mapping     bool          // "mapping": off leaves the queue to a poller of one's own
	Concurrency float64       // "concurrency": how many wake-ups are handled at once, 2 to 1,000; the cost guard
	Grants      []grant.Grant // what the model needs, but for the one that "without" names

	Model        string // "model": provider:name
	ModelURL     string // "model-url": the provider's address
	TelegramAPI  string // "telegram-api": the Bot API server's address
	TelegramBot  string // "telegram-bot": the bot's numeric ID
	TelegramRate string // "telegram-rate": how many messages a second are sent at most
}

// names and defaults of all settings; an empty default leaves the choice to the functions.
var defaults = map[string]string{
	"stage":         "main",
	"arch":          "arm64",
	"build":         "",
	"retain":        "on",
	"tls":           "on",
	"synthesizer":   "roles",
	"mapping":       "on",
	"concurrency":   "20",
	"without":       "",
	"model":         "anthropic:claude-sonnet-5-5", // as the code has it where only a key of Anthropic is there
	"model-url":     "",
	"telegram-api":  "",
	"telegram-bot":  "",
	"telegram-rate": "",
}

// Names lists the settings' names in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(defaults)) }

var (
	// stageForm keeps the stage usable in every name that it becomes part of.
	stageForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)
	// botForm is a number, or nothing where there is no bot.
	botForm = regexp.MustCompile(`^([1-9][0-9]*)?$`)
)

// Parse reads the settings. lookup answers the value of a name, or "" where none was given. An error says which
// setting is wrong and what it takes.
func Parse(lookup func(name string) string) (Settings, error) {
	r := reader{lookup: lookup}
	s := Settings{
		Stage:        r.matching("stage", stageForm),
		Arch:         r.oneOf("arch", "arm64", "amd64"),
		Build:        r.text("build"),
		Retain:       r.oneOf("retain", "on", "off") == "on",
		TLSOnly:      r.oneOf("tls", "on", "off") == "on",
		CLICreds:     r.oneOf("synthesizer", "roles", "cli") == "cli",
		Mapping:      r.oneOf("mapping", "on", "off") == "on",
		Concurrency:  r.between("concurrency", 2, 1000),
		Grants:       r.grants(),
		Model:        r.text("model"),
		ModelURL:     r.address("model-url"),
		TelegramAPI:  r.address("telegram-api"),
		TelegramBot:  r.matching("telegram-bot", botForm),
		TelegramRate: r.text("telegram-rate"),
	}
	if s.Build == "" {
		s.Build = "../build/" + s.Arch
	}
	return s, r.err
}

// SecretPrefix is what the names of the stage's secrets begin with in the Parameter Store.
func (s Settings) SecretPrefix() string { return "/bobbin/" + s.Stage + "/" }

// reader reads settings until the first that is wrong.
type reader struct {
	lookup func(string) string
	err    error
}

func (r *reader) text(name string) string {
	if v := strings.TrimSpace(r.lookup(name)); v != "" {
		return v
	}
	return defaults[name]
}

func (r *reader) wrong(name, value, takes string) {
	if r.err == nil {
		r.err = fmt.Errorf("the setting %s is %q and takes %s", name, value, takes)
	}
}

func (r *reader) oneOf(name string, choices ...string) string {
	v := r.text(name)
	if !slices.Contains(choices, v) {
		r.wrong(name, v, strings.Join(choices, " or "))
	}
	return v
}

func (r *reader) matching(name string, form *regexp.Regexp) string {
	v := r.text(name)
	if !form.MatchString(v) {
		r.wrong(name, v, "what matches "+form.String())
	}
	return v
}

func (r *reader) between(name string, least, most int) float64 {
	v := r.text(name)
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		r.wrong(name, v, fmt.Sprintf("a whole number from %d to %d", least, most))
	}
	return float64(n)
}

func (r *reader) address(name string) string {
	v := r.text(name)
	if u, err := url.Parse(v); v != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		r.wrong(name, v, "an address that begins with https:// or http://")
	}
	return v
}

func (r *reader) grants() []grant.Grant {
	left, err := grant.Without(grant.ForModel(grant.All(), r.text("model")), r.text("without"))
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("the setting without: %w", err)
	}
	return left
}
