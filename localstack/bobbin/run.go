package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/localstack/pairing"
	"github.com/bobbin-agent/bobbin/localstack/server"
	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/provider"
	"github.com/bobbin-agent/bobbin/shared/model/scripted"
	"github.com/bobbin-agent/bobbin/shared/secret"
)

// version is what the page shows; releases set it at build time.
var version = "dev"

// noModel is what the owner is told while the scripted model answers because there is no other.
const noModel = "No model is set up, so a scripted one answers, which only follows instructions (try “help”). For a real one set " +
	"ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama, and start Bobbin again."

// nameTimeout bounds how long the terminal waits for the bot's name; nothing else does.
const nameTimeout = 5 * time.Second

// greetPatience is how long the terminal waits for the provider's word on the settings.
const greetPatience = time.Second

// checkTimeout bounds how long the provider is given to say whether key and model can be right.
const checkTimeout = 15 * time.Second

func run(ctx context.Context, env config.Lookup) error {
	settings, err := env.Local()
	if err != nil {
		return err
	}
	secrets := env.Secrets()
	chosen, note, err := chooseModel(ctx, settings.Shared, secrets, provider.Detect)
	if err != nil {
		return err
	}
	answering, err := provider.Open(chosen)
	if err != nil {
		return err
	}
	about := describe(answering.Info(), note)
	bot, err := openTelegram(ctx, settings, secrets)
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if settings.Verbose {
		level = slog.LevelDebug
	}
	checked := make(chan struct{})
	s, err := server.Open(ctx, server.Settings{
		Local: settings, Model: answering, About: about, Telegram: bot,
		Check: func(ctx context.Context) error {
			defer close(checked)
			return checkModel(ctx, os.Stderr, chosen)
		},
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
	})
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-checked: // what the provider refuses ends the program before it says that it runs
		case <-time.After(greetPatience):
		}
		greet(ctx, os.Stdout, s, settings, about, bot)
	}()
	return s.Run(ctx)
}

// checkModel returns an error when key or model can't be right. A provider that does not answer at the moment is no
// reason to end: a line to w says so.
func checkModel(ctx context.Context, w io.Writer, chosen provider.Settings) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := provider.Check(ctx, chosen)
	if errors.Is(err, provider.ErrUnreachable) {
		_, err = fmt.Fprintln(w, "bobbin: "+oneLine(err))
	}
	return err
}

// detector looks for a model on this machine, as provider.Detect does.
type detector func(context.Context, provider.Settings) (choice string)

// chooseModel settles on the model that was chosen, or that the keys choose, or a local Ollama's, or the scripted one,
// with a note for the owner if it is that for want of a better.
func chooseModel(ctx context.Context, s config.Shared, secrets secret.Store, detect detector) (provider.Settings, string, error) {
	p := provider.Settings{Choice: s.Model, URL: s.ModelURL}
	var err, otherErr error
	p.AnthropicKey, err = secret.Optional(ctx, secrets, config.AnthropicKey)
	p.OpenAIKey, otherErr = secret.Optional(ctx, secrets, config.OpenAIKey)
	if err := errors.Join(err, otherErr); err != nil {
		return p, "", err
	}
	switch {
	case p.Choice != "":
		return p, "", nil
	case p.URL != "":
		return p, "", errors.New("BOBBIN_MODEL_URL is set without BOBBIN_MODEL: " +
			"say which model to ask there, for example BOBBIN_MODEL=openai:NAME")
	}
	if p.Choice = p.Default(); p.Choice == "" {
		p.Choice = detect(ctx, p)
	}
	if p.Choice == "" {
		p.Choice = provider.Scripted
		return p, noModel, nil
	}
	return p, "", nil
}

func describe(m model.Info, note string) web.About {
	name := m.Provider + ":" + m.Name
	if m.Name == m.Provider {
		name = m.Name
	}
	return web.About{Version: version, Model: name, Scripted: m.Provider == scripted.Provider, Note: note}
}

func openTelegram(ctx context.Context, s config.Local, secrets secret.Store) (*server.Telegram, error) {
	if !s.HasToken {
		return nil, nil
	}
	token, err := secrets.Get(ctx, config.TelegramToken)
	if err != nil {
		return nil, err
	}
	hook, err := secret.Optional(ctx, secrets, config.TelegramSecret)
	if err != nil {
		return nil, err
	}
	return server.NewTelegram(s.Shared, token, hook)
}

// greet says in the terminal what runs where, and how to get at it.
func greet(ctx context.Context, w io.Writer, s *server.Server, settings config.Local, about web.About, bot *server.Telegram) {
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "  %-10s"+format+"\n", append([]any{name}, args...)...)
	}
	_, _ = fmt.Fprintln(w, "Bobbin is running. Ctrl-C ends it: nothing is lost, and a turn in its middle says that it was interrupted.")
	line("Page", "http://%s", s.Address())
	line("Model", "%s", about.Model)
	if about.Note != "" {
		for sentence := range strings.SplitAfterSeq(about.Note, ". ") {
			line("", "%s", sentence)
		}
	}
	line("Data", "%s", settings.Data)
	if bot == nil {
		line("Telegram", "not set up: set BOBBIN_TELEGRAM_TOKEN to a token from @BotFather")
		return
	}
	telegram(ctx, line, s, settings, bot)
}

func telegram(ctx context.Context, line func(string, string, ...any), s *server.Server, settings config.Local, bot *server.Telegram) {
	how := "fetching updates"
	if !settings.Poll {
		how = "taking updates at /telegram"
	}
	name := "your bot"
	asking, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	if username, err := bot.Name(asking); err == nil && username != "" {
		name = "@" + username
	}
	line("Telegram", "%s, %s", name, how)
	codes, err := s.Pair(ctx, pairing.Order{Count: 1})
	if err != nil {
		line("", "no pairing code could be made: %v", err)
		return
	}
	line("", "to pair a chat, send it within an hour: /start %s", codes[0])
}
