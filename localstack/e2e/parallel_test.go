package e2e

import "testing"

// Both requests are open at once, or the first would have to end before the second came.
func twoPersonsTurnsRunTogether(t testing.TB, w world) {
	a, b := owner(t, w), owner(t, w)
	name := t.Name()
	a.say("hold " + name + " a")
	b.say("hold " + name + " b")
	a.mind.wait(a.ctx, t, "hold "+name+" a", 1)
	b.mind.wait(b.ctx, t, "hold "+name+" b", 1)
	a.mind.release(name + " b")
	b.hears(t, "held "+name+" b")
	a.mind.release(name + " a")
	a.hears(t, "held "+name+" a")
}

// While the first turn is held, the second is stored, and everything goes its way to another person's answer.
func twoTurnsOfOneNeverDo(t testing.TB, w world) {
	p, other := owner(t, w), owner(t, w)
	name := t.Name()
	p.say("hold " + name + " 1")
	p.mind.wait(p.ctx, t, "hold "+name+" 1", 1)
	p.say("hold " + name + " 2")
	p.acknowledged(t)
	other.asks(t, "say meanwhile", "meanwhile")
	p.mind.release(name + " 2") // if it were running, it would overtake
	other.asks(t, "say and again", "and again")
	p.heardAll(t)
	p.mind.release(name + " 1")
	p.hears(t, "held "+name+" 1")
	p.hears(t, "held "+name+" 2")
	if got := p.mind.atOnce(name); got != 1 {
		t.Errorf("%d turns of one conversation ran at once", got)
	}
}
