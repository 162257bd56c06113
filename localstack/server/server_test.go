package server

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/localstack/pairing"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/model"
)

type counter struct{}

func (counter) Info() model.Info { return model.Info{Provider: "test", Name: "counter"} }

func (counter) Stream(_ context.Context, r model.Request, _ func(model.Delta)) (model.Response, error) {
	return model.Response{Blocks: []model.Block{{Text: strconv.Itoa(len(r.Messages)) + " messages"}}, Stop: model.StopEnd}, nil
}

func TestATelegramMessageIsAnsweredAndRememberedAcrossARestart(t *testing.T) {
	t.Parallel()
	bot, err := telegramtest.Start(telegramtest.Options{Second: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bot.Close)
	data := t.TempDir()
	const person = 42
	answers := 0
	for round := range 2 {
		func() {
			tg, err := NewTelegram(config.Shared{TelegramAPI: bot.URL(), Rate: config.Rate{InAll: -1, PerChat: -1}}, telegramtest.Token, "")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			s, err := Open(ctx, Settings{
				Local: config.Local{Data: data, Address: "127.0.0.1:0", Workers: 8, Poll: true},
				Model: counter{}, Telegram: tg, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()
			if round == 0 {
				codes, err := Pair(ctx, data, pairing.Order{Count: 1})
				if err != nil {
					t.Fatal(err)
				}
				bot.Say(person, "/start "+codes[0])
				answers++
			}
			bot.Say(person, "hello")
			answers++
			sent, err := bot.WaitSent(ctx, person, answers)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(sent[len(sent)-1].Text)
			if want := strconv.Itoa(2*round+1) + " messages"; sent[answers-1].Text != want {
				t.Errorf("answer %q, want %q", sent[answers-1].Text, want)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
	}
}
