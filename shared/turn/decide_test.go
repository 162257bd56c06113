package turn

import (
	"fmt"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

var noon = time.UnixMilli(1_900_000_000_000).UTC()

func TestDecide(t *testing.T) {
	t.Parallel()
	active := thread.Head{Status: thread.Active, Generation: 2}
	queued := &Entry{Turn: Turn{Generation: 2}}
	running := Fence{Epoch: 5, Turn: "u"}
	handed := Fence{Epoch: 5, Turn: "u", Continuing: true}
	ready := func(in time.Duration) *Entry { return &Entry{Turn: Turn{Generation: 2}, Ready: noon.Add(in)} }
	lease := func(epoch int64, until time.Duration) *Lease { return &Lease{Epoch: epoch, Until: noon.Add(until)} }
	for name, tc := range map[string]struct {
		view View
		want Step
	}{
		"nothing at all":                        {View{Thread: active}, Idle},
		"nothing queued after a turn":           {View{Thread: active, Fence: Fence{Epoch: 5}}, Idle},
		"queued":                                {View{Thread: active, Next: queued}, Claim},
		"queued after a turn":                   {View{Thread: active, Fence: Fence{Epoch: 5}, Next: queued}, Claim},
		"queued, a lease left over":             {View{Thread: active, Next: queued, Lease: lease(5, time.Hour)}, Claim},
		"queued before the stop":                {View{Thread: active, Next: &Entry{Turn: Turn{Generation: 1}}}, Strike},
		"queued on an archived thread":          {View{Thread: thread.Head{Status: thread.Archived, Generation: 2}, Next: queued}, Strike},
		"nothing queued on an archived thread":  {View{Thread: thread.Head{Status: thread.Archived}}, Idle},
		"running and alive":                     {View{Thread: active, Fence: running, Next: queued, Lease: lease(5, time.Millisecond)}, Busy},
		"running and alive, stopped":            {View{Thread: active, Fence: running, Next: &Entry{}, Lease: lease(5, 1)}, Busy},
		"running, the lease just over":          {View{Thread: active, Fence: running, Next: queued, Lease: lease(5, 0)}, Bury},
		"running, the lease over, none queued":  {View{Thread: active, Fence: running, Lease: lease(5, -time.Hour)}, Bury},
		"running without a lease":               {View{Thread: active, Fence: running, Next: queued}, Bury},
		"running, the lease of an older epoch":  {View{Thread: active, Fence: running, Lease: lease(4, time.Hour)}, Bury},
		"running and dead, thread archived":     {View{Thread: thread.Head{Status: thread.Archived}, Fence: running, Next: queued}, Bury},
		"running and alive, nothing is queued ": {View{Thread: active, Fence: running, Lease: lease(5, time.Second)}, Busy},
		"handed over":                           {View{Thread: active, Fence: handed}, Continue},
		"handed over, more is queued":           {View{Thread: active, Fence: handed, Next: queued}, Continue},
		"handed over, a lease left over":        {View{Thread: active, Fence: handed, Lease: lease(4, time.Hour)}, Continue},
		"more may join it":                      {View{Thread: active, Next: ready(time.Millisecond)}, Gather},
		"no more may join it":                   {View{Thread: active, Next: ready(0)}, Claim},
		"more might join it, had it not been stopped": {
			View{Thread: active, Next: &Entry{Turn: Turn{Generation: 1}, Ready: noon.Add(time.Second)}}, Strike,
		},
		"more may join it, no permit is free": {View{Thread: active, Next: ready(time.Second), Room: room(1, 1, 0)}, Gather},
		"handed over, no permit is free":      {View{Thread: active, Fence: handed, Room: room(1, 1, 0)}, Continue},
		"running and dead, no permit is free": {View{Thread: active, Fence: running, Room: room(1, 1, 0)}, Bury},
		"stopped, no permit is free":          {View{Thread: active, Next: &Entry{Turn: Turn{Generation: 1}}, Room: room(1, 1, 0)}, Strike},
	} {
		if got := Decide(tc.view, noon); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

// room is permits of which some are in use, and owners' turns that have waited for one since before noon.
func room(permits, used, waiting int) *capacity.State {
	s := &capacity.State{Permits: permits}
	for i := range used {
		s.Slots = append(s.Slots, capacity.Slot{Number: i, Session: id.Session(fmt.Sprint("running ", i))})
	}
	for i := range waiting {
		s.Waiters = append(s.Waiters, capacity.Waiter{
			Since: noon.Add(-time.Hour), Turn: id.Turn(fmt.Sprint(i)), Session: id.Session(fmt.Sprint("waiting ", i)),
		})
	}
	return s
}

func TestATurnThatMayRunGetsAPermitOrWaitsForOneOrIsSentAway(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		room       *capacity.State
		background bool
		joined     bool
		want       Step
	}{
		"no cap":                                        {nil, false, false, Claim},
		"no cap, in the background":                     {nil, true, false, Claim},
		"one is free":                                   {room(3, 2, 0), false, false, Claim},
		"the last is kept from the background":          {room(3, 2, 0), true, false, Join},
		"two are free, in the background":               {room(3, 1, 0), true, false, Claim},
		"none is free":                                  {room(3, 3, 0), false, false, Join},
		"none is free, in line already":                 {room(3, 3, 0), false, true, Hold},
		"one is free, and others were before":           {room(3, 2, 1), false, false, Join},
		"one is free for whom is in line":               {room(3, 2, 0), false, true, Claim},
		"one is free, in line behind others":            {room(3, 2, 1), false, true, Hold},
		"the line is full":                              {room(3, 3, capacity.MaxWaiting), false, false, Shed},
		"the line is full, and it stands in it":         {room(3, 3, capacity.MaxWaiting-1), false, true, Hold},
		"the line is full, and a permit for all behind": {room(40, 3, capacity.MaxWaiting), false, false, Claim},
		// Nobody is told of what nobody waits for, so it stays queued without a place.
		"the line is full, in the background": {room(3, 3, capacity.MaxWaiting), true, false, Hold},
		"in line, in the background":          {room(3, 2, 0), true, true, Hold},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := Entry{Turn: Turn{ID: "me", Session: "mine", Source: User}}
			if tc.background {
				e.Turn.Source = Schedule
			}
			if tc.joined {
				e.Joined = noon.Add(-time.Minute)
				w := e.waiter()
				tc.room.Waiters = append(tc.room.Waiters, w)
			}
			v := View{Thread: thread.Head{Status: thread.Active}, Next: &e, Room: tc.room}
			if got := Decide(v, noon); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestRemainingIsNeverNegative(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lease *Lease
		want  time.Duration
	}{{nil, 0}, {&Lease{Until: noon.Add(time.Second)}, time.Second}, {&Lease{Until: noon.Add(-time.Second)}, 0}, {&Lease{}, 0}} {
		if got := (View{Lease: tc.lease}).Remaining(noon); got != tc.want {
			t.Errorf("%+v: got %v, want %v", tc.lease, got, tc.want)
		}
	}
}
