// Package capacity bounds how many turns run at once: it says who gets one of the permits, who waits for one, and who is
// sent away.
//
// A running turn holds a numbered slot, below the number of permits, which its claim puts and its end deletes. A turn that
// finds none to take waits as a record. Whoever frees a slot, or takes a turn out of the line that will not start any more,
// then wakes those whom Next names.
//
// All decisions are made from a State that may be out of date by the time they are acted on. What keeps the number of
// running turns down is that a slot is put only where there is none, so the worst of an old State is a lost race, after
// which the loser loads again, or a wait. A turn that has just joined the line loads again as well: a slot may have been
// freed before anyone could see it wait.
//
// First come, first served, with one exception: a permit is kept for what an owner started. A turn of the background, of
// a schedule or an event, takes a permit only if another stays free, and while it waits for that, owner-started turns go
// past it. Where there is one permit only, nothing could stay free, and work of the background would never run; there it
// takes the permit when nothing owner-started waits.
//
// A session has one place in the line, its earliest, because it runs one turn at a time. While it runs one it has none.
//
// Records:
//
//	cap / slot#<number>           JSON of Slot; the number of at least three digits, from 000
//	cap / wait#<since>#<turn>     JSON of Waiter; microseconds since 1970, 16 digits
package capacity

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
)

// MaxWaiting is how many sessions may wait for a permit; one more is answered with Full.
const MaxWaiting = 32

// Slot is a permit in use.
type Slot struct {
	Number  int        `json:"-"` // from 0; at or above the permits if their number was lowered since
	Turn    id.Turn    `json:"turn"`
	Session id.Session `json:"session"`
	Epoch   int64      `json:"epoch"` // of the session's fence, under which the turn was claimed
}

// Waiter is a turn that waits for a permit.
type Waiter struct {
	Since      time.Time  `json:"-"` // stored to the microsecond
	Turn       id.Turn    `json:"-"`
	Session    id.Session `json:"session"`
	Thread     id.Thread  `json:"thread"`
	Background bool       `json:"background,omitempty"` // started by a schedule or an event, not by an owner
}

// State is who holds permits and who waits for one.
type State struct {
	Permits int      // how many turns may run at once
	Slots   []Slot   // in any order
	Waiters []Waiter // by Since, then by turn
}

// Verdict is what becomes of a turn that asks for a permit.
type Verdict uint8

// The verdicts.
const (
	Granted Verdict = iota + 1 // it may start, in the slot of the answer
	Wait                       // it waits, and is woken when it may start
	Full                       // as many wait as may: it is not to wait
)

func (v Verdict) String() string {
	switch v {
	case Granted:
		return "granted"
	case Wait:
		return "wait"
	case Full:
		return "full"
	}
	return "unknown"
}

// Answer is what a turn that asks for a permit is told.
type Answer struct {
	Verdict Verdict
	Slot    int // the slot to take, with Granted; else -1
	Spare   int // another slot, which must be free when the first is taken; -1 if none must
}

// Ask says what becomes of a turn that could start now if it had a permit. It keeps its session's place if it has one
// already, with whatever time; else it comes last. The turns ahead of it that may start now keep a slot each, in the
// order of numbers, so that they and it don't reach for the same one when all of them are woken at once; a turn that
// comes last takes any of the others.
//
// Full is for those only who don't wait yet. A turn whose session runs another is told to wait, whatever is free.
func (s State) Ask(me Waiter) Answer {
	if s.running()[me.Session] {
		return Answer{Verdict: Wait, Slot: -1, Spare: -1}
	}
	line := s.line()
	place := slices.IndexFunc(line, func(w Waiter) bool { return w.Session == me.Session })
	isNew := place < 0
	if isNew {
		place, line = len(line), append(line, me)
	}
	line[place] = me
	answer := s.serve(line)[place]
	switch {
	case isNew && answer.Verdict == Granted:
		return s.apart(answer, me.Turn)
	case isNew && answer.Verdict == Wait && place >= MaxWaiting:
		answer.Verdict = Full
	}
	return answer
}

// apart gives a newcomer any of the slots that those ahead of it leave, chosen by its turn: newcomers of one moment see
// the same slots free, and if all of them reached for the first, all but one would have come in vain.
func (s State) apart(a Answer, me id.Turn) Answer {
	left := s.free()
	left = left[slices.Index(left, a.Slot):]
	if a.Spare >= 0 {
		left = left[:len(left)-1]
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(me)) // never fails
	a.Slot = left[int(hash.Sum32()>>1)%len(left)]
	return a
}

// Next returns the waiters who may start now, in order. Each of them, and no other waiter, is granted a slot of its own
// by Ask.
func (s State) Next() []Waiter {
	var next []Waiter
	line := s.line()
	for i, answer := range s.serve(line) {
		if answer.Verdict == Granted {
			next = append(next, line[i])
		}
	}
	return next
}

// serve answers everyone of a line, front first: Granted or Wait.
func (s State) serve(line []Waiter) []Answer {
	free := s.free()
	reserve := s.Permits > 1 || slices.ContainsFunc(line, func(w Waiter) bool { return !w.Background })
	answers := make([]Answer, len(line))
	for i, w := range line {
		answers[i] = choose(free, w.Background && reserve)
		if answers[i].Verdict == Granted {
			free = free[1:]
		}
	}
	return answers
}

// choose takes the first of the free slots, if another stays free where one must. The spare is the last, which those who
// come behind reach for last.
func choose(free []int, spare bool) Answer {
	switch {
	case spare && len(free) > 1:
		return Answer{Verdict: Granted, Slot: free[0], Spare: free[len(free)-1]}
	case !spare && len(free) > 0:
		return Answer{Verdict: Granted, Slot: free[0], Spare: -1}
	}
	return Answer{Verdict: Wait, Slot: -1, Spare: -1}
}

// line is the waiters who count, one for each session that doesn't run.
func (s State) line() []Waiter {
	seen := s.running()
	var line []Waiter
	for _, w := range s.Waiters {
		if !seen[w.Session] {
			seen[w.Session] = true
			line = append(line, w)
		}
	}
	return line
}

// running is the sessions that hold a permit.
func (s State) running() map[id.Session]bool {
	running := make(map[id.Session]bool, len(s.Slots))
	for _, slot := range s.Slots {
		running[slot.Session] = true
	}
	return running
}

// free is the numbers of the slots that may be taken, ascending. A slot above the permits, left from a time of more of
// them, counts as in use, so there may be fewer of these than numbers that nobody holds.
func (s State) free() []int {
	used := make(map[int]bool, len(s.Slots))
	for _, slot := range s.Slots {
		used[slot.Number] = true
	}
	var free []int
	for number := 0; number < s.Permits && len(free) < s.Permits-len(s.Slots); number++ {
		if !used[number] {
			free = append(free, number)
		}
	}
	return free
}
