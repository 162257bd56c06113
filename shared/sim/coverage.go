package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Coverage counts what happened in worlds: each fate of each call, and whatever else is worth seeing.
type Coverage struct {
	mu    *sync.Mutex
	fates [kinds][fates]int
	other map[string]int
}

func newCoverage() Coverage { return Coverage{mu: &sync.Mutex{}, other: map[string]int{}} }

func (c *Coverage) fate(k kind, f fate) { c.fates[k][f]++ }

func (c *Coverage) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.other[what]++
}

// Count is how often something of events happened.
func (c *Coverage) Count(what string) int { return c.other[what] }

// Add adds another world's counts. The zero Coverage is empty.
func (c *Coverage) Add(d Coverage) {
	if c.mu == nil {
		*c = newCoverage()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range d.fates {
		for f := range d.fates[k] {
			c.fates[k][f] += d.fates[k][f]
		}
	}
	for what, n := range d.other {
		c.other[what] += n
	}
}

// Missing lists what can happen and did not.
func (c *Coverage) Missing() []string {
	var missing []string
	for k := range faults {
		for _, f := range append(slices.Clone(faults[k]), killBefore, killAfter) {
			if c.fates[k][f] == 0 && kind(k) != deliver {
				missing = append(missing, kind(k).String()+": "+f.String())
			}
		}
	}
	for _, what := range events {
		if c.other[what] == 0 {
			missing = append(missing, what)
		}
	}
	return slices.Compact(missing)
}

// String lists the counts.
func (c *Coverage) String() string {
	var b strings.Builder
	for k := range c.fates {
		fmt.Fprintf(&b, "%-10s", kind(k))
		for f, n := range c.fates[k] {
			if n > 0 {
				fmt.Fprintf(&b, " %s %d;", fate(f), n)
			}
		}
		b.WriteByte('\n')
	}
	for _, what := range slices.Sorted(maps.Keys(c.other)) {
		fmt.Fprintf(&b, "%s %d; ", what, c.other[what])
	}
	return b.String()
}

// events are what must happen somewhere in the fixed worlds.
var events = []string{
	"buried", "buried by the reaper", "confirmed action", "confirmed twice", "deaf tool", "delivered again", "duplicate accepted",
	"frozen process", "handed over", "killed around a take", "message lost", "message possibly repeated", "message refused",
	"message refused at the door", "message taken", "model asked", "outage of the table", "queued turn cancelled", "redelivered",
	"redelivery lost", "reply", "running turn cancelled", "session dropped", "several messages taken at once", "shutdown", "stop",
	"stranger", "take fenced", "take raced", "tool interrupted", "turn ended", "turn failed", "turn given up", "turn handed over",
	"turn interrupted", "turn started", "turn waits", "turns of two sessions at once", "waited for a permit",
	"waiting turn cancelled", "wake-up failed", "wake-up given back", "woken by the reaper", "woken up at the burial",
}
