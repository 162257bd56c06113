package sim_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/sim"
)

var (
	seeds = flag.Int("seeds", 250, "how many worlds of fresh seeds TestSimulation runs, beside the fixed ones")
	seed  = flag.Uint64("seed", 0, "run the world of this seed alone; with -v, show what happened in it")
)

// TestSimulation runs the worlds of fresh seeds, or of one.
func TestSimulation(t *testing.T) {
	if *seed != 0 {
		replay(t, *seed)
		return
	}
	t.Parallel()
	first := rand.Uint64()>>32<<8 + 1 // short enough to type
	last := first + uint64(*seeds) - 1
	begun := time.Now()
	total := runAll(t, numbers(first, last))
	spent := time.Since(begun)
	outcome := "none lost, none answered twice, nothing written late, every session usable at the end"
	if t.Failed() {
		outcome = "SOMETHING WAS WRONG"
	}
	t.Logf("seeds %d to %d: %d turns under faults, %s\n%d worlds, %d calls in %v: %.0f turns/s\n%s", first, last, total.Turns, outcome,
		*seeds, total.Calls, spent.Round(time.Millisecond), float64(total.Turns)/spent.Seconds(), total.Coverage.String())
}

// TestSimulationOfFixedSeeds runs the worlds of testdata/seeds.txt, which between them meet everything that can go wrong
// and every way of recovering from it.
func TestSimulationOfFixedSeeds(t *testing.T) {
	if *seed != 0 {
		t.Skip("one world was asked for")
	}
	t.Parallel()
	total := runAll(t, fixedSeeds(t))
	if missing := total.Coverage.Missing(); len(missing) > 0 {
		t.Errorf("the worlds of testdata/seeds.txt never met:\n  %s\nAdd a seed that does.", strings.Join(missing, "\n  "))
	}
}

// TestSameSeedSameTrace holds the simulation to what makes a seed worth keeping.
func TestSameSeedSameTrace(t *testing.T) {
	if *seed != 0 {
		t.Skip("one world was asked for")
	}
	t.Parallel()
	for i := range uint64(60) {
		s := sim.Setup{Seed: 1000 + i, Traced: true}
		once, again := sim.Play(t, s), sim.Play(t, s)
		if diff := cmp.Diff(once.Trace, again.Trace); diff != "" {
			t.Errorf("seed %d went two ways (-once +again):\n%s", s.Seed, diff)
		}
	}
}

// total sums up worlds.
type total struct {
	Turns, Calls int
	Coverage     sim.Coverage
}

// runAll runs the worlds of the seeds, as many at once as there are processors.
func runAll(t *testing.T, seeds []uint64) *total {
	t.Helper()
	var (
		mu   sync.Mutex
		sum  total
		next atomic.Int64
		wait sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(seeds) {
					return
				}
				r := sim.Run(t, seeds[i], sim.Size{})
				mu.Lock()
				sum.Turns += r.Turns
				sum.Calls += r.Calls
				sum.Coverage.Add(r.Coverage)
				mu.Unlock()
				report(t, r)
			}
		})
	}
	wait.Wait()
	return &sum
}

// report fails the test for a world in which something was wrong, and says how to see it again.
func report(t *testing.T, r sim.Result) {
	t.Helper()
	if len(r.Violations) > 0 {
		t.Errorf("seed %d:\n  %s\nSee it again: go test ./shared/sim -run TestSimulation -seed=%d -v",
			r.Seed, strings.Join(r.Violations, "\n  "), r.Seed)
	}
}

func replay(t *testing.T, seed uint64) {
	t.Helper()
	r := sim.Play(t, sim.Setup{Seed: seed, Traced: true})
	if testing.Verbose() {
		t.Logf("seed %d, %d turns, %v of simulated time\n%s", seed, r.Turns, r.Spent, strings.Join(r.Trace, "\n"))
	}
	report(t, r)
}

// fixedSeeds reads testdata/seeds.txt: a seed, or the first and the last of a range, then why, on each line.
func fixedSeeds(t *testing.T) []uint64 {
	t.Helper()
	file, err := os.ReadFile("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []uint64
	for line := range strings.Lines(string(file)) {
		word, _, _ := strings.Cut(line, " ")
		low, high, isRange := strings.Cut(word, "-")
		if !isRange {
			high = low
		}
		all = append(all, numbers(number(t, low), number(t, high))...)
	}
	return all
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("reading testdata/seeds.txt: %v", err)
	}
	return n
}

// numbers lists the numbers from first to last.
func numbers(first, last uint64) []uint64 {
	var all []uint64
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}
