package inbox

import (
	"sync"
	"time"
)

const (
	// greetBurst and greetEvery bound the replies to strangers of one process: anyone can write to a bot, and the owner's
	// answers go through the same rate of sending.
	greetBurst = 20
	greetEvery = time.Second
)

// greetings says whether another stranger may be answered now. The zero greetings is ready.
type greetings struct {
	mu    sync.Mutex
	spent time.Time // until when the allowance is used up: each reply moves it on by greetEvery
}

// allow takes one reply of the allowance, if there is one.
func (g *greetings) allow(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if full := now.Add(-greetBurst * greetEvery); g.spent.Before(full) {
		g.spent = full
	}
	if g.spent.Add(greetEvery).After(now) {
		return false
	}
	g.spent = g.spent.Add(greetEvery)
	return true
}
