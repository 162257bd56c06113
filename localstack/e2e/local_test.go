package e2e

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/localstack/pairing"
	"github.com/bobbin-agent/bobbin/localstack/server"
	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/local/bolt"
	"github.com/bobbin-agent/bobbin/shared/model/provider"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// localPatience is far more than any scenario takes, but for a machine with much else to do.
const localPatience = 30 * time.Second

// inProcess is the one process of localstack/server, run inside the test.
type inProcess struct {
	*surroundings
	choice   provider.Settings
	data     string
	settings map[string]string
	tools    *tools

	server *server.Server
	stop   func()
}

// Each vendor's protocol is spoken to in a world of its own. The settings are named as the stack's.
func startInProcess(t testing.TB, choice string, settings map[string]string) *inProcess {
	t.Helper()
	w := &inProcess{surroundings: surround(t, localPatience), data: t.TempDir(), settings: settings}
	w.tools = newTools(t)
	w.choice = provider.Settings{Choice: choice, AnthropicKey: modelKey, OpenAIKey: modelKey, URL: w.vendor.OpenAIURL()}
	if w.choice.Provider() == "anthropic" {
		w.choice.URL = w.vendor.AnthropicURL()
	}
	w.start(t)
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *inProcess) start(t testing.TB) {
	t.Helper()
	model, err := provider.Open(w.choice)
	if err != nil {
		t.Fatal(err)
	}
	settings := w.local(t)
	bot, err := server.NewTelegram(settings.Shared, telegramtest.Token, webhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // it ends with stop
	w.server, err = server.Open(ctx, server.Settings{
		Local: settings, Model: model, Telegram: bot, Tools: w.tools.all(),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.server.Run(ctx) }()
	w.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with: %v", err)
		}
		w.stop = func() {}
	}
	w.bot.SetWebhook(w.url()+"/telegram", webhookSecret)
}

// local reads the settings as the command does.
func (w *inProcess) local(t testing.TB) config.Local {
	t.Helper()
	env := map[string]string{
		"BOBBIN_DATA": w.data, "BOBBIN_ADDR": "127.0.0.1:0", "BOBBIN_WORKERS": "8",
		"BOBBIN_TELEGRAM_TOKEN": telegramtest.Token, "BOBBIN_TELEGRAM_WEBHOOK_SECRET": webhookSecret,
		"BOBBIN_TELEGRAM_API": w.bot.URL(), "BOBBIN_TELEGRAM_RATE": "off",
	}
	for name, value := range w.settings {
		env[variable(name)] = value
	}
	local, err := config.Lookup(func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}).Local()
	if err != nil {
		t.Fatal(err)
	}
	return local
}

// variable is where the program reads a setting of the stack.
func variable(setting string) string {
	return "BOBBIN_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

func (w *inProcess) url() string { return "http://" + w.server.Address() }

// code is the first owner's if the name is empty.
func (w *inProcess) code(t testing.TB, name string) string {
	t.Helper()
	codes, err := w.server.Pair(t.Context(), pairing.Order{Owner: name, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	return codes[0]
}

// home needs no pairing for the page: whoever reaches it is its owner.
func (w *inProcess) home(t testing.TB) (page *browser, code string) {
	t.Helper()
	return &browser{url: w.url(), ctx: w.within(t)}, w.code(t, "")
}

func (w *inProcess) anew(t testing.TB) {
	t.Helper()
	w.stop()
	w.start(t)
}

// behind opens the store while nobody else has it.
func (w *inProcess) behind(t testing.TB, do func(table.Table, blob.Blob)) {
	t.Helper()
	w.stop()
	store, err := bolt.Open(w.data)
	if err != nil {
		t.Fatal(err)
	}
	do(store.Table(), store.Blob())
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	w.start(t)
}
