package sim

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/pause"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

// patience is how long after the weather has cleared up a world may take to come to rest.
const patience = 3 * time.Hour

// maxCalls is far more than any world needs: one that makes more goes round in circles.
const maxCalls = 20_000

// world is everything: what is durable, who runs, what has been seen.
type world struct {
	setup   Setup
	rng     *rand.Rand      // the scheduler's, and of whoever it lets go on
	ctx     context.Context //nolint:containedctx // the life of the world
	end     context.CancelFunc
	born    time.Time
	weather weather
	manners manners

	gate    gate
	table   tabletest.Fake
	blobs   blobtest.Fake
	queue   line
	owners  []resident
	letters []*letter

	processes []*process // alive, by place
	underway  atomic.Int32
	seen      witness
	audit     audit
	cover     Coverage

	calls   int
	counted int // of the calls that Setup.Kill counts
	killed  *Death
	steps   []step
	names   *strings.Replacer
	wrong   []string
}

// resident is an owner who writes.
type resident struct {
	owner.Owner
	place int
}

// seat is the place of a process, which another takes when it dies.
type seat struct {
	role  role
	place int
}

func build(ctx context.Context, s Setup) *world {
	w := &world{setup: s, rng: rand.New(rand.NewPCG(s.Seed, 0xb0bb1)), born: time.Now()} //nolint:gosec // repeatable on purpose
	w.ctx, w.end = context.WithCancel(ctx)
	w.gate.bell = make(chan struct{}, 1)
	w.cover = newCoverage()
	w.audit.start(w)
	w.seen.start(w)
	if !s.Calm {
		w.weather = forecast(w.rng)
		w.manners = behave(w.rng)
	}
	w.settle()
	w.compose()
	return w
}

// settle founds the owners and starts the processes.
func (w *world) settle() {
	size := w.setup.Size
	draw := func(field *int, most int) {
		if *field == 0 {
			*field = 1 + w.rng.IntN(most)
		}
	}
	draw(&size.Owners, 3)
	draw(&size.Messages, 16)
	draw(&size.Workers, 3)
	w.setup.Size = size
	founder := owner.Book{Table: &w.table, IDs: w.source(w.rng)}
	for i := range size.Owners {
		o, err := founder.Add(w.ctx, fmt.Sprintf("owner %d", i), time.Now())
		w.must(err)
		for _, connection := range []string{telegram, web} {
			w.must(founder.Link(w.ctx, o, connection, person(i), time.Now()))
		}
		w.owners = append(w.owners, resident{o, i})
	}
	w.open(seat{acceptor, 1})
	w.open(seat{acceptor, 2})
	w.open(seat{sweeper, 1})
	for i := range size.Workers {
		w.open(seat{worker, i + 1})
	}
}

func (w *world) must(err error) {
	if err != nil {
		panic("making a world: " + err.Error())
	}
}

func (w *world) source(rng *rand.Rand) *id.Source {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rng.UintN(256)) //nolint:gosec // it is below 256
	}
	return &id.Source{Rand: rand.NewChaCha8(seed)}
}

func (w *world) open(s seat) { w.processes = append(w.processes, w.spawn(s, 1)) }

// replace gives a dead process's place to another after a pause.
func (w *world) replace(p *process, wait time.Duration) {
	w.during(func() {
		if !pause.For(w.ctx, wait) {
			return
		}
		w.gate.wait(&call{lane: p.name, kind: deliver, key: "replace"})
		for i := range w.processes {
			if w.processes[i] == p {
				w.processes[i] = w.spawn(p.seat, p.generation+1)
			}
		}
	})
}

// during runs what keeps the world from coming to rest until it is over.
func (w *world) during(f func()) {
	w.underway.Add(1)
	go func() {
		defer w.gate.ring()
		defer w.underway.Add(-1)
		f()
	}()
}

// later does by itself what the world has already been told that nobody knows of.
func (w *world) later(lane string, k kind, key string, wait time.Duration, effect func()) {
	w.during(func() {
		if pause.For(w.ctx, wait) {
			w.gate.wait(&call{lane: lane + "~late", kind: k, key: key})
			effect()
		}
	})
}

// run lets the world live until it has come to rest.
func (w *world) run() {
	w.start()
	for {
		synctest.Wait()
		if !w.step() && !w.idle() {
			break
		}
	}
	for _, p := range w.processes {
		p.gone.Store(true)
	}
	w.gate.close()
	w.end()
	synctest.Wait()
}

// step lets one call go on, or delivers one wake-up; false if there is none.
func (w *world) step() bool {
	now := time.Now()
	var ready []*call
	for _, c := range w.gate.sorted() {
		if c.process == nil || !now.Before(c.process.frozen) {
			ready = append(ready, c)
		}
	}
	var groups []*group
	workers := w.free(now)
	if len(workers) > 0 {
		groups = w.queue.ready(now)
	}
	if len(ready)+len(groups) == 0 {
		return false
	}
	if w.calls++; w.calls > maxCalls {
		w.violate("the world is busy for ever")
		return false
	}
	if i := w.pick(len(ready) + len(groups)); i < len(ready) {
		w.let(ready[i])
	} else {
		w.deliver(groups[i-len(ready)], workers[w.pick(len(workers))], now)
	}
	return true
}

// pick draws one of n; the first, in a calm world.
func (w *world) pick(n int) int {
	if n == 1 || w.setup.Calm {
		return 0
	}
	return w.rng.IntN(n)
}

func (w *world) let(c *call) {
	v := w.decide(c)
	w.cover.fate(c.kind, v.fate)
	if c.kind == write && takes(c.key) && (v.fate == killBefore || v.fate == killAfter) {
		w.cover.count("killed around a take")
	}
	w.trace(c, v)
	w.gate.release(c, v)
}

