package capacity_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

// world is turns that ask, wait, run and end over a table, each acting on what it loaded some time ago.
type world struct {
	*rapid.T
	table   tabletest.Fake
	permits int
	writes  int
	turns   int
	views   map[id.Turn]view // of those who are about to act on what they loaded
}

type view struct {
	me   capacity.Waiter
	seen capacity.State
}

func (w *world) load() capacity.State {
	s, err := capacity.Load(context.Background(), &w.table, w.permits)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// write reports whether the conditions held.
func (w *world) write(ops ...table.Op) bool {
	w.writes++
	err := w.table.Write(context.Background(), table.Write{ID: fmt.Sprint("w", w.writes), Ops: ops})
	if _, lost := errors.AsType[*table.ConditionError](err); !lost && err != nil {
		w.Fatal(err)
	}
	return err == nil
}

// look is the first half of asking: the turn loads.
func (w *world) look(me capacity.Waiter) { w.views[me.Turn] = view{me, w.load()} }

// act is the second half: the turn does what it is told on the grounds of what it loaded. Whoever loses a race, or has
// just begun to wait, looks again.
func (w *world) act(turn id.Turn) {
	v := w.views[turn]
	delete(w.views, turn)
	switch a := v.seen.Ask(v.me); a.Verdict {
	case capacity.Granted:
		if !w.claim(v.me, a) {
			w.look(v.me)
		}
	case capacity.Wait:
		if !slices.Contains(v.seen.Waiters, v.me) && w.write(v.me.Join()) {
			w.look(v.me)
		}
	case capacity.Full:
	}
}

func (w *world) claim(me capacity.Waiter, a capacity.Answer) bool {
	slot := capacity.Slot{Number: a.Slot, Turn: me.Turn, Session: me.Session, Epoch: 1}
	ops := []table.Op{slot.Take(), me.Leave()}
	if a.Spare >= 0 {
		ops = append(ops, capacity.Spare(a.Spare))
	}
	claimed := w.write(ops...)
	if inUse := len(w.load().Slots); claimed && me.Background && w.permits > 1 && inUse == w.permits {
		w.Fatalf("%s of the background took the last of %d permits", me.Turn, w.permits)
	}
	return claimed
}

func (w *world) arrive() {
	w.turns++
	name := fmt.Sprintf("%04d", w.turns)
	w.look(capacity.Waiter{
		Since: noon.Add(time.Duration(w.turns) * time.Second), Turn: id.Turn(name), Session: id.Session(name),
		Background: rapid.Bool().Draw(w.T, "background"),
	})
}

// cancel ends a turn that waits.
func (w *world) cancel(waiter capacity.Waiter) {
	delete(w.views, waiter.Turn)
	w.write(waiter.Leave())
	w.wake()
}

// end ends a turn that runs.
func (w *world) end(slot capacity.Slot) {
	w.write(capacity.Free(slot.Number))
	w.wake()
}

func (w *world) wake() {
	for _, next := range w.load().Next() {
		w.look(next)
	}
}

// pick draws one of the turns that are about to act.
func (w *world) pick() id.Turn {
	var turns []id.Turn
	for turn := range w.views {
		turns = append(turns, turn)
	}
	slices.Sort(turns)
	return rapid.SampledFrom(turns).Draw(w.T, "turn")
}

// settle lets everybody act who is about to.
func (w *world) settle() {
	for len(w.views) > 0 {
		w.act(w.pick())
	}
}

func (w *world) check(*rapid.T) {
	if inUse := len(w.load().Slots); inUse > w.permits {
		w.Fatalf("%d turns run with %d permits", inUse, w.permits)
	}
}

func TestWhoeverWaitsIsServedInTheEndAndNeverTooManyAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t, permits: rapid.IntRange(1, 4).Draw(t, "permits"), views: map[id.Turn]view{}}
		t.Repeat(map[string]func(*rapid.T){
			"":       w.check,
			"arrive": func(*rapid.T) { w.arrive() },
			"act": func(t *rapid.T) {
				if len(w.views) == 0 {
					t.Skip("nobody is about to")
				}
				w.act(w.pick())
			},
			"end": func(t *rapid.T) {
				running := w.load().Slots
				if len(running) == 0 {
					t.Skip("nothing runs")
				}
				w.end(rapid.SampledFrom(running).Draw(t, "slot"))
			},
			"cancel": func(t *rapid.T) {
				waiting := w.load().Waiters
				if len(waiting) == 0 {
					t.Skip("nobody waits")
				}
				w.cancel(rapid.SampledFrom(waiting).Draw(t, "waiter"))
			},
		})
		// Whatever happened before, the ends of turns are enough to go on.
		for w.settle(); len(w.load().Slots) > 0; w.settle() {
			w.end(w.load().Slots[0])
			w.check(t)
		}
		if left := w.load().Waiters; len(left) > 0 {
			t.Fatalf("nothing runs, and %d wait for ever, first %s", len(left), left[0].Turn)
		}
	})
}
