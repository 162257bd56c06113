package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
)

func telegramsRequestToWaitIsHonoured(t testing.TB, w world) {
	p := owner(t, w)
	fault := telegramtest.TooManyRequests(1)
	fault.Chat = p.id
	p.bot.Inject(fault)
	begun := time.Now()
	p.asks(t, "say patience", "patience")
	if took := time.Since(begun); took < time.Second {
		t.Errorf("sent again after %v, want a second at least", took)
	}
	p.asks(t, "say and order", "and order")
	p.heardAll(t)
}

func refusedMarkupIsSentAsPlainText(t testing.TB, w world) {
	p := owner(t, w)
	p.bot.Inject(telegramtest.Fault{
		Method: "sendMessage", Chat: p.id, Code: 400, Description: "Bad Request: can't parse entities: Unsupported start tag",
	})
	p.asks(t, "say **plain**", "plain")
	var modes []string
	eventually(p.ctx, t, "all three calls are recorded", func() bool {
		modes = nil
		for _, c := range p.bot.Calls() {
			if c.Chat == p.id && c.Method == "sendMessage" {
				modes = append(modes, c.ParseMode())
			}
		}
		return len(modes) >= 3
	})
	if diff := cmp.Diff([]string{"HTML", "HTML", ""}, modes); diff != "" {
		t.Errorf("parse modes of the pairing reply and both attempts (-want +got)\n%s", diff)
	}
}

// The owner of the page has Telegram as well, and blocks the bot there.
func blockedBotsReplyIsHeldAndSeen(t testing.TB, w world) {
	page, p := ownerAtHome(t, w)
	p.bot.Block(p.id, true)
	text := "nobody hears " + t.Name()
	p.say("say " + text)
	got := page.until(t, func(m message) bool {
		return m.From == "agent" && strings.HasPrefix(m.Text, text) && m.State != "sending"
	})
	if got.State != "held" || !strings.Contains(got.Text, "blocked") {
		t.Errorf("the page shows %+v, want it held, with the reason", got)
	}
	p.bot.Block(p.id, false)
	p.asks(t, "say back again", "back again")
	p.heardAll(t)
}

func overloadedModelIsAskedAgain(t testing.TB, w world) {
	p := owner(t, w)
	text := "fail temporary 1 times\nsay better now"
	p.asks(t, text, "better now")
	if got := len(p.mind.asked(text)); got != 2 {
		t.Errorf("the model was asked %d times, want 2", got)
	}
}

func refusedKeyIsToldInOneLineWithoutTheKey(t testing.TB, w world) {
	p := owner(t, w)
	p.say("fail auth")
	line, _, _ := strings.Cut(p.hearsOf(t, "401"), "\n")
	if !strings.HasPrefix(line, "I could not finish this: ") || !strings.Contains(strings.ToLower(line), "key") {
		t.Errorf("the first line is %q, want the provider's own words", line)
	}
	if got := len(p.mind.asked("fail auth")); got != 1 {
		t.Errorf("the model was asked %d times, want once: a wrong key does not get better", got)
	}
	p.asks(t, "say on", "on")
	p.heardAll(t)
}

func providersWordsComeWithoutTheKey(t testing.TB, w world) {
	p := owner(t, w)
	p.say("fail other the key " + modelKey + " is odd")
	if told := p.hearsOf(t, "[redacted] is odd"); strings.Contains(told, modelKey) {
		t.Errorf("the owner was told the key: %q", told)
	}
}
