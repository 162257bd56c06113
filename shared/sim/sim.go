// Package sim runs whole worlds of Bobbin in simulated time: owners who write, processes that accept, work and reap, a
// table, a blob store, a queue, a model and a channel, all of which go wrong; and checks afterwards that nothing was
// lost, nothing done twice, and nothing written by whom it was not to do any more.
//
// A world lives in a bubble of testing/synctest, whose clock moves only when nobody has anything to do. That alone does
// not make a run repeatable: goroutines that wake at the same instant run in any order. So every call of a seam first
// waits at a gate. When all are waiting, the scheduler sorts the calls by who makes them and what they ask for, and the
// seed decides which goes next and what becomes of it: done; refused; done or not, without anyone hearing of it; done
// late; slow; or the death of the process before or after it. The same seed gives the same trace.
//
//	sim.Run(t, 42, sim.Size{})                          a world
//	go test ./shared/sim -run TestSimulation -seeds=1000    a thousand
//	go test ./shared/sim -run TestSimulation -seed=42 -v    that world again, with everything that happened in it
//
// The audit sees every write at the moment it is applied (audit.go); the check sees the world when it has come to rest
// (check.go). What is checked is the truth of the records, never the conditions of the writes: a guard that is taken
// away must show.
package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// Size bounds a world. Its zero fields are drawn from the seed.
type Size struct {
	Owners   int // who write side by side, each with a session
	Messages int // of all owners together
	Workers  int
}

// Setup is all that a world is made from.
type Setup struct {
	Seed uint64
	Size Size
	// Calm is a world in which nothing goes wrong but what the other fields ask for.
	Calm bool
	// Scripts, if set, are the messages of the world, instead of those drawn from the seed; one a second.
	Scripts []string
	// Kill, if set, is when a process dies.
	Kill *Kill
	// Weaken, if set, changes every write before it is applied: to see that a guard which is taken away is missed. now
	// reads a record as it stands.
	Weaken func(w table.Write, now func(table.Key) *table.Item) table.Write
	// Without leaves out what no condition of a write stands for, as an engine would that lacks it.
	Without Omission
	// Traced keeps what happened, for Result.Trace.
	Traced bool
}

// Omission is something that a weakened engine does not do.
type Omission uint8

// The omissions.
const (
	Nothing    Omission = iota
	SecondLook          // whoever has joined the line for a permit does not look whether one is free by now
	GiveBack            // a wake-up that meets a live turn is not given back, but done with
)

// Kill names a call of an accepting or working process, counted from 1, at which the process dies.
type Kill struct {
	Call  int
	After bool // the call has been done, but the process did not hear of it
}

// Result is what became of a world.
type Result struct {
	Seed       uint64
	Violations []string // in words; none when all is as it must be
	Trace      []string // what happened, a line each
	Turns      int      // that have ended
	Calls      int      // that went through the gate
	Spent      time.Duration
	Coverage   Coverage
	Killed     *Death // with Setup.Kill, if that call was made
}

// Death tells of the process that died as Setup.Kill asked.
type Death struct {
	Role     string
	Call     string        // what it was doing
	At       time.Duration // since the beginning
	Running  bool          // a turn was running
	Silent   bool          // it was a worker that had not given any sign of life yet
	Told     string        // what the owner was told first: "reply", "notice", or "" for nothing
	ToldAt   time.Duration // since the beginning
	Messages int           // how many the owner got
}

// Run runs the world of a seed to its rest.
func Run(t *testing.T, seed uint64, size Size) Result {
	return Play(t, Setup{Seed: seed, Size: size})
}

// Play runs a world to its rest.
func Play(t *testing.T, s Setup) (r Result) {
	t.Helper()
	warmUp()
	synctest.Test(t, func(t *testing.T) {
		w := build(t.Context(), s)
		w.run()
		r = w.result()
	})
	return r
}
