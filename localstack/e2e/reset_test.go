package e2e

import (
	"net/http"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/channel/web"
)

const fresh = "Done: your next message begins a new conversation. Files stay as they are."

func resetForgetsTheConversation(t testing.TB, w world) {
	p := owner(t, w)
	p.say("my name is Ada")
	p.hearsOf(t, "Ada")
	p.asks(t, "/reset", fresh)
	p.say("what is my name?")
	p.hearsOf(t, "You have not told me.")
	p.heardAll(t)
}

func resetWaitsForWhatRuns(t testing.TB, w world) {
	p := owner(t, w)
	name := t.Name()
	p.say("hold " + name)
	p.mind.wait(p.ctx, t, "hold "+name, 1)
	p.asks(t, "/reset", "I am working on something here. Wait until it is done, or send /stop first.")
	p.mind.release(name)
	p.hears(t, "held "+name)
	p.heardAll(t)
}

// What runs is ended, the messages are gone from the page, and what a page from before sends is refused.
func pageClearsTheConversation(t testing.TB, w world) {
	page, p := ownerAtHome(t, w)
	p.say("my name is Ada")
	p.hearsOf(t, "Ada")
	name, before := t.Name(), page.read(t).Thread
	page.post(t, "hold "+name)
	p.mind.wait(p.ctx, t, "hold "+name, 1)
	page.press(t, "clear", nil)
	eventually(p.ctx, t, "the request to the model is broken off", func() bool { return p.mind.holding(name) == 0 })
	after := page.read(t)
	if after.Thread == before || len(after.Messages) != 0 {
		t.Errorf("the page shows thread %s with %d messages, want another than %s, empty", after.Thread, len(after.Messages), before)
	}
	old := map[string]string{"id": uuid(), "thread": before, "text": "say late"}
	if status, body := page.do(t, http.MethodPost, "/api/messages", old); status != http.StatusConflict {
		t.Errorf("a message to the old conversation is answered with %d %s, want 409", status, body)
	}
	p.say("what is my name?")
	p.hearsOf(t, "You have not told me.")
	if got := page.state(t, "what is my name?"); got != web.Done {
		t.Errorf("in the new conversation the message is %q, want done", got)
	}
	p.heardAll(t)
}
