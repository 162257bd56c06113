package config_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/inbox"
)

// from looks variables up in a map, as Environment does in the process's own.
func from(variables map[string]string) config.Lookup {
	return func(name string) (string, bool) {
		v, ok := variables[name]
		return v, ok
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func TestLocalReadsEachVariable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		variables map[string]string
		change    func(*config.Local) // of the defaults
	}{
		"nothing":           {nil, func(*config.Local) {}},
		"empty is not set":  {map[string]string{"BOBBIN_DATA": "", "BOBBIN_ADDR": " ", "BOBBIN_WORKERS": ""}, func(*config.Local) {}},
		"model":             {map[string]string{"BOBBIN_MODEL": " openai:gpt-x\n"}, func(l *config.Local) { l.Model = "openai:gpt-x" }},
		"model's address":   {map[string]string{"BOBBIN_MODEL_URL": "http://h:1/v1"}, func(l *config.Local) { l.ModelURL = "http://h:1/v1" }},
		"Telegram's":        {map[string]string{"BOBBIN_TELEGRAM_API": "https://h"}, func(l *config.Local) { l.TelegramAPI = "https://h" }},
		"rate":              {map[string]string{"BOBBIN_TELEGRAM_RATE": "30/0.5"}, rate(30, 0.5)},
		"rate in all":       {map[string]string{"BOBBIN_TELEGRAM_RATE": "20"}, rate(20, 0)},
		"no rate":           {map[string]string{"BOBBIN_TELEGRAM_RATE": "Off"}, rate(-1, -1)},
		"no rate in all":    {map[string]string{"BOBBIN_TELEGRAM_RATE": "off / 1"}, rate(-1, 1)},
		"no rate per chat":  {map[string]string{"BOBBIN_TELEGRAM_RATE": "30/off"}, rate(30, -1)},
		"data":              {map[string]string{"BOBBIN_DATA": "there"}, func(l *config.Local) { l.Data = absolute(t, "there") }},
		"address":           {map[string]string{"BOBBIN_ADDR": "127.0.0.2:0"}, func(l *config.Local) { l.Address = "127.0.0.2:0" }},
		"address by name":   {map[string]string{"BOBBIN_ADDR": "localhost:65535"}, func(l *config.Local) { l.Address = "localhost:65535" }},
		"address of IPv6":   {map[string]string{"BOBBIN_ADDR": "[::1]:80"}, func(l *config.Local) { l.Address = "[::1]:80" }},
		"one worker":        {map[string]string{"BOBBIN_WORKERS": "1"}, func(l *config.Local) { l.Workers = 1 }},
		"a thousand":        {map[string]string{"BOBBIN_WORKERS": "1000"}, func(l *config.Local) { l.Workers = 1000 }},
		"verbose":           {map[string]string{"BOBBIN_VERBOSE": "1"}, func(l *config.Local) { l.Verbose = true }},
		"a bot is asked":    {map[string]string{"BOBBIN_TELEGRAM_TOKEN": "1:x"}, func(l *config.Local) { l.HasToken, l.Poll = true, true }},
		"a bot with a hook": {map[string]string{"BOBBIN_TELEGRAM_TOKEN": "1:x", "BOBBIN_TELEGRAM_WEBHOOK_SECRET": "s"}, func(l *config.Local) { l.HasToken = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := config.Local{Shared: common(3), Data: absolute(t, "data"), Address: "127.0.0.1:8080", Workers: 64}
			c.change(&want)
			got, err := from(c.variables).Local()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// common is what is shared when nothing is set.
func common(turns int) config.Shared {
	return config.Shared{
		Telegram: inbox.Rules{Busy: inbox.Steer, Scope: inbox.OwnerScope, Reset: "/reset"},
		Web:      inbox.Rules{Busy: inbox.Steer},
		Turns:    turns, Steps: 75, Repeats: 5,
	}
}

func rate(inAll, perChat float64) func(*config.Local) {
	return func(l *config.Local) { l.Rate = config.Rate{InAll: inAll, PerChat: perChat} }
}

// wrong lists values that a variable must not have.
var wrong = map[string][]string{
	"BOBBIN_MODEL_URL":     {"h:1", "/v1", "ftp://h", "http://", "http://owner:hush@", "http://owner:hush@h:port"},
	"BOBBIN_TELEGRAM_API":  {"api.telegram.org", "://hush"},
	"BOBBIN_TELEGRAM_RATE": {"fast", "0", "-1", "30/", "/", "30/1/1", "30/0", "NaN", "Inf", "1e7"},

	"BOBBIN_TELEGRAM_BUSY":     {"drop", "Steer", "refuse!"},
	"BOBBIN_TELEGRAM_DEBOUNCE": {"1", "-1s", "31s", "soon", "1h", "9999999999h"},
	"BOBBIN_TELEGRAM_SCOPE":    {"chat", "owner,conversation"},
	"BOBBIN_TELEGRAM_RESET":    {"/stop", "/re\nset", strings.Repeat("x", 65)},
	"BOBBIN_WEB_BUSY":          {"wait"},
	"BOBBIN_WEB_DEBOUNCE":      {"30001ms"},
	"BOBBIN_TURNS":             {"0", "-1", "1001", "few"},
	"BOBBIN_STEPS":             {"0", "10001", "1e3"},
	"BOBBIN_REPEATS":           {"1", "1001"},
}

func TestAWrongVariableIsNamedWithWhatToPutThere(t *testing.T) {
	t.Parallel()
	local := map[string][]string{
		"BOBBIN_ADDR":    {"8080", ":8080", "0.0.0.0:8080", "192.0.2.1:80", "example.com:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", "::1:80"},
		"BOBBIN_WORKERS": {"0", "-3", "1001", "many", "1.5", "99999999999999999999"},
	}
	maps.Copy(local, wrong)
	for name, values := range local {
		for _, value := range values {
			_, err := from(map[string]string{name: value}).Local()
			refused(t, name, value, err)
		}
	}
	_, err := from(map[string]string{"BOBBIN_TELEGRAM_WEBHOOK_SECRET": "hush"}).Local()
	refused(t, "BOBBIN_TELEGRAM_TOKEN", "", err)
	_, err = from(map[string]string{"BOBBIN_TELEGRAM_TOKEN": "1:x", "BOBBIN_TELEGRAM_WEBHOOK_SECRET": "hush hush"}).Local()
	refused(t, "BOBBIN_TELEGRAM_WEBHOOK_SECRET", "", err)
}

func refused(t *testing.T, name, value string, err error) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s=%s is taken", name, value)
	case !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hush"):
		t.Errorf("%s=%s ends in %q, want one line with the variable's name and no secret", name, value, err)
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	_, err := from(map[string]string{"BOBBIN_WORKERS": "0", "BOBBIN_ADDR": "0", "BOBBIN_TELEGRAM_RATE": "0"}).Local()
	for _, name := range []string{"BOBBIN_WORKERS", "BOBBIN_ADDR", "BOBBIN_TELEGRAM_RATE"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

// deployed is the least that a function needs.
func deployed() map[string]string {
	return map[string]string{
		"BOBBIN_TABLE": "table", "BOBBIN_BUCKET": "bucket", "BOBBIN_QUEUE_URL": "https://queue", "BOBBIN_SECRETS": "/p/",
		"AWS_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
	}
}

func TestCloudReadsEachVariable(t *testing.T) {
	t.Parallel()
	least := config.Cloud{
		Shared: common(10),
		Table:  "table", Bucket: "bucket", QueueURL: "https://queue", Secrets: "/p/",
		AWS: config.AWS{Region: "eu-north-1", AccessKey: "id", SecretKey: "key"},
	}
	for variable, c := range map[string]struct {
		value  string
		change func(*config.Cloud)
	}{
		"BOBBIN_OTHER":         {"whatever", func(*config.Cloud) {}},
		"BOBBIN_MODEL":         {"openai:gpt-x", func(c *config.Cloud) { c.Model = "openai:gpt-x" }},
		"BOBBIN_MODEL_URL":     {"https://h/v1", func(c *config.Cloud) { c.ModelURL = "https://h/v1" }},
		"BOBBIN_TELEGRAM_API":  {"https://h", func(c *config.Cloud) { c.TelegramAPI = "https://h" }},
		"BOBBIN_TELEGRAM_RATE": {"off", func(c *config.Cloud) { c.Rate = config.Rate{InAll: -1, PerChat: -1} }},
		"BOBBIN_TURNS":         {"1000", func(c *config.Cloud) { c.Turns = 1000 }},
		"BOBBIN_TELEGRAM_BUSY": {"queue", func(c *config.Cloud) { c.Telegram.Busy = inbox.QueueUp }},
		"BOBBIN_TELEGRAM_BOT":  {"7123456789", func(c *config.Cloud) { c.Bot = 7123456789 }},
		"BOBBIN_TABLE":         {" other ", func(c *config.Cloud) { c.Table = "other" }},
		"BOBBIN_WEB_CLEARING":  {"on", func(c *config.Cloud) { c.Clearing = true }},
		"AWS_SESSION_TOKEN":    {"session", func(c *config.Cloud) { c.AWS.SessionToken = "session" }},
		"AWS_ENDPOINT_URL":     {"http://h:1", func(c *config.Cloud) { c.AWS.Endpoint = "http://h:1" }},
	} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			variables, want := deployed(), least
			variables[variable] = c.value
			c.change(&want)
			got, err := from(variables).Cloud()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestAFunctionSaysWhatItsEnvironmentLacksOrHasWrong(t *testing.T) {
	t.Parallel()
	for name := range deployed() {
		variables := deployed()
		delete(variables, name)
		_, err := from(variables).Cloud()
		refused(t, name, "", err)
	}
	bad := map[string][]string{
		"BOBBIN_TELEGRAM_BOT": {"0", "-1", "bot", "1:hush", "99999999999999999999"},
		"BOBBIN_WEB_CLEARING": {"true", "1", "yes"},
	}
	maps.Copy(bad, wrong)
	for name, values := range bad {
		for _, value := range values {
			variables := deployed()
			variables[name] = value
			_, err := from(variables).Cloud()
			refused(t, name, value, err)
		}
	}
}

func TestASecretIsReadFromItsVariable(t *testing.T) {
	t.Parallel()
	for secret, variable := range config.Variables {
		got, err := from(map[string]string{variable: " hush\n"}).Secrets().Get(t.Context(), secret)
		if err != nil || got != "hush" {
			t.Errorf("%s from %s is %q, %v", secret, variable, got, err)
		}
		_, err = from(nil).Secrets().Get(t.Context(), secret)
		refused(t, variable, "", err)
	}
}

func TestTableIsThatOfADeployment(t *testing.T) {
	t.Parallel()
	if got := from(deployed()).Table(); got != "table" {
		t.Errorf("the table is %q", got)
	}
	if got := from(nil).Table(); got != "" {
		t.Errorf("without a variable the table is %q", got)
	}
}
