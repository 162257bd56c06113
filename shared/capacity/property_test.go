package capacity_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/id"
)

// states draws any state that records can be in: slots above the permits, waiters whose session runs or waits twice.
func states() *rapid.Generator[capacity.State] {
	return rapid.Custom(func(t *rapid.T) capacity.State {
		s := capacity.State{Permits: rapid.IntRange(0, 5).Draw(t, "permits")}
		for _, number := range rapid.SliceOfNDistinct(rapid.IntRange(0, 7), 0, 6, rapid.ID).Draw(t, "slots") {
			s.Slots = append(s.Slots, capacity.Slot{Number: number, Session: id.Session(fmt.Sprint("running ", number))})
		}
		sessions := rapid.OneOf(
			rapid.StringMatching("running [0-7]"), rapid.StringMatching("waiting [a-f]"), rapid.StringMatching("waiting [a-z]{4}"),
		)
		for i := range rapid.IntRange(0, 40).Draw(t, "waiters") {
			s.Waiters = append(s.Waiters, draw(t, sessions, i))
		}
		return s
	})
}

func draw(t *rapid.T, sessions *rapid.Generator[string], i int) capacity.Waiter {
	return capacity.Waiter{
		Since: noon.Add(time.Duration(i) * time.Second), Turn: id.Turn(fmt.Sprint("turn ", i)),
		Session:    id.Session(sessions.Draw(t, "session")),
		Background: rapid.Bool().Draw(t, "background"),
	}
}

// newcomer draws a turn whose session neither runs nor waits in any drawn state.
func newcomer(t *rapid.T) capacity.Waiter {
	return capacity.Waiter{Turn: "new", Session: "new", Background: rapid.Bool().Draw(t, "background")}
}

func runs(s capacity.State, session id.Session) bool {
	return slices.ContainsFunc(s.Slots, func(slot capacity.Slot) bool { return slot.Session == session })
}

// counting is the waiters who count: the first of each session that doesn't run.
func counting(s capacity.State) []capacity.Waiter {
	var line []capacity.Waiter
	for i, w := range s.Waiters {
		first := !slices.ContainsFunc(s.Waiters[:i], func(o capacity.Waiter) bool { return o.Session == w.Session })
		if first && !runs(s, w.Session) {
			line = append(line, w)
		}
	}
	return line
}

func unused(s capacity.State, number int) bool {
	return number >= 0 && number < s.Permits &&
		!slices.ContainsFunc(s.Slots, func(slot capacity.Slot) bool { return slot.Number == number })
}

func TestNoMorePermitsAreGrantedThanAreFreeAndNoneTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		taken := map[int]bool{}
		for _, w := range counting(s) {
			a := s.Ask(w)
			if a.Verdict != capacity.Granted {
				continue
			}
			if taken[a.Slot] || !unused(s, a.Slot) {
				t.Fatalf("slot %d of %d is granted, which is not free", a.Slot, s.Permits)
			}
			taken[a.Slot] = true
		}
		if len(taken) > max(0, s.Permits-len(s.Slots)) {
			t.Fatalf("%d permits granted with %d of %d in use", len(taken), len(s.Slots), s.Permits)
		}
	})
}

func TestNextIsThoseWhoAreGrantedOneWhenTheyAsk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		next := s.Next()
		for _, w := range counting(s) {
			named := len(next) > 0 && next[0] == w
			if named {
				next = next[1:]
			}
			if got := s.Ask(w); named != (got.Verdict == capacity.Granted) {
				t.Fatalf("%s is told %v; among the next: %v", w.Turn, got, named)
			}
		}
		if len(next) > 0 {
			t.Fatalf("named out of order, or without counting: %v", next)
		}
	})
}

// Whether a turn has joined the line already makes no difference to whether it may start. Which of the slots that are
// left it takes is its own choice as long as it has not joined.
func TestANewcomerIsServedAsTheLastInLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		me := newcomer(t)
		joined := s
		joined.Waiters = append(slices.Clip(s.Waiters), me)
		a, b := s.Ask(me), joined.Ask(me)
		if (a.Verdict == capacity.Granted) != (b.Verdict == capacity.Granted) || a.Spare != b.Spare {
			t.Fatalf("a newcomer is told %+v, once it has joined %+v", a, b)
		}
		if a.Verdict != capacity.Granted {
			return
		}
		kept := slices.ContainsFunc(counting(s), func(w capacity.Waiter) bool { return joined.Ask(w).Slot == a.Slot })
		if kept || !unused(s, a.Slot) || a.Slot == a.Spare {
			t.Fatalf("a newcomer is told %+v, which is not free for it", a)
		}
	})
}

