package sim

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// kind names a call of a seam.
type kind uint8

const (
	get kind = iota
	scan
	write
	putPart
	getPart
	sendWake
	extend
	giveBack
	done
	think // the model
	act   // a tool
	tell  // the channel
	deliver
	kinds
)

var kindNames = [kinds]string{
	"get", "scan", "write", "put part", "get part", "send", "extend", "give back", "done", "ask", "act", "tell", "deliver",
}

func (k kind) String() string { return kindNames[k] }

// fate is what becomes of a call.
type fate uint8

const (
	pass       fate = iota
	refuse          // not done, and said so; of the model a temporary error
	unheard         // done, but nobody hears of it
	lost            // not done, but nobody knows
	late            // not done now but later, when the caller has long been told that nothing is known
	slow            // time goes by first
	torn            // a scan whose second half is read later
	forGood         // refused for good
	holdOff         // not sent, with a wait asked for
	double          // a wake-up is delivered twice
	delay           // a wake-up comes late
	reorder         // a wake-up overtakes another
	drop            // a wake-up is lost
	killBefore      // the process dies before the call is done
	killAfter       // the process dies after the call was done
	dead            // the process has died before
	fates
)

var fateNames = [fates]string{
	"ok", "refused", "unheard", "lost", "late", "slow", "torn", "refused for good", "held off", "doubled", "delayed",
	"reordered", "dropped", "killed before", "killed after", "dead",
}

func (f fate) String() string { return fateNames[f] }

// verdict is a fate with its particulars.
type verdict struct {
	fate  fate
	pause time.Duration // how slow, how late, how long until a dead process is replaced
	coin  bool          // whether a call whose caller has given up is done
}

// call is a call of a seam that waits at the gate.
type call struct {
	process  *process // nil for what happens by itself
	lane     string   // what the process is doing: one wake-up, one message, one sweep
	kind     kind
	key      string
	again    bool   // it has been slow
	part     string // of a sweep: the shard that is swept; two may ask for the same side by side
	released chan verdict
}

func (c *call) compare(d *call) int {
	if n := cmp.Compare(c.lane, d.lane); n != 0 {
		return n
	}
	if n := cmp.Compare(c.kind, d.kind); n != 0 {
		return n
	}
	if n := cmp.Compare(c.key, d.key); n != 0 {
		return n
	}
	return cmp.Compare(c.part, d.part)
}

// gate is where all calls wait.
type gate struct {
	mu      sync.Mutex
	waiting []*call
	closed  bool          // nobody waits any more: the world has ended
	bell    chan struct{} // holds a token when a call has come
}

func (g *gate) wait(c *call) verdict {
	c.released = make(chan verdict, 1)
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return verdict{fate: dead}
	}
	g.waiting = append(g.waiting, c)
	g.mu.Unlock()
	g.ring()
	return <-c.released
}

// close lets all calls go on, and those to come.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, c := range g.waiting {
		c.released <- verdict{fate: dead}
	}
	g.waiting = nil
}

// ring has the scheduler look again.
func (g *gate) ring() {
	select {
	case g.bell <- struct{}{}:
	default:
	}
}

// sorted returns the waiting calls in an order that does not depend on when they came.
func (g *gate) sorted() []*call {
	g.mu.Lock()
	defer g.mu.Unlock()
	slices.SortFunc(g.waiting, (*call).compare)
	return g.waiting
}

// release lets one call go on.
func (g *gate) release(c *call, v verdict) {
	g.mu.Lock()
	at := slices.Index(g.waiting, c)
	if at < 0 {
		panic("no call " + c.lane + " " + c.kind.String() + " " + c.key)
	}
	g.waiting = slices.Delete(g.waiting, at, at+1)
	g.mu.Unlock()
	c.released <- v
}

// clear lets all calls of a dead process go on.
func (g *gate) clear(p *process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(c *call) bool {
		if c.process == p {
			c.released <- verdict{fate: dead}
		}
		return c.process == p
	})
}

// laneKey is the context's key of the lane.
type laneKey struct{}

func withLane(ctx context.Context, lane string) context.Context {
	return context.WithValue(ctx, laneKey{}, lane)
}

func laneOf(ctx context.Context) string {
	lane, _ := ctx.Value(laneKey{}).(string)
	return lane
}
