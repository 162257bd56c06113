package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/turn"
)

// One more than the queue holds is sent while a turn works, which then takes all that were taken.
func fullQueueIsTold(t testing.TB, w world) {
	p := owner(t, w)
	first := "hold " + t.Name() + "\ncall clock {}"
	p.say(first)
	p.mind.wait(p.ctx, t, first, 1)
	var texts []string
	for i := range turn.MaxQueued {
		texts = append(texts, fmt.Sprintf("say %d of %s", i, t.Name()))
		p.say(texts[i])
	}
	p.acknowledged(t)
	p.say("say too much")
	p.hearsOf(t, "20 messages of yours are waiting already, and I have not taken this one.")
	p.mind.release(t.Name())
	last := texts[len(texts)-1]
	p.hears(t, strings.TrimPrefix(last, "say "))
	if diff := cmp.Diff(append([]string{first}, texts...), heard(p.mind.wait(p.ctx, t, last, 1))); diff != "" {
		t.Errorf("the model was given (-want +got)\n%s", diff)
	}
	p.asks(t, "say room again", "room again")
	p.heardAll(t)
}

var refusing = map[string]string{"telegram-busy": "refuse"}

func messageToABusySessionIsRefused(t testing.TB, w world) {
	p := owner(t, w)
	name := t.Name()
	p.say("hold " + name)
	p.mind.wait(p.ctx, t, "hold "+name, 1)
	p.asks(t, "say meanwhile", "Still working on your previous message — please wait.")
	p.mind.release(name)
	p.hears(t, "held "+name)
	eventually(p.ctx, t, "the session takes messages again", func() bool {
		p.say("say again")
		return p.next(t).Text == "again"
	})
	if n := len(p.mind.asked("say meanwhile")); n != 0 {
		t.Errorf("the model was asked %d times about what was refused", n)
	}
}

var gathering = map[string]string{"telegram-debounce": "1s"}

func burstBecomesOneTurn(t testing.TB, w world) {
	p := owner(t, w)
	for _, text := range []string{"I have a question", "about colours", "say blue"} {
		p.say(text)
	}
	p.hears(t, "blue")
	if got := heard(p.mind.wait(p.ctx, t, "say blue", 1)); len(got) != 3 {
		t.Errorf("the model was given %q at once, want all three", got)
	}
	p.heardAll(t)
}

func modelThatRepeatsItselfIsEnded(t testing.TB, w world) {
	p := owner(t, w)
	p.say(strings.Repeat("call clock {}\nthen\n", 9) + "say never")
	p.hearsOf(t, "I had asked for the same thing (clock) 5 times in a row")
	p.asks(t, "say continue", "continue")
	p.heardAll(t)
}

// crowded is put through a world where two turns run at once, one of which may be another scenario's.
var crowded = scenario{"many write at once", map[string]string{"turns": "2"}, capacityIsSharedFairly}

// writers are more than can run, wait in line, and be on their way to it at once: with eight workers, two of which hold
// a turn, six may look at the line before any of them has joined it.
const writers = 2 + 32 + 6 + 2

// Everyone is either answered, later, or told at once that there is no room; and never do more turns run than may.
func capacityIsSharedFairly(t testing.TB, w world) {
	name := t.Name()
	all := owners(t, w, writers)
	mind := all[0].mind
	for _, p := range all {
		p.say("hold " + name)
	}
	told := func() (n int) {
		for _, p := range all {
			n += len(p.bot.Sent(p.id)) - p.told
		}
		return n
	}
	eventually(all[0].ctx, t, "one is sent away", func() bool { return told() > 0 })
	mind.release(name)
	away := 0
	for _, p := range all {
		switch got := p.next(t).Text; got {
		case "held " + name:
		case turn.CrowdedNotice:
			away++
		default:
			t.Errorf("heard %q", got)
		}
	}
	if got := mind.atOnce(name); got > 2 {
		t.Errorf("%d turns ran at once, want 2 at most", got)
	}
	if got := len(mind.asked("hold " + name)); got != writers-away || away > writers-32-1 {
		t.Errorf("%d turns ran and %d of %d persons were sent away", got, away, writers)
	}
	t.Logf("%d of %d were sent away", away, writers)
	all[0].asks(t, "say room again", "room again")
	for _, p := range all {
		p.heardAll(t)
	}
}
