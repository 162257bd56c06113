package turn

import (
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

func TestARunningTurnTakesTheOldestMessagesOfItsOwnConversationUpToTheFirstThatMayNotJoin(t *testing.T) {
	t.Parallel()
	here := channel.Route{Connection: "telegram-1", Conversation: "7"}
	elsewhere := channel.Route{Connection: "web", Conversation: "t"}
	active := thread.Head{Status: thread.Active, Generation: 3}
	entry := func(route channel.Route, change func(*Entry)) Entry {
		e := Entry{Turn: Turn{ID: "u", Source: User, Route: route, Order: "6", Generation: 3}}
		if change != nil {
			change(&e)
		}
		return e
	}
	plain, other := entry(here, nil), entry(elsewhere, nil)
	many := make([]Entry, 40)
	for i := range many {
		many[i] = plain
	}
	for name, c := range map[string]struct {
		source Source
		head   thread.Head
		queued []Entry
		want   int
	}{
		"all of them":                   {User, active, []Entry{plain, plain}, 2},
		"up to another channel's":       {User, active, []Entry{plain, other, plain}, 1},
		"none behind another channel's": {User, active, []Entry{other, plain}, 0},
		"as many as one write takes":    {User, active, many, maxTake},
		"none that is no message":       {User, active, []Entry{entry(here, func(e *Entry) { e.Turn.Source = Resume })}, 0},
		"none from before a stop":       {User, active, []Entry{entry(here, func(e *Entry) { e.Turn.Generation = 2 })}, 0},
		"none that is to be a turn of its own": {
			User, active, []Entry{entry(here, func(e *Entry) { e.Turn.Apart = true }), plain}, 0,
		},
		"what was sent together, whatever comes apart": {
			User, active, []Entry{entry(here, func(e *Entry) { e.Turn.Apart, e.Turn.Group = true, "album" }), plain}, 2,
		},
		"none of another group that comes apart": {
			User, active, []Entry{entry(here, func(e *Entry) { e.Turn.Apart, e.Turn.Group = true, "another" })}, 0,
		},
		"none on an archived thread": {User, thread.Head{Status: thread.Archived}, []Entry{plain}, 0},
		"into a resumed turn":        {Resume, active, []Entry{plain}, 1},
		"into a task":                {Task, active, []Entry{plain}, 1},
		"none into a schedule's":     {Schedule, active, []Entry{plain}, 0},
		"none into an event's":       {Event, active, []Entry{plain}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running := Turn{ID: "running", Source: c.source, Route: here, Group: "album", Created: time.Unix(1, 0)}
			if got := len(Takeable(running, c.head, c.queued)); got != c.want {
				t.Errorf("takes %d, want %d", got, c.want)
			}
		})
	}
}
