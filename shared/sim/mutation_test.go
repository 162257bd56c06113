package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/sim"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// mutant is an engine without a guard: the operations of some writes lose their conditions, or go missing.
type mutant struct {
	name string
	// of picks the writes by a record that they put, delete or check.
	of func(table.Op) bool
	// frees picks the operations that lose their condition.
	frees func(table.Op) bool
	// drops picks the operations that go missing.
	drops func(table.Op) bool
	// found is a seed whose world misses the guard. Should the engine have changed since, others are tried.
	found uint64
}

func is(kind table.OpKind, space, sort string) func(table.Op) bool {
	return func(op table.Op) bool {
		return op.Kind == kind && strings.HasPrefix(op.Key.Partition, space+"#") && strings.HasPrefix(op.Key.Sort, sort)
	}
}

func either(preds ...func(table.Op) bool) func(table.Op) bool {
	return func(op table.Op) bool {
		for _, p := range preds {
			if p(op) {
				return true
			}
		}
		return false
	}
}

func holding(p func(table.Op) bool, text string) func(table.Op) bool {
	return func(op table.Op) bool { return p(op) && strings.Contains(string(op.Value), text) }
}

func lacking(p func(table.Op) bool, text string) func(table.Op) bool {
	return func(op table.Op) bool { return p(op) && !strings.Contains(string(op.Value), text) }
}

var (
	putFence = is(table.OpPut, "session", "fence")
	claims   = holding(putFence, `"turn"`)
	ends     = lacking(putFence, `"turn"`)
	accepts  = is(table.OpPut, "inbound", "-")
	putTurn  = is(table.OpPut, "turn", "head")
	putHead  = is(table.OpPut, "session", "head")
	sends    = is(table.OpPut, "conv", "head")
	putRow   = is(table.OpPut, "conv", "o#")
	takes    = holding(putTurn, `"closed_by"`)
	none     = func(table.Op) bool { return false }
)

// mutants are the guards of the engine. Where two guard the same thing, both go: the fence's revision and that of the
// record that every end writes too, the inbound record and the turn that has its ID from it.
var mutants = []mutant{
	{"accept an update that was accepted", accepts, either(accepts, putTurn), none, 2},
	{"accept without a due mark", accepts, none, is(table.OpPut, "due", ""), 15},
	{"accept into a thread that was stopped meanwhile", accepts, none, is(table.OpCheck, "thread", "head"), 4},
	{"claim a turn that has begun", claims, either(is(table.OpDelete, "session", "q#"), putTurn), none, 16},
	{"claim under a fence that has moved", claims, putFence, none, 5},
	{"claim in a thread that was stopped meanwhile", claims, none, is(table.OpCheck, "thread", "head"), 259},
	{"claim without a due mark", claims, none, is(table.OpPut, "due", ""), 87},
	{"checkpoint under a fence that has moved", is(table.OpCheck, "session", "fence"), putHead, is(table.OpCheck, "session", "fence"), 21},
	{"take a message that was withdrawn meanwhile", takes, either(is(table.OpDelete, "session", "q#"), putTurn), none, 4},
	{"take a message under a fence that has moved", takes, putHead, is(table.OpCheck, "session", "fence"), 488},
	{"take a message of a thread that was stopped meanwhile", takes, none, is(table.OpCheck, "thread", "head"), 45},
	{"renew a lease that has gone", is(table.OpPut, "session", "lease"), is(table.OpPut, "session", "lease"), none, 5},
	{"end a turn under a fence that has moved", ends, either(putFence, putTurn), none, 5},
	{"end a turn and leave its lease", ends, none, is(table.OpDelete, "session", "lease"), 1},
	{"end a turn without a due mark for its reply", ends, none, is(table.OpPut, "due", ""), 139},
	{"bury a turn whose lease was renewed meanwhile", ends, is(table.OpDelete, "session", "lease"), none, 754},
	{"send what another is sending", sends, putRow, none, 55},
	{"send where another sends", sends, either(sends, putRow), none, 54},
}

func (m mutant) weaken(w table.Write, now func(table.Key) *table.Item) table.Write {
	if !slices.ContainsFunc(w.Ops, m.of) {
		return w
	}
	return m.apply(w, now)
}

func (m mutant) apply(w table.Write, now func(table.Key) *table.Item) table.Write {
	weak := table.Write{ID: w.ID}
	for _, op := range w.Ops {
		switch {
		case m.drops(op):
			continue
		case m.frees(op) && op.Kind == table.OpDelete:
			op = table.DeleteBlind(op.Key)
		case m.frees(op):
			var r table.Revision
			if item := now(op.Key); item != nil {
				r = item.Revision
			}
			op.If = table.AtOrAbsent(r)
		}
		weak.Ops = append(weak.Ops, op)
	}
	return weak
}

// TestMissingGuardsAreMissed takes one guard of the engine away at a time: a simulation that finds nothing wrong then
// would prove nothing.
func TestMissingGuardsAreMissed(t *testing.T) {
	if testing.Short() || *seed != 0 {
		t.Skip("it takes more than a thousand worlds")
	}
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, seed := range append([]uint64{m.found}, numbers(1, 1000)...) {
				if r := sim.Play(t, sim.Setup{Seed: seed, Weaken: m.weaken}); len(r.Violations) > 0 {
					t.Logf("seed %d: %s", seed, r.Violations[0])
					return
				}
			}
			t.Error("nothing went wrong in 1,000 worlds without this guard")
		})
	}
}
