package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
	"github.com/bobbin-agent/bobbin/shared/model"
)

func messageIsAnswered(t testing.TB, w world) {
	p := owner(t, w)
	p.say("say Hello **there**")
	got := p.next(t)
	if got.Text != "Hello there" {
		t.Errorf("heard %q, want Hello there", got.Text)
	}
	want := []telegramtest.Entity{{Type: "bold", Offset: 6, Length: 5}}
	if diff := cmp.Diff(want, got.Entities); diff != "" {
		t.Errorf("entities (-want +got)\n%s", diff)
	}
	for _, r := range p.vendor.Requests() {
		var body struct{ Stream bool }
		if err := json.Unmarshal(r.Body, &body); err != nil || !body.Stream {
			t.Errorf("a request to %s that does not stream (error %v)", r.Path, err)
		}
	}
}

func toolIsUsed(t testing.TB, w world) {
	p := owner(t, w)
	p.say(`call clock {"zone": "Asia/Tokyo"}`)
	p.hearsOf(t, "JST (+09:00)")
}

func turnTwoKnowsTurnOne(t testing.TB, w world) {
	p := owner(t, w)
	p.say("my name is Ada")
	p.hearsOf(t, "Ada")
	p.asks(t, "what is my name?", "Your name is Ada.")
}

func anotherWorkerRemembers(t testing.TB, w world) {
	p := owner(t, w)
	p.say("my name is Ada")
	p.hearsOf(t, "Ada")
	w.(renewable).anew(t)
	p.asks(t, "what is my name?", "Your name is Ada.")
}

// The first of five is held until the other four are stored.
func burstIsAnsweredInOrder(t testing.TB, w world) {
	p := owner(t, w)
	name := t.Name()
	p.say("hold " + name)
	p.mind.wait(p.ctx, t, "hold "+name, 1)
	for i := range 4 {
		p.say(fmt.Sprintf("say %d", i))
	}
	p.acknowledged(t)
	p.mind.release(name)
	p.hears(t, "held "+name)
	for i := range 4 {
		p.hears(t, fmt.Sprint(i))
	}
	p.heardAll(t)
}

// Two messages are sent while the first turn's step is under way, which ends with the result of its tool.
func whatIsSentToAWorkingTurnIsAnsweredByIt(t testing.TB, w world) {
	p := owner(t, w)
	name := t.Name()
	first, also, last := "hold "+name+"\ncall clock {}", "I need it by noon", "say at noon" // said in no other scenario
	p.say(first)
	p.mind.wait(p.ctx, t, first, 1)
	p.say(also)
	p.say(last)
	p.acknowledged(t)
	p.mind.release(name)
	p.hears(t, "at noon")
	next := p.mind.wait(p.ctx, t, last, 1)
	if diff := cmp.Diff([]string{first, also, last}, heard(next)); diff != "" {
		t.Errorf("the next request has (-want +got)\n%s", diff)
	}
	if n := len(next.Messages); n != 3 || next.Messages[1].Role != model.Assistant || next.Messages[2].Blocks[0].Result == nil {
		t.Errorf("the next request has %d messages, want the question, the call, and its result with what was sent", n)
	}
	p.asks(t, "say and now", "and now") // by a turn of its own
	p.heardAll(t)
	if n := len(p.mind.asked(also)); n != 0 {
		t.Errorf("the model was asked %d times about a message that was taken with another", n)
	}
}

func longReplyComesInPartsInOrder(t testing.TB, w world) {
	p := owner(t, w)
	const count = 1500
	p.say(fmt.Sprintf("repeat %d Abc", count-1) + "\nsay end")
	words, parts := []string{""}, 0
	for ; words[len(words)-1] != "end"; parts++ {
		words = append(words, strings.Fields(p.next(t).Text)...)
	}
	if len(words)-1 != count || parts < 2 {
		t.Errorf("%d words came in %d parts, want %d in several", len(words)-1, parts, count)
	}
	p.asks(t, "say after that", "after that")
	p.heardAll(t)
}
