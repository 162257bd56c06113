package e2e

import (
	"testing"
	"time"
)

// toldWithin is the promise: a dead worker is noticed, and the owner told.
const toldWithin = 45 * time.Second

func killedTurnIsToldAndTheNextAnswered(t testing.TB, w world) {
	p := owner(t, w)
	p.say("my name is Ada")
	p.hearsOf(t, "Ada")
	name := t.Name()
	p.say("hold " + name)
	p.mind.wait(p.ctx, t, "hold "+name, 1)
	killed := time.Now()
	w.(mortal).kill(t)
	p.hearsOf(t, interrupted)
	if took := time.Since(killed); took > toldWithin {
		t.Errorf("told after %v, want within %v", took, toldWithin)
	} else {
		t.Logf("told after %v", took.Round(10*time.Millisecond))
	}
	p.asks(t, "what is my name?", "Your name is Ada.")
	p.heardAll(t)
	if got := len(p.mind.asked("hold " + name)); got != 1 {
		t.Errorf("the model was asked %d times for the turn that was killed, want once: nothing is done twice", got)
	}
}

// What waits behind the turn that is killed is answered, although nobody writes again.
func killedTurnDoesNotTakeTheQueueWithIt(t testing.TB, w world) {
	p := owner(t, w)
	name := t.Name()
	p.say("hold " + name)
	p.mind.wait(p.ctx, t, "hold "+name, 1)
	p.say("say I was waiting")
	p.acknowledged(t)
	w.(mortal).kill(t)
	p.hearsOf(t, interrupted)
	p.hears(t, "I was waiting")
	p.heardAll(t)
}
