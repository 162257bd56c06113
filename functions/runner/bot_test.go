package main

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/secret/secrettest"
)

const person = 42

func newTestBot(t *testing.T, token string) (*bot, *secrettest.Fake, *telegramtest.Server) {
	t.Helper()
	server, err := telegramtest.Start(telegramtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Know(person)
	secrets := secrettest.NewFake(map[string]string{config.TelegramToken: token})
	settings := config.Cloud{Bot: 123456789, Shared: config.Shared{
		TelegramAPI: server.URL(), Rate: config.Rate{InAll: -1, PerChat: -1},
	}}
	return newBot(settings, secrets), secrets, server
}

func send(t *testing.T, b *bot) error {
	t.Helper()
	_, err := b.Send(t.Context(), channel.Route{Connection: "telegram-123456789", Conversation: "42"}, b.Render("hi")[0])
	return err
}

func TestNothingIsGivenUpForWantOfAToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token string
		after time.Duration
	}{
		"missing":       {"", tokenWait},
		"no token":      {"none", tokenWait},
		"another bot's": {"987654321:AAinvented", tokenWait},
		"refused":       {"123456789:AAinvented", 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, secrets, server := newTestBot(t, c.token)
			err := send(t, b)
			if diff := cmp.Diff(fault.Verdict{Action: fault.Retry, After: c.after}, fault.Of(err)); diff != "" {
				t.Errorf("%v: want (-), got (+):\n%s", err, diff)
			}
			secrets.Set(config.TelegramToken, telegramtest.Token)
			if err := send(t, b); err != nil || len(server.Sent(person)) != 1 {
				t.Errorf("with a good token: sent %v, %v", server.Sent(person), err)
			}
		})
	}
}

func TestAMessageWaitsForASecretStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b, secrets, _ := newTestBot(t, telegramtest.Token)
	secrets.Refuse = func(_ string, n int) bool { return n == 1 }
	if err := send(t, b); fault.Of(err).Action != fault.Retry || !errors.Is(err, secrettest.ErrInjected) {
		t.Errorf("got %v, want it to be tried again", err)
	}
	if err := send(t, b); err != nil {
		t.Error(err)
	}
}

func TestTheChannelIsMadeOncePerToken(t *testing.T) {
	t.Parallel()
	b, _, _ := newTestBot(t, telegramtest.Token)
	for range 2 {
		if err := send(t, b); err != nil {
			t.Fatal(err)
		}
	}
	first := b.opened
	if err := send(t, b); err != nil || b.opened != first {
		t.Errorf("the channel, with its connections, was made anew (error %v)", err)
	}
}
