package markup

import (
	"testing"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
)

func TestEveryHardDocumentIsTaken(t *testing.T) {
	t.Parallel()
	s, err := telegramtest.Start(telegramtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Know(person)
	client, err := telegram.NewClient(s.URL(), telegramtest.Token)
	if err != nil {
		t.Fatal(err)
	}
	unpaced := telegram.NewPace(telegram.Rate{PerSecond: -1, ChatPerSecond: -1})
	c := telegram.Channel{Client: client, Pace: unpaced, Markup: Render}
	n := 0
	for name, markdown := range documents() {
		for i, part := range c.Render(markdown) {
			if _, err := c.Send(t.Context(), channel.Route{Conversation: "42"}, part); err != nil {
				t.Fatalf("%s, part %d: %v", name, i, err)
			}
			n++
		}
	}
	if got := len(s.Sent(person)); got != n || len(s.Calls()) != n {
		t.Errorf("%d messages by %d calls, want %d by as many", got, len(s.Calls()), n)
	}
}

const person = 42
