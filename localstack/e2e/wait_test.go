package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/wait"
)

const colour = `call ask_user {"question": "Which colour?", "options": ["red", "blue"]}`

// asked is the question as the owner reads it.
const askedColour = "Which colour?\n\n• red\n• blue"

func questionIsAnsweredByAReply(t testing.TB, w world) {
	page, p := ownerAtHome(t, w)
	p.say(colour)
	question := p.next(t)
	if question.Text != askedColour {
		t.Errorf("asked %q, want %q", question.Text, askedColour)
	}
	if open := page.waits(t); len(open) != 1 || open[0].Kind != wait.Question {
		t.Errorf("the page shows %+v to wait, want the question", open)
	}
	p.reply(question, "say blue it is")
	p.hears(t, "blue it is")
	if open := page.waits(t); len(open) != 0 {
		t.Errorf("the page shows %+v to wait, want nothing", open)
	}
	p.heardAll(t)
	answered := p.mind.wait(p.ctx, t, "say blue it is", 1)
	if len(answered.Messages) != 3 || answered.Messages[1].Blocks[0].Call == nil {
		t.Errorf("the model has %d messages, want its own question among them", len(answered.Messages))
	}
}

// Whoever answers meets another process than the one that asked.
func questionOutlivesItsWorker(t testing.TB, w world) {
	p := owner(t, w)
	p.say("my name is Ada")
	p.hearsOf(t, "Ada")
	p.asks(t, colour, askedColour)
	w.(renewable).anew(t)
	p.asks(t, "what is my name?", "Your name is Ada.")
	p.heardAll(t)
}

// What is confirmed is what the model had asked for, word for word, and it is done once.
func confirmedActionIsMadeOnce(t testing.TB, w world) {
	p, tools := owner(t, w), w.(*inProcess).tools
	const sum = `{"sum":5}`
	p.asks(t, "call pay "+sum, "Pay "+sum+"?\n\nYes or no?")
	if paid := tools.payments(); len(paid) != 0 {
		t.Errorf("paid %q before it was confirmed", paid)
	}
	p.asks(t, "yes", "paid")
	p.say("yes") // to nothing
	p.hearsOf(t, "yes")
	p.asks(t, `call pay {"sum":6}`, `Pay {"sum":6}?`+"\n\nYes or no?")
	p.say("no")
	p.hearsOf(t, "no")
	if !noted(p.mind.wait(p.ctx, t, "no", 1), "The owner declined pay") {
		t.Error("the model was not told that the owner said no")
	}
	if diff := cmp.Diff([]string{sum}, tools.payments()); diff != "" {
		t.Errorf("paid (-want +got)\n%s", diff)
	}
	p.heardAll(t)
}
