package turn_test

import (
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

var route = channel.Route{Connection: bot, Conversation: "7"}

// press has the owner stop the thread after all that was said so far.
func (w *world) press() turn.Stop {
	w.Helper()
	w.said++
	return w.pressAt(int64(w.said))
}

// pressAt is press of a stop that has this place in the conversation, whatever came before it.
func (w *world) pressAt(sequence int64) turn.Stop {
	w.Helper()
	head, err := thread.Load(w.Context(), w.store, w.in)
	w.must(err)
	head, raised := head.Raise(thread.Stop{Conversation: route.Key(), Order: turn.Order(noon, sequence, 0), Pressed: noon.Add(time.Minute)})
	s := turn.Stop{Stop: raised, ID: fmt.Sprint("stop ", sequence), Thread: w.in, Route: route, Raised: noon.Add(time.Minute)}
	w.write(append(s.Press(), head.Put())...)
	return s
}

// pressIn is a stop of one session.
func (w *world) pressIn(session id.Session) turn.Stop {
	w.Helper()
	w.said++
	s := turn.Stop{
		Stop: thread.Stop{
			Session: session, Conversation: route.Key(), Order: turn.Order(noon, int64(w.said), 0), Pressed: noon.Add(time.Minute),
		},
		ID: fmt.Sprint("stop ", w.said), Thread: w.in, Route: route, Raised: noon.Add(time.Minute),
	}
	w.write(s.Press()...)
	return s
}

func (w *world) write(ops ...table.Op) {
	w.Helper()
	w.must(w.store.Write(w.Context(), table.Write{ID: w.ids.New(noon), Ops: ops}))
}

func (w *world) halt(d *turn.Desk, s turn.Stop) *turn.Stop {
	w.Helper()
	done, err := d.Halt(w.Context(), s.Thread, s.Record())
	w.must(err)
	return done
}

// enqueue queues a turn that nobody said anything for, in any session.
func (w *world) enqueue(session id.Session, source turn.Source) turn.Entry {
	w.Helper()
	w.said++
	e := turn.Entry{
		Turn: turn.Turn{
			ID: id.Turn(fmt.Sprint("turn ", w.said)), Owner: "o", Thread: w.in, Session: session, Source: source, Status: turn.Queued,
			Route: route, Created: noon, Order: turn.Order(noon, int64(w.said), 0), Generation: w.generation(),
		},
		Text: fmt.Sprint("work ", w.said), WakeAt: noon.Add(10 * time.Second),
	}
	w.write(e.Enqueue()...)
	return e
}

func (w *world) generation() int64 {
	w.Helper()
	head, err := thread.Load(w.Context(), w.store, w.in)
	w.must(err)
	return head.Generation
}

// start claims the oldest queued turn of any session.
func (w *world) start(d *turn.Desk, session id.Session) *turn.Run {
	w.Helper()
	return w.startAt(d, session, noon)
}

func (w *world) startAt(d *turn.Desk, session id.Session, now time.Time) *turn.Run {
	w.Helper()
	v, err := d.Look(w.Context(), session, w.in)
	w.must(err)
	run, err := d.Claim(w.Context(), v, now)
	w.must(err)
	w.must(run.Open(w.Context(), w.blobs))
	return run
}

// ask has the session's next turn end as waiting.
func (w *world) ask(session id.Session, kind wait.Kind) id.Turn {
	w.Helper()
	w.enqueue(session, turn.User)
	run := w.start(w.a, session)
	w.must(run.End(w.Context(), waiting(kind)))
	return run.Turn().ID
}

func waiting(kind wait.Kind) turn.Ending {
	return turn.Ending{
		Status: turn.Waiting, At: noon.Add(time.Second), Text: "Well?", From: thread.Agent, Ask: &wait.Ask{Kind: kind, Text: "Well?"},
	}
}

// statuses are those of turns, in order.
func (w *world) statuses(turns ...id.Turn) (out []turn.Status) {
	w.Helper()
	for _, t := range turns {
		out = append(out, w.status(t).Status)
	}
	return out
}

const task = id.Session("task")
