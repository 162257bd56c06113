package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/inbox"
)

func TestSharedReadsHowMessagesAreTakenAndTurnsAreBound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 64)
	for name, c := range map[string]struct {
		variable, value string
		change          func(*config.Shared)
	}{
		"Telegram steers":      {"BOBBIN_TELEGRAM_BUSY", "steer", func(*config.Shared) {}},
		"Telegram queues":      {"BOBBIN_TELEGRAM_BUSY", " queue\n", func(s *config.Shared) { s.Telegram.Busy = inbox.QueueUp }},
		"Telegram refuses":     {"BOBBIN_TELEGRAM_BUSY", "refuse", func(s *config.Shared) { s.Telegram.Busy = inbox.Refuse }},
		"Telegram gathers":     {"BOBBIN_TELEGRAM_DEBOUNCE", "1.5s", func(s *config.Shared) { s.Telegram.Debounce = 1500 * time.Millisecond }},
		"as long as it may":    {"BOBBIN_TELEGRAM_DEBOUNCE", "30s", func(s *config.Shared) { s.Telegram.Debounce = 30 * time.Second }},
		"Telegram gathers not": {"BOBBIN_TELEGRAM_DEBOUNCE", "0", func(*config.Shared) {}},
		"by conversation":      {"BOBBIN_TELEGRAM_SCOPE", "conversation", func(s *config.Shared) { s.Telegram.Scope = inbox.ConversationScope }},
		"by owner":             {"BOBBIN_TELEGRAM_SCOPE", "owner", func(*config.Shared) {}},
		"another reset":        {"BOBBIN_TELEGRAM_RESET", "/new", func(s *config.Shared) { s.Telegram.Reset = "/new" }},
		"a longest reset":      {"BOBBIN_TELEGRAM_RESET", long, func(s *config.Shared) { s.Telegram.Reset = long }},
		"no reset":             {"BOBBIN_TELEGRAM_RESET", "-", func(s *config.Shared) { s.Telegram.Reset = "" }},
		"the page queues":      {"BOBBIN_WEB_BUSY", "queue", func(s *config.Shared) { s.Web.Busy = inbox.QueueUp }},
		"the page gathers":     {"BOBBIN_WEB_DEBOUNCE", "250ms", func(s *config.Shared) { s.Web.Debounce = 250 * time.Millisecond }},
		"one turn":             {"BOBBIN_TURNS", "1", func(s *config.Shared) { s.Turns = 1 }},
		"a step":               {"BOBBIN_STEPS", "1", func(s *config.Shared) { s.Steps = 1 }},
		"many steps":           {"BOBBIN_STEPS", "10000", func(s *config.Shared) { s.Steps = 10_000 }},
		"two repeats":          {"BOBBIN_REPEATS", "2", func(s *config.Shared) { s.Repeats = 2 }},
		"many repeats":         {"BOBBIN_REPEATS", "1000", func(s *config.Shared) { s.Repeats = 1000 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := common(3)
			c.change(&want)
			got, err := from(map[string]string{c.variable: c.value}).Local()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Shared); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestRulesAreThoseOfTheConnectionsChannel(t *testing.T) {
	t.Parallel()
	s := config.Shared{
		Telegram: inbox.Rules{Busy: inbox.QueueUp, Reset: "/reset"},
		Web:      inbox.Rules{Busy: inbox.Refuse},
	}
	for connection, want := range map[string]inbox.Rules{
		"telegram-7": s.Telegram, "telegram-123456789": s.Telegram, "web": s.Web,
		"": {}, "telegram": {}, "website": {}, "whatsapp-7": {},
	} {
		if diff := cmp.Diff(want, s.Rules(connection)); diff != "" {
			t.Errorf("%q: want (-), got (+):\n%s", connection, diff)
		}
	}
}
