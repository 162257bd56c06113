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

	RunnerTimeout float64 // "runner-timeout": seconds that one invocation of the runner may take, 60 to 900
	Turns         int     // "turns": how many turns run at once, 1 to 1,000; with the mapping, below its concurrency
	Steps         string  // "steps": how many steps a turn may take, 1 to 10,000
	Repeats       string  // "repeats": how many identical calls in a row end a turn, 2 to 1,000

	Model        string // "model": provider:name
	ModelURL     string // "model-url": the provider's address
	TelegramAPI  string // "telegram-api": the Bot API server's address
	TelegramBot  string // "telegram-bot": the bot's numeric ID
	TelegramRate string // "telegram-rate": how many messages a second are sent at most

	TelegramBusy     string // "telegram-busy": what becomes of a message while its session works
	TelegramDebounce string // "telegram-debounce": within what time messages become one turn, "1.5s"
	TelegramScope    string // "telegram-scope": owner or conversation, what shares a session
	TelegramReset    string // "telegram-reset": the text that starts a conversation afresh; "-" for none
	WebBusy          string // "web-busy": as "telegram-busy", for the page
	WebDebounce      string // "web-debounce": as "telegram-debounce", for the page
	WebClearing      string // "web-clearing": on lets the page clear the conversation
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

	"runner-timeout":    "900", // Lambda's longest
	"turns":             "10",  // as the code has it
	"steps":             "",
	"repeats":           "",
	"telegram-busy":     "",
	"telegram-debounce": "",
	"telegram-scope":    "",
	"telegram-reset":    "",
	"web-busy":          "",
	"web-debounce":      "",
	"web-clearing":      "",
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
		Concurrency:  float64(r.between("concurrency", 2, 1000)),
		Grants:       r.grants(),
		Model:        r.text("model"),
		ModelURL:     r.address("model-url"),
		TelegramAPI:  r.address("telegram-api"),
		TelegramBot:  r.matching("telegram-bot", botForm),
		TelegramRate: r.text("telegram-rate"),

		RunnerTimeout:    float64(r.between("runner-timeout", 60, 900)),
		Turns:            r.between("turns", 1, 1000),
		Steps:            r.number("steps", 1, 10_000),
		Repeats:          r.number("repeats", 2, 1000),
		TelegramBusy:     r.busy("telegram-busy"),
		TelegramDebounce: r.debounce("telegram-debounce"),
		TelegramScope:    r.oneOf("telegram-scope", "", "owner", "conversation"),
		TelegramReset:    r.reset("telegram-reset"),
		WebBusy:          r.busy("web-busy"),
		WebDebounce:      r.debounce("web-debounce"),
		WebClearing:      r.oneOf("web-clearing", "", "on", "off"),
	}
	r.room(s)
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
		r.wrong(name, v, strings.TrimPrefix(strings.Join(choices, " or "), " or ")) // "" is what is not given
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

func (r *reader) between(name string, least, most int) int {
	v := r.text(name)
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		r.wrong(name, v, fmt.Sprintf("a whole number from %d to %d", least, most))
	}
	return n
}

// number is between for what may be left to the functions.
func (r *reader) number(name string, least, most int) string {
	v := r.text(name)
	if v != "" {
		r.between(name, least, most)
	}
	return v
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