// All of them see the same slots free: if they reached for the same one, all but one would come in vain.
func TestNewcomersOfOneMomentReachForDifferentSlots(t *testing.T) {
	t.Parallel()
	const newcomers, permits = 64, 1000
	slots := map[int]bool{}
	for i := range newcomers {
		me := capacity.Waiter{Turn: id.Turn(id.From("turn", fmt.Sprint(i))), Session: id.Session(fmt.Sprint(i))}
		slots[capacity.State{Permits: permits}.Ask(me).Slot] = true
	}
	if len(slots) < newcomers*9/10 {
		t.Errorf("%d newcomers reach for %d slots of %d", newcomers, len(slots), permits)
	}
}

func TestNobodyOvertakesAnEarlierWaiterOfTheSameKind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		left := map[bool]id.Turn{} // the first of each kind who was not granted a permit
		for _, w := range counting(s) {
			switch ahead, one := left[w.Background]; {
			case s.Ask(w).Verdict != capacity.Granted && !one:
				left[w.Background] = w.Turn
			case s.Ask(w).Verdict == capacity.Granted && one:
				t.Fatalf("%s may start while %s, ahead of it, waits", w.Turn, ahead)
			}
		}
	})
}

func TestBackgroundAlwaysLeavesOnePermitFree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := states().Filter(func(s capacity.State) bool { return s.Permits > 1 }).Draw(t, "state")
		inUse := len(s.Slots)
		for _, w := range counting(s) {
			a := s.Ask(w)
			if a.Verdict != capacity.Granted {
				continue
			}
			inUse++
			if w.Background && (inUse >= s.Permits || a.Spare == a.Slot || !unused(s, a.Spare)) {
				t.Fatalf("%s takes %+v, the %d. of %d", w.Turn, a, inUse, s.Permits)
			}
			if !w.Background && a.Spare != -1 {
				t.Fatalf("%s, which an owner started, spares %d", w.Turn, a.Spare)
			}
		}
	})
}

func TestTheFirstOwnersTurnStartsWheneverAPermitIsFree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		line := append(counting(s), capacity.Waiter{Turn: "new", Session: "new"})
		first := line[slices.IndexFunc(line, func(w capacity.Waiter) bool { return !w.Background })]
		if want, got := len(s.Slots) < s.Permits, s.Ask(first).Verdict == capacity.Granted; got != want {
			t.Fatalf("%d of %d permits in use; the first owner's turn may start: %v", len(s.Slots), s.Permits, got)
		}
	})
}

func TestAnOwnersTurnGetsWhatThoseAheadLeave(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		free := s.Permits - len(s.Slots)
		for _, w := range counting(s) {
			got := s.Ask(w).Verdict == capacity.Granted
			if !w.Background && got != (free > 0) {
				t.Fatalf("%s has %d permits left to it and may start: %v", w.Turn, free, got)
			}
			if got {
				free--
			}
		}
	})
}

func TestBackgroundThatWaitsChangesNothingForAnOwner(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		without := s
		without.Waiters = slices.DeleteFunc(counting(s), func(w capacity.Waiter) bool {
			return w.Background && s.Ask(w).Verdict != capacity.Granted
		})
		me := capacity.Waiter{Turn: "new", Session: "new"}
		if with, alone := s.Ask(me), without.Ask(me); with.Slot != alone.Slot {
			t.Fatalf("the owner's turn is told %+v with them, %+v without", with, alone)
		}
	})
}

func TestTheLineIsFullForNewcomersOnlyAndAtItsLimitOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		s.Waiters = append(s.Waiters, state(0, "", crowd(rapid.IntRange(20, 35).Draw(t, "crowd"))).Waiters...)
		for _, w := range s.Waiters {
			if s.Ask(w).Verdict == capacity.Full {
				t.Fatalf("%s waits already and is sent away", w.Turn)
			}
		}
		a := s.Ask(newcomer(t))
		if atLimit := len(counting(s)) >= capacity.MaxWaiting; a.Verdict != capacity.Granted && atLimit != (a.Verdict == capacity.Full) {
			t.Fatalf("%d wait; one more is told %v", len(counting(s)), a.Verdict)
		}
	})
}
