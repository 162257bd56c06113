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
	// without is what goes missing that no condition stands for.
	without sim.Omission
}

func is(kind table.OpKind, space, sort string) func(table.Op) bool {
	return func(op table.Op) bool {
		partition, _, _ := strings.Cut(op.Key.Partition, "#")
		return op.Kind == kind && partition == space && strings.HasPrefix(op.Key.Sort, sort)
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
	resumes  = lacking(holding(putTurn, `"steps"`), `"ended"`)
	handover = holding(putFence, `"continuing"`)
	halts    = is(table.OpPut, "thread", "stop#")
	confirms = is(table.OpDelete, "thread", "wait#")
	slots    = is(table.OpPut, "cap", "slot#")
)

// mutants are the guards of the engine. Where two guard the same thing, both go: the fence's revision and that of the
// record that every end writes too, the inbound record and the turn that has its ID from it.
var mutants = []mutant{
	{"accept an update that was accepted", accepts, either(accepts, putTurn), none, 2, 0},
	{"accept without a due mark", accepts, none, is(table.OpPut, "due", ""), 12, 0},
	{"accept into a thread that was stopped meanwhile", accepts, none, is(table.OpCheck, "thread", "head"), 2, 0},
	{"claim a turn that has begun", claims, either(is(table.OpDelete, "session", "q#"), putTurn), none, 276, 0},
	{"claim under a fence that has moved", claims, putFence, none, 480, 0},
	{"claim in a thread that was stopped meanwhile", claims, none, is(table.OpCheck, "thread", "head"), 309, 0},
	{"claim without a due mark", claims, none, is(table.OpPut, "due", ""), 7, 0},
	{"checkpoint under a fence that has moved", is(table.OpCheck, "session", "fence"), putHead, is(table.OpCheck, "session", "fence"), 161, 0},
	{"take a message that was withdrawn meanwhile", takes, either(is(table.OpDelete, "session", "q#"), putTurn), none, 94, 0},
	{"take a message under a fence that has moved", takes, either(putHead, is(table.OpCheck, "session", "fence")), none, 34, 0},
	{"take a message of a thread that was stopped meanwhile", takes, none, is(table.OpCheck, "thread", "head"), 911, 0},
	{"renew a lease that has gone", is(table.OpPut, "session", "lease"), is(table.OpPut, "session", "lease"), none, 21, 0},
	{"end a turn under a fence that has moved", ends, either(putFence, putTurn), none, 15, 0},
	{"end a turn and leave its lease", ends, none, is(table.OpDelete, "session", "lease"), 1, 0},
	{"end a turn without a due mark for its reply", ends, none, is(table.OpPut, "due", ""), 76, 0},
	{"bury a turn whose lease was renewed meanwhile", ends, is(table.OpDelete, "session", "lease"), none, 166, 0},
	{"send what another is sending", sends, putRow, none, 40, 0},
	{"send where another sends", sends, either(sends, putRow), none, 40, 0},
	{"hand over a turn under a fence that has moved", handover, either(putFence, putTurn, putHead), none, 122, 0},
	{"hand over a turn without a due mark", handover, none, is(table.OpPut, "due", ""), 637, 0},
	{"go on with a turn that another goes on with", resumes, either(putFence, putTurn, is(table.OpPut, "session", "lease")), none, 469, 0},
	{"stop without a due mark", halts, none, is(table.OpPut, "due", ""), 63, 0},
	{"stop without raising the generation", halts, none, is(table.OpPut, "thread", "head"), 10, 0},
	{"answer a confirmation that was answered", confirms, confirms, none, 98, 0},
	{"take a permit that is in use", slots, slots, none, 136, 0},
	{"end a turn and keep its permit", ends, none, is(table.OpDelete, "cap", "slot#"), 4, 0},
	{"claim a turn and stay in the line for a permit", claims, none, is(table.OpDelete, "cap", "wait#"), 16, 0},
	{"leave the queue uncounted", is(table.OpDelete, "session", "q#"), none, is(table.OpAdd, "session", "depth"), 1, 0},
	{"join the line for a permit and not look again", none, none, none, 204, sim.SecondLook},
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
				if r := sim.Play(t, sim.Setup{Seed: seed, Weaken: m.weaken, Without: m.without}); len(r.Violations) > 0 {
					t.Logf("seed %d: %s", seed, r.Violations[0])
					return
				}
			}
			t.Error("nothing went wrong in 1,000 worlds without this guard")
		})
	}
}