// free are the workers that take a wake-up.
func (w *world) free(now time.Time) []*process {
	var free []*process
	for _, p := range w.processes {
		if p.role == worker && !p.gone.Load() && !p.leaving && !now.Before(p.frozen) && int(p.busy.Load()) < p.capacity {
			free = append(free, p)
		}
	}
	return free
}

// deliver hands the first wake-up of a group to a worker.
func (w *world) deliver(g *group, p *process, now time.Time) {
	d, held := w.queue.receive(g, now)
	p.lanes++
	lane := fmt.Sprintf("%s/%d", p.name, p.lanes)
	if d.Receives > 1 {
		w.cover.count("redelivered")
	}
	if w.loses(d.Receives) {
		w.cover.count("redelivery lost")
		w.note("a wake-up of %s is lost", g.name)
		held.remove()
		return
	}
	w.trace(&call{lane: lane, kind: deliver, key: g.name}, verdict{})
	d.Lease = leaseSeam{process: p, hold: held}
	p.busy.Add(1)
	ctx, cancel := withLane(p.ctx, lane), context.CancelFunc(func() {})
	if w.manners.term > 0 {
		ctx, cancel = context.WithTimeout(ctx, w.manners.term)
	}
	go func() {
		defer w.gate.ring()
		defer p.busy.Add(-1)
		defer cancel()
		p.receive(ctx, d)
	}()
}

// idle lets time go by; false when the world has come to rest.
func (w *world) idle() bool {
	if w.resting() || w.calls > maxCalls {
		return false
	}
	if w.elapsed() > w.weather.clears+patience {
		w.violate("the world does not come to rest: %s", w.restless())
		return false
	}
	w.checkStarved()
	next := w.queue.next(time.Now())
	for _, p := range w.processes {
		if p.frozen.After(time.Now()) && (next.IsZero() || p.frozen.Before(next)) {
			next = p.frozen
		}
	}
	if next.IsZero() {
		next = time.Now().Add(patience)
	}
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	select {
	case <-w.gate.bell:
	case <-timer.C:
	}
	return true
}

// checkStarved checks, in a world where nothing goes wrong, that nobody waits for a permit while one is free and
// nothing is under way that could tell.
func (w *world) checkStarved() {
	if !w.fair() || w.manners.permits == 0 || w.queue.size() > 0 || w.audit.running() > 0 {
		return
	}
	room, err := capacity.Load(context.Background(), &w.table, w.manners.permits)
	w.must(err)
	if starved := room.Next(); len(starved) > 0 {
		w.violate("a permit is free, %s waits for one, and nobody knows", starved[0].Turn)
	}
}

// resting reports whether nothing will happen any more.
func (w *world) resting() bool { return w.restless() == "" }

// restless says what is still to come; "" for nothing.
func (w *world) restless() string {
	w.gate.mu.Lock()
	waiting := len(w.gate.waiting)
	w.gate.mu.Unlock()
	switch {
	case waiting > 0:
		return fmt.Sprintf("%d calls are waiting", waiting)
	case w.underway.Load() > 0:
		return fmt.Sprintf("%d things are under way", w.underway.Load())
	case w.queue.size() > 0:
		return fmt.Sprintf("%d wake-ups are queued", w.queue.size())
	case w.audit.dues() > 0:
		return fmt.Sprintf("%d due marks stand", w.audit.dues())
	}
	for _, p := range w.processes {
		if p.busy.Load() > 0 && !p.gone.Load() {
			return p.name + " is busy"
		}
	}
	return ""
}

func (w *world) elapsed() time.Duration { return time.Since(w.born) }

// withdraw has the owner take back the oldest queued message of a session, which is then not to run.
func (w *world) withdraw(session string) {
	queued := w.audit.of(session).queued
	keys := slices.Sorted(maps.Keys(queued))
	if len(keys) == 0 {
		return
	}
	oldest, i := queued[keys[0]], len(w.letters)
	l := w.written(i, w.elapsed(), "", w.placeOf(oldest.Thread), oldest.Route.Connection, oldest.Route.Conversation)
	l.kind, l.asked = cancel, oldest.ID
	w.follow(l, 0)
}

// press has the owner stop what runs in a session: now, or by a stop that was sent right after what began the turn, and
// comes late.
func (w *world) press(session string, late bool) {
	t := w.audit.turns[w.audit.of(session).fence.Turn]
	if t == nil {
		return
	}
	l := w.written(len(w.letters), w.elapsed(), "/stop", w.placeOf(t.Thread), t.Route.Connection, t.Route.Conversation)
	l.kind = stop
	if i := slices.IndexFunc(w.letters, func(l *letter) bool { return l.turn() == t.ID }); i >= 0 && late {
		l.message.Sent, l.message.Sequence = w.letters[i].message.Sent, w.letters[i].message.Sequence
	}
	w.follow(l, 0)
}

// withdrawn reports whether the owner has taken a message back.
func (w *world) withdrawn(t id.Turn) bool {
	return slices.ContainsFunc(w.letters, func(l *letter) bool { return l.kind == cancel && l.asked == t })
}

// handed reports whether a turn that answers a letter was handed over.
func (w *world) handed(name string) bool {
	for _, l := range w.letters {
		if t := w.audit.turns[l.turn()]; l.name == name && t != nil {
			if by := w.audit.turns[t.ClosedBy]; by != nil {
				t = by
			}
			return t.hands > 0
		}
	}
	return false
}

// fair reports whether nothing ever goes wrong.
func (w *world) fair() bool {
	return w.weather == weather{clears: w.weather.clears} && w.setup.Kill == nil
}

// violate records what must not be.
func (w *world) violate(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	w.note("VIOLATION: "+format, args...)
}
