package thread_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/thread"
)

const (
	here  = "telegram-1:7"
	there = "web:t"
)

// stop is one of a whole thread, pressed at noon as the fifth message of its conversation.
func stop(generation int64) thread.Stop {
	return thread.Stop{Generation: generation, Conversation: here, Order: "5", Pressed: noon}
}

func TestAStopHitsWhatWasSentBeforeIt(t *testing.T) {
	t.Parallel()
	before, after := noon.Add(-time.Second), noon.Add(time.Second)
	session := thread.Stop{Session: "s", Conversation: here, Order: "5", Pressed: noon}
	all := thread.Stop{Generation: 4, Pressed: noon}
	for name, c := range map[string]struct {
		stop  thread.Stop
		place thread.Place
		want  bool
	}{
		"sent before it": {stop(4), thread.Place{Conversation: here, Order: "4", Generation: 3, Accepted: before}, true},
		"sent with it":   {stop(4), thread.Place{Conversation: here, Order: "5", Generation: 3, Accepted: before}, true},
		"sent after it":  {stop(4), thread.Place{Conversation: here, Order: "6", Generation: 3, Accepted: after}, false},
		"sent before it and accepted after its pressing": {stop(4), thread.Place{Conversation: here, Order: "4", Generation: 3, Accepted: after}, true},
		"sent after it and accepted first":               {stop(4), thread.Place{Conversation: here, Order: "6", Generation: 3, Accepted: before}, false},
		"sent before it and accepted by a thread that had been stopped": {
			stop(4), thread.Place{Conversation: here, Order: "4", Generation: 4, Accepted: before}, false,
		},
		"accepted after a later stop":              {stop(4), thread.Place{Conversation: here, Order: "4", Generation: 9, Accepted: before}, false},
		"elsewhere, accepted before":               {stop(4), thread.Place{Conversation: there, Order: "9", Generation: 3, Accepted: before}, true},
		"elsewhere, accepted as it was pressed":    {stop(4), thread.Place{Conversation: there, Order: "9", Generation: 3, Accepted: noon}, true},
		"elsewhere, accepted after":                {stop(4), thread.Place{Conversation: there, Order: "1", Generation: 3, Accepted: after}, false},
		"whatever its session":                     {stop(4), thread.Place{Session: "x", Conversation: here, Order: "4", Generation: 3}, true},
		"of a session, in it":                      {session, thread.Place{Session: "s", Conversation: here, Order: "4", Generation: 7}, true},
		"of a session, in it and sent after":       {session, thread.Place{Session: "s", Conversation: here, Order: "6", Generation: 7}, false},
		"of a session, in another":                 {session, thread.Place{Session: "x", Conversation: here, Order: "4", Generation: 7}, false},
		"of a session, accepted elsewhere before":  {session, thread.Place{Session: "s", Conversation: there, Accepted: before}, true},
		"of a session, accepted elsewhere after":   {session, thread.Place{Session: "s", Conversation: there, Accepted: after}, false},
		"of everything, sent before":               {all, thread.Place{Conversation: here, Order: "4", Generation: 3, Accepted: before}, true},
		"of everything, accepted after":            {all, thread.Place{Conversation: here, Order: "9", Generation: 3, Accepted: after}, true},
		"of everything, by the next of its thread": {all, thread.Place{Conversation: here, Order: "9", Generation: 4, Accepted: after}, false},
	} {
		if got := c.stop.Hits(c.place); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestRaisingAHeadCountsTheStopAndLeavesTheOldHeadAlone(t *testing.T) {
	t.Parallel()
	old := thread.Head{ID: "t", Status: thread.Active, Generation: 3, Revision: "r", Stops: make([]thread.Stop, 1, 4)}
	a, raised := old.Raise(stop(0))
	b, _ := old.Raise(thread.Stop{Order: "7"})
	if a.Generation != 4 || raised.Generation != 4 || a.Revision != "r" || len(old.Stops) != 1 || old.Generation != 3 {
		t.Errorf("raised %+v by %+v, from %+v", a, raised, old)
	}
	if diff := cmp.Diff([]thread.Stop{{}, stop(4)}, a.Stops); diff != "" {
		t.Errorf("after another was raised from the same head (%+v): want (-), got (+):\n%s", b, diff)
	}
}

func TestAHeadRemembersTheLastStopsAndForgetsTheFirst(t *testing.T) {
	t.Parallel()
	head := thread.Head{Status: thread.Active}
	for i := range 20 {
		head, _ = head.Raise(thread.Stop{Conversation: here, Order: fmt.Sprintf("%02d", 2*i), Pressed: noon})
	}
	if n := len(head.Stops); n != 8 || head.Stops[0].Generation != 13 || head.Stops[n-1].Generation != 20 || head.Generation != 20 {
		t.Errorf("the head is %+v", head)
	}
}

func TestWhatMayNotRunAnyMore(t *testing.T) {
	t.Parallel()
	active := thread.Head{Status: thread.Active}
	twice, _ := active.Raise(stop(0))
	twice, _ = twice.Raise(thread.Stop{Conversation: here, Order: "8", Pressed: noon.Add(time.Minute)})
	// Of its stops 1 to 12 nothing is remembered: what was accepted before the twelfth may have been sent before it.
	many := active
	for range 20 {
		many, _ = many.Raise(stop(0))
	}
	unwritten := thread.Head{Status: thread.Active, Generation: 1}
	archived := many
	archived.Status = thread.Archived
	late := noon.Add(time.Hour)
	place := func(generation int64, conversation, order string) thread.Place {
		return thread.Place{Conversation: conversation, Order: order, Generation: generation, Accepted: late}
	}
	for name, c := range map[string]struct {
		head  thread.Head
		place thread.Place
		want  bool
	}{
		"on a thread that was never stopped":         {active, place(0, here, "1"), false},
		"sent before both":                           {twice, place(0, here, "4"), true},
		"sent between them, accepted before both":    {twice, place(0, here, "7"), true},
		"sent between them, accepted between them":   {twice, place(1, here, "7"), true},
		"sent after both, accepted before both":      {twice, place(0, here, "9"), false},
		"sent before the first, accepted between":    {twice, place(1, here, "4"), true},
		"sent before both, accepted after them":      {twice, place(2, here, "4"), false},
		"elsewhere, accepted before their clock":     {twice, thread.Place{Conversation: there, Accepted: noon}, true},
		"elsewhere, accepted after their clock":      {twice, place(0, there, "0"), false},
		"on a thread that is archived":               {archived, place(20, here, "9"), true},
		"accepted before stops that are forgotten":   {many, place(11, here, "9"), true},
		"accepted after the last that is forgotten":  {many, place(12, here, "9"), false},
		"sent before those that are remembered":      {many, place(12, here, "1"), true},
		"stopped by one that nobody wrote down":      {unwritten, place(0, here, "9"), true},
		"accepted since one that nobody wrote down":  {unwritten, place(1, here, "9"), false},
		"of no status, which is no thread's":         {thread.Head{}, place(0, here, "9"), true},
		"accepted by a thread that is stopped later": {many, place(20, here, "1"), false},
	} {
		if got := c.head.Stopped(c.place); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestWhatStandsTogetherWasSentBeforeAStopIfAllOfItWas(t *testing.T) {
	t.Parallel()
	before, after := noon.Add(-time.Second), noon.Add(time.Second)
	old := thread.Place{Session: "s", Conversation: here, Order: "4", Generation: 3, Accepted: before}
	for name, c := range map[string]struct {
		place thread.Place
		want  bool
	}{
		"both before":        {thread.Place{Session: "s", Conversation: here, Order: "3", Generation: 3, Accepted: before}, true},
		"one after":          {thread.Place{Session: "s", Conversation: here, Order: "6", Generation: 3, Accepted: before}, false},
		"one of a later day": {thread.Place{Session: "s", Conversation: here, Order: "3", Generation: 4, Accepted: before}, false},
	} {
		for _, together := range []thread.Place{old.With(c.place), c.place.With(old)} {
			if got := stop(4).Hits(together); got != c.want {
				t.Errorf("%s: got %v, want %v, of %+v", name, got, c.want, together)
			}
		}
	}
	late := old
	late.Accepted = after
	elsewhere := thread.Stop{Generation: 4, Conversation: there, Pressed: noon}
	if !elsewhere.Hits(old.With(old)) || elsewhere.Hits(old.With(late)) || elsewhere.Hits(late.With(old)) {
		t.Error("a stop pressed elsewhere is measured against another clock than the latest")
	}
}
