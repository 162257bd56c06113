package sim

import (
	"context"
	"fmt"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/scripted"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/pause"
	"github.com/bobbin-agent/bobbin/shared/reaper"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// role is what a process does.
type role uint8

const (
	acceptor role = iota
	worker
	sweeper
)

func (r role) String() string { return [...]string{"acceptor", "worker", "reaper"}[r] }

// process is one process of a world: its memory, and its own view of the seams, which ends with it.
type process struct {
	world *world
	seat
	name       string
	generation int
	ids        *id.Source
	ctx        context.Context //nolint:containedctx // the life of the process
	end        context.CancelFunc
	gone       atomic.Bool
	extended   int // how often it has shown a sign of life
	lanes      int // wake-ups taken so far; the scheduler's alone

	// The scheduler's alone.
	frozen, cut time.Time
	capacity    int
	leaving     bool
	busy        atomic.Int32

	inbox  *inbox.Inbox
	runner *runner.Runner
	reaper *reaper.Reaper
}

// spawn starts a process; its name and its IDs are its own.
func (w *world) spawn(s seat, generation int) *process {
	p := &process{
		world: w, seat: s, name: fmt.Sprintf("%s%d.%d", s.role, s.place, generation), generation: generation,
		capacity: 1 + w.rng.IntN(3), ids: w.source(w.rng),
	}
	p.ctx, p.end = context.WithCancel(w.ctx)
	desk := &turn.Desk{Table: tableSeam{p}, IDs: p.ids, Holder: p.name, Permits: w.manners.permits}
	switch s.role {
	case acceptor:
		p.inbox = &inbox.Inbox{
			Table: tableSeam{p}, Queue: queueSeam{p}, IDs: p.ids, Book: &owner.Book{Table: tableSeam{p}, IDs: p.ids},
			Rules: w.rulesOf,
		}
	case worker:
		p.runner = &runner.Runner{
			Desk: desk, Queue: queueSeam{p}, Note: p.noted,
			Outbox: &outbox.Sender{Table: tableSeam{p}, IDs: p.ids, Holder: p.name, Channel: p.channel},
			Agent: &agent.Agent{
				Model: model.Retry(modelSeam{p, scripted.New("")}), Tools: p.tools(), Blobs: blobSeam{p},
				Posted: func(ctx context.Context, t turn.Turn) { p.runner.Post(ctx, t) },
			},
		}
	case sweeper:
		p.reaper = &reaper.Reaper{Table: tableSeam{p}, IDs: p.ids, Queue: queueSeam{p}, Desk: desk, Buried: func(context.Context, turn.Turn) {
			w.cover.count("buried by the reaper")
		}}
	}
	return p
}

func (p *process) channel(connection string) (channel.Channel, bool) {
	return channelSeam{p}, connection == telegram
}

func (p *process) noted(_ context.Context, event string, _ turn.Turn, _ error) {
	if !p.gone.Load() {
		p.world.cover.count(event)
	}
}

func (p *process) swept(r reaper.Report, _ error) {
	if r.Woken+r.Sent > 0 {
		p.world.cover.count("woken by the reaper")
	}
}

// enter waits until it is the call's turn and says what becomes of it.
func (p *process) enter(ctx context.Context, k kind, key string) verdict {
	if p.gone.Load() {
		return verdict{fate: dead}
	}
	c := &call{process: p, lane: laneOf(ctx), kind: k, key: key}
	c.part, _ = pprof.Label(ctx, reaper.PartLabel)
	v := p.world.gate.wait(c)
	if v.fate == slow {
		p.linger(ctx, v.pause) // if the caller gives up meanwhile, the next verdict's coin says whether it was done
		c.again = true
		if p.gone.Load() {
			return verdict{fate: dead}
		}
		v = p.world.gate.wait(c)
	}
	if v.fate == killBefore {
		p.world.kill(p, v.pause)
		return verdict{fate: dead}
	}
	return v
}

// linger waits, at most to the end of the world.
func (p *process) linger(ctx context.Context, wait time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.world.ctx, cancel)() //nolint:contextcheck // the world ends whatever the caller wants
	pause.For(ctx, wait)
}

// answer is what a caller is told of a call.
type answer uint8

const (
	answered   answer = iota // it was done: the effect's own answer counts
	notDone                  // and never will be
	notKnown                 // whether it was done
	postponed                // not done, with a wait asked for
	refusedFor               // refused for good
)

// perform makes a call that changes something: effect is run when, and if, it is done.
func (p *process) perform(ctx context.Context, k kind, key string, effect func()) (answer, verdict) {
	v := p.enter(ctx, k, key)
	switch v.fate {
	case dead, refuse:
		return notDone, v
	case forGood:
		return refusedFor, v
	case holdOff:
		return postponed, v
	case lost:
		return notKnown, v
	case late:
		p.world.later(laneOf(ctx), k, key, v.pause, effect)
		return notKnown, v
	default:
	}
	gaveUp := ctx.Err() != nil
	if gaveUp && !v.coin {
		return notKnown, v
	}
	effect()
	switch {
	case v.fate == killAfter:
		p.world.kill(p, v.pause)
		return notDone, v
	case gaveUp, v.fate == unheard:
		return notKnown, v
	}
	return answered, v
}

// look makes a call that changes nothing. It reports whether it is answered.
func (p *process) look(ctx context.Context, k kind, key string) (verdict, bool) {
	v := p.enter(ctx, k, key)
	if v.fate == killAfter {
		p.world.kill(p, v.pause)
		return v, false
	}
	return v, v.fate != dead && v.fate != refuse && ctx.Err() == nil
}

// kill ends a process as by SIGKILL: nothing of it has any effect any more. Another takes its place after a pause.
func (w *world) kill(p *process, pause time.Duration) {
	if p.gone.Swap(true) {
		return
	}
	if w.killed != nil {
		w.killed.Running = w.audit.running() > 0
		w.killed.Silent = p.role == worker && p.extended == 0
	}
	p.end()
	w.gate.clear(p)
	w.replace(p, pause)
}

// shutdown asks a worker to end: it gets no more wake-ups, and its contexts end. It is gone a while later.
func (w *world) shutdown(p *process) {
	p.leaving = true
	p.end()
	grace := 8*time.Second + jitter(w.rng, 2*time.Second)
	w.during(func() {
		if pause.For(w.ctx, grace) && !p.gone.Load() {
			w.gate.wait(&call{lane: p.name, kind: deliver, key: "end"})
			w.kill(p, time.Second)
		}
	})
}
