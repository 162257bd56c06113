package sim

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/inbox"
)

// weather says how often what goes wrong in a world, up to the time when it clears up for good.
type weather struct {
	fault    float64 // of a call
	kill     float64 // of a process, at a call
	freeze   float64 // of a process, for a while
	outage   float64 // of the table, for one process, for a while
	shutdown float64 // of a worker, in good order
	withdraw float64 // of a message, while a running turn is about to take it
	clears   time.Duration
}

// forecasts differ in kind: fair, showers, rain, storm, plague, frosts, flood.
var forecasts = []weather{
	{},
	{fault: 0.02, kill: 0.001, withdraw: 0.2},
	{fault: 0.08, kill: 0.003, outage: 0.002, withdraw: 0.2},
	{fault: 0.2, kill: 0.004, freeze: 0.002, outage: 0.003},
	{fault: 0.02, kill: 0.02, shutdown: 0.01},
	{fault: 0.03, freeze: 0.015, outage: 0.005, withdraw: 0.1},
	{fault: 0.06, kill: 0.002, freeze: 0.03},
	{fault: 0.35, kill: 0.002},
}

func forecast(rng *rand.Rand) weather {
	w := forecasts[rng.IntN(len(forecasts))]
	w.clears = 40*time.Second + jitter(rng, 2*time.Minute)
	return w
}

// faults lists what can go wrong with a call of each kind; what stands there more often happens more often.
var faults = [kinds][]fate{
	get:      {refuse, slow},
	scan:     {refuse, slow, torn, torn},
	write:    {refuse, unheard, lost, late, slow},
	putPart:  {refuse, unheard, slow},
	getPart:  {refuse, slow},
	sendWake: {refuse, unheard, double, delay, reorder, drop, slow},
	extend:   {refuse, unheard, slow},
	giveBack: {refuse, unheard, slow},
	done:     {refuse, unheard, slow},
	think:    {refuse, refuse, refuse, forGood, slow, slow},
	act:      {slow, forGood},
	tell:     {refuse, holdOff, unheard, lost, forGood, slow},
}

// weight evens out what kinds of calls meet: there are few of some.
var weight = [kinds]float64{
	get: 1, scan: 1, write: 1.5, putPart: 3, getPart: 3, sendWake: 2, extend: 2, giveBack: 15, done: 2, think: 3, act: 4, tell: 3,
}

// weight is that of the call's kind; a write that takes messages or hands a turn over is rarer than others, and so is the
// wake-up that is sent for a turn which has been handed over.
func (w *world) weight(c *call) float64 {
	if c.kind == write && (takes(c.key) || handsOver(c.key)) || c.kind == sendWake && c.lane == w.audit.handing {
		return 8
	}
	return weight[c.kind]
}

// decide says what becomes of a call.
func (w *world) decide(c *call) verdict {
	if c.process == nil {
		return verdict{}
	}
	if v, ok := w.appointed(c); ok {
		return v
	}
	if w.calm() {
		return verdict{coin: true}
	}
	v := verdict{coin: w.rng.IntN(2) == 0}
	now := time.Now()
	switch x := w.rng.Float64() / w.weight(c); {
	case c.process.cut.After(now) && (c.kind == get || c.kind == scan || c.kind == write):
		v.fate = refuse
	case x < w.weather.kill:
		v.fate, v.pause = killBefore, 50*time.Millisecond+jitter(w.rng, 20*time.Second)
		if w.rng.IntN(2) == 0 {
			v.fate = killAfter
		}
	case x < w.weather.kill+w.weather.fault:
		v.fate, v.pause = faults[c.kind][w.rng.IntN(len(faults[c.kind]))], w.pause()
	}
	if v.fate == slow && c.again {
		v.fate = pass
	}
	if p := w.buried(c, now); p != nil && !c.again {
		v = w.rise(p, v)
	}
	if c.kind == write && !c.again && (takes(c.key) || handsOver(c.key)) && w.rng.Float64() < w.weather.withdraw {
		v = w.regret(c, v)
	}
	w.trouble(c.process, now)
	return v
}

// regret has the owner withdraw a message that is being taken, or stop the turn that takes it or that is being handed over,
// and the call wait for its turn again beside or behind that.
func (w *world) regret(c *call, v verdict) verdict {
	session, _, _ := strings.Cut(strings.TrimPrefix(c.key, "session#"), "/")
	switch {
	case takes(c.key) && w.rng.IntN(3) == 0:
		w.withdraw(session)
	default:
		w.press(session, takes(c.key) || w.rng.IntN(2) == 0)
	}
	v.fate, v.pause = slow, time.Duration(w.rng.IntN(2))*time.Microsecond
	return v
}

