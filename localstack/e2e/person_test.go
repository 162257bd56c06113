package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
)

// The fixed replies, as an owner reads them.
const (
	private     = "This agent is private. If it is yours, send /start followed by your pairing code."
	paired      = "Paired. From now on this chat is yours: write to me whenever you like."
	spent       = "That pairing code is not valid any more. You are paired already, so you need none here."
	interrupted = "I was interrupted while working on this."
)

// person is someone with Telegram.
type person struct {
	*surroundings
	ctx  context.Context //nolint:containedctx // a scenario's, which the person lives in
	id   int64
	told int // messages of the bot's that have been looked at
}

var people atomic.Int64

// newcomer is someone whom Bobbin has never seen.
func newcomer(t testing.TB, w world) *person {
	t.Helper()
	n := people.Add(1)
	return &person{surroundings: w.around(), ctx: w.around().within(t), id: 5000 + n}
}

// owner is someone who is paired, the owner of a conversation of their own.
func owner(t testing.TB, w world) *person {
	t.Helper()
	p := newcomer(t, w)
	p.pair(t, w.code(t, t.Name()))
	return p
}

// owners are so many owners, each of a conversation of their own.
func owners(t testing.TB, w world, n int) []*person {
	t.Helper()
	all := make([]*person, n)
	for i := range all {
		all[i] = newcomer(t, w)
		all[i].say("/start " + w.code(t, fmt.Sprint(t.Name(), i)))
	}
	for _, p := range all {
		p.hears(t, paired)
	}
	return all
}

// ownerAtHome is someone who has the page and Telegram.
func ownerAtHome(t testing.TB, w world) (*browser, *person) {
	t.Helper()
	page, code := w.(hooked).home(t)
	p := newcomer(t, w)
	p.pair(t, code)
	return page, p
}

func (p *person) pair(t testing.TB, code string) {
	t.Helper()
	p.asks(t, "/start "+code, paired)
}

// who is the person's ID as records have it.
func (p *person) who() string { return strconv.FormatInt(p.id, 10) }

func (p *person) say(text string) { p.bot.Say(p.id, text) }

// acknowledged waits until everything that was said has been taken.
func (p *person) acknowledged(t testing.TB) {
	t.Helper()
	if err := p.bot.WaitAcknowledged(p.ctx, p.id); err != nil {
		t.Fatal(err)
	}
}

// reply answers a message of the bot's.
func (p *person) reply(to telegramtest.Sent, text string) {
	p.bot.Message(p.id, map[string]any{"text": text, "reply_to_message": map[string]any{
		"message_id": to.ID, "date": to.At.Unix(), "text": to.Text,
		"chat": map[string]any{"id": p.id, "type": "private"},
		"from": map[string]any{"id": 123456789, "is_bot": true, "first_name": "Bobbin"},
	}})
}

// next is the bot's next message.
func (p *person) next(t testing.TB) telegramtest.Sent {
	t.Helper()
	sent, err := p.bot.WaitSent(p.ctx, p.id, p.told+1)
	if err != nil {
		t.Fatal(err)
	}
	p.told++
	return sent[p.told-1]
}

// hears expects the bot's next message to be the text.
func (p *person) hears(t testing.TB, text string) {
	t.Helper()
	if got := p.next(t).Text; got != text {
		t.Errorf("heard %q, want %q", got, text)
	}
}

// hearsOf expects the bot's next message to have something in it, and returns it.
func (p *person) hearsOf(t testing.TB, part string) string {
	t.Helper()
	got := p.next(t).Text
	if !strings.Contains(got, part) {
		t.Errorf("heard %q, want something with %q", got, part)
	}
	return got
}

func (p *person) asks(t testing.TB, text, answer string) {
	t.Helper()
	p.say(text)
	p.hears(t, answer)
}

// heardAll expects that the bot has said nothing that has not been looked at.
func (p *person) heardAll(t testing.TB) {
	t.Helper()
	if sent := p.bot.Sent(p.id); len(sent) != p.told {
		t.Errorf("the bot has said %d messages, want %d: %+v", len(sent), p.told, sent[min(p.told, len(sent)):])
	}
}
