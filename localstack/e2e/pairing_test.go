package e2e

import "testing"

func codePairsOnce(t testing.TB, w world) {
	code := w.code(t, t.Name())
	p := newcomer(t, w)
	p.pair(t, code)
	p.asks(t, "say at your service", "at your service")
	p.asks(t, "/start "+code, spent)
	other := newcomer(t, w)
	other.asks(t, "/start "+code, private)
	p.asks(t, "say still yours", "still yours")
	p.heardAll(t)
}

func wrongCodePairsNobody(t testing.TB, w world) {
	p := newcomer(t, w)
	p.asks(t, "/start 2222-2222-2222", private)
	p.say("/start 3333-3333-3333")
	p.pair(t, w.code(t, t.Name()))
	p.heardAll(t)
}

func strangerGetsOneFixedReply(t testing.TB, w world) {
	p := newcomer(t, w)
	p.asks(t, "say one of a stranger", private)
	p.say("say two of a stranger")
	p.pair(t, w.code(t, t.Name()))
	p.asks(t, "say three", "three")
	p.heardAll(t)
	for _, text := range []string{"say one of a stranger", "say two of a stranger"} {
		if got := p.mind.asked(text); len(got) != 0 {
			t.Errorf("the model was asked %d times about %q of a stranger's", len(got), text)
		}
	}
}