// buried is the frozen worker whose turn the call is to end, taking it for dead; nil if it is another call.
func (w *world) buried(c *call, now time.Time) *process {
	session, ok := strings.CutPrefix(c.key, "session#")
	if c.kind != write || !ok {
		return nil
	}
	session, what, _ := strings.Cut(session, "/")
	s := w.audit.sessions[session]
	if s == nil || s.fence.Turn == "" || s.holder == c.lane || !strings.HasPrefix(what, "fence") {
		return nil
	}
	for _, p := range w.processes {
		if p.frozen.After(now) && strings.HasPrefix(s.holder, p.name+"/") {
			return p
		}
	}
	return nil
}

// loses reports whether a wake-up that comes again is lost on its way. There may always be one too few.
func (w *world) loses(receives int) bool {
	return receives > 1 && !w.calm() && w.rng.Float64() < 2*w.weather.fault
}

// rise has a worker that is being buried wake up, and the burial wait for its turn again among what the worker does.
func (w *world) rise(p *process, v verdict) verdict {
	p.frozen = time.Time{}
	w.cover.count("woken up at the burial")
	v.fate, v.pause = slow, 0
	return v
}

// trouble befalls a whole process for a while.
func (w *world) trouble(p *process, now time.Time) {
	switch x := w.rng.Float64(); {
	case x < w.weather.freeze:
		p.frozen = now.Add(time.Second + jitter(w.rng, 90*time.Second))
		w.cover.count("frozen process")
		w.note("%s is frozen for %v", p.name, p.frozen.Sub(now))
	case x < w.weather.freeze+w.weather.outage:
		p.cut = now.Add(time.Second + jitter(w.rng, 60*time.Second))
		w.cover.count("outage of the table")
		w.note("%s can't reach the table for %v", p.name, p.cut.Sub(now))
	case x < w.weather.freeze+w.weather.outage+w.weather.shutdown && p.role == worker:
		w.cover.count("shutdown")
		w.note("%s is asked to end", p.name)
		w.shutdown(p)
	}
}

// pause is as often short as long.
func (w *world) pause() time.Duration {
	longest := []time.Duration{100 * time.Millisecond, 3 * time.Second, 40 * time.Second}
	return time.Millisecond + jitter(w.rng, longest[w.rng.IntN(len(longest))])
}

// jitter draws a time below most, to the nanosecond, so that two things never happen at the same instant by design.
func jitter(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(most)))
}

// manners are how a world is set up, and what its owners do beside writing.
type manners struct {
	rules   inbox.Rules   // of the messenger; the page's are the zero ones
	permits int           // 0 for no cap
	term    time.Duration // after which a worker's wake-up ends; 0 for never
	stops   float64       // of letters
	resets  float64       // of letters
}

// behave draws the manners of a world.
func behave(rng *rand.Rand) manners {
	m := manners{rules: inbox.Rules{Reset: resetText}}
	if rng.IntN(3) == 0 {
		m.permits = 1 + rng.IntN(2)
	}
	if rng.IntN(3) == 0 {
		m.term = 10*time.Second + jitter(rng, 50*time.Second)
	}
	if rng.IntN(2) == 0 {
		m.stops, m.resets = 0.15, 0.05
	}
	switch rng.IntN(8) {
	case 0:
		m.rules.Busy = inbox.QueueUp
	case 1:
		m.rules.Busy = inbox.Refuse
	case 2:
		m.rules.Debounce = time.Second + jitter(rng, 4*time.Second)
	case 3:
		m.rules.Scope = inbox.ConversationScope
	}
	return m
}

func (w *world) rulesOf(connection string) inbox.Rules {
	if connection == telegram {
		return w.manners.rules
	}
	return inbox.Rules{}
}

func (w *world) calm() bool { return w.setup.Calm || w.elapsed() > w.weather.clears }

// appointed is the fate that Setup.Kill asks for.
func (w *world) appointed(c *call) (verdict, bool) {
	k := w.setup.Kill
	if k == nil || c.process.role == sweeper || w.killed != nil {
		return verdict{}, false
	}
	w.counted++
	if w.counted != k.Call {
		return verdict{}, false
	}
	w.killed = &Death{Role: c.process.role.String(), Call: c.kind.String() + " " + c.key, At: w.elapsed()}
	v := verdict{fate: killBefore, pause: time.Second + jitter(w.rng, time.Second)}
	if k.After {
		v.fate = killAfter
	}
	return v, true
}
