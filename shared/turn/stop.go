package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// stopBatch is how many queued turns one write cancels.
const stopBatch = 15

// stopAttempts bounds how often what a stop has to end may change under it before it is left to the reaper.
const stopAttempts = 20

// firstStopLook is when the reaper asks whether a stop has been carried out.
const firstStopLook = 5 * time.Second

// Stop is a stop that has been pressed. Its record stands until it has been carried out; each write that ends something
// for it adds to its tally.
type Stop struct {
	thread.Stop
	ID     string        `json:"id"` // names it among the thread's
	Thread id.Thread     `json:"thread"`
	Route  channel.Route `json:"route,omitzero"` // where it is answered; the zero route is nowhere
	Raised time.Time     `json:"raised"`
	Tally  Tally         `json:"tally,omitzero"`

	Revision table.Revision `json:"-"`
}

// Tally is what a stop has ended.
type Tally struct {
	Queued   int          `json:"queued,omitempty"`   // turns that had not begun
	Running  int          `json:"running,omitempty"`  // turns that ran
	Waiting  int          `json:"waiting,omitempty"`  // turns that waited for the owner
	Work     Work         `json:"work,omitzero"`      // what those that ran had done, and had begun
	Ended    []id.Turn    `json:"ended,omitempty"`    // all of them
	Sessions []id.Session `json:"sessions,omitempty"` // whose they were
}

const stopPrefix = "stop#"

// Record is the sort key of the stop within its thread, as its mark names it.
func (s Stop) Record() string { return s.key().Sort }

func (s Stop) key() table.Key {
	return table.Key{Partition: thread.Partition(s.Thread), Sort: stopPrefix + s.ID}
}

func (s Stop) put(c table.Cond) table.Op { return table.Put(s.key(), table.Encode(s), c) }

func (s Stop) mark() due.Mark {
	return due.Mark{
		At: s.Raised.Add(firstStopLook), Kind: due.Stop, Subject: s.ID, Thread: s.Thread, Record: s.Record(),
	}
}

// Press lists the operations that begin the stop: its record, and the mark that has it carried out. A stop of a whole
// thread belongs into one write with the thread's head that it raised.
func (s Stop) Press() []table.Op { return []table.Op{s.put(table.Absent()), s.mark().Put()} }

// told reports whether somebody is to be told of what the stop has done.
func (s Stop) told() bool { return s.Route != (channel.Route{}) }

// Answered reports whether the stop's answer has to be sent: there is one, and storing it is not delivering.
func (s Stop) Answered() bool { return s.told() && !s.Route.Stored() }

// FindStop reads a stop by the sort key that its mark names; nil if it has been carried out.
func (d *Desk) FindStop(ctx context.Context, in id.Thread, record string) (*Stop, error) {
	item, err := d.Table.Get(ctx, table.Key{Partition: thread.Partition(in), Sort: record})
	if err != nil || item == nil {
		return nil, err
	}
	var s Stop
	s.Revision, err = table.Decode(item, &s)
	return &s, err
}

// Halt carries a stop out: in each session it hits it cancels what is queued, then the running turn; then what waits. It
// returns what the stop has ended, also before. Whoever crashes in between leaves the stop's record and its mark: the
// reaper goes on.
func (d *Desk) Halt(ctx context.Context, in id.Thread, record string) (*Stop, error) {
	for range stopAttempts {
		s, err := d.FindStop(ctx, in, record)
		if err != nil || s == nil {
			return nil, err
		}
		if err = d.halt(ctx, s); err == nil {
			return s, nil
		}
		if !errors.Is(err, ErrRaced) {
			return nil, fmt.Errorf("stopping thread %s: %w", in, err)
		}
	}
	return nil, fmt.Errorf("stopping thread %s: %w", in, ErrRaced)
}

func (d *Desk) halt(ctx context.Context, s *Stop) error {
	sessions, err := d.targets(ctx, *s)
	if err != nil {
		return err
	}
	for _, session := range sessions {
		if err := d.haltQueued(ctx, s, session); err != nil {
			return err
		}
		if err := d.haltRunning(ctx, s, session); err != nil {
			return err
		}
	}
	if err := d.haltWaiting(ctx, s); err != nil {
		return err
	}
	return d.settle(ctx, s)
}

// targets are the sessions in which the stop may have something to end: the chat's, its conversation's, those that run,
// and those that wait for a permit. What has just been queued in another has its wake-up, and whoever gets that cancels it.
func (d *Desk) targets(ctx context.Context, s Stop) ([]id.Session, error) {
	if s.Session != "" {
		return []id.Session{s.Session}, nil
	}
	all := []id.Session{id.Session(s.Thread), ConversationSession(s.Thread, s.Route)}
	var running []id.Session
	var room capacity.State
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		running, err = thread.Running(reading, d.Table, s.Thread)
		return err
	})
	group.Go(func() (err error) {
		room, err = capacity.Load(reading, d.Table, d.Permits)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, w := range room.Waiters {
		if w.Thread == s.Thread {
			running = append(running, w.Session)
		}
	}
	for _, session := range running {
		if !slices.Contains(all, session) {
			all = append(all, session)
		}
	}
	return all, nil
}

func (d *Desk) haltQueued(ctx context.Context, s *Stop, session id.Session) error {
	queued, err := d.Queued(ctx, session, 0)
	if err != nil {
		return err
	}
	hit := slices.DeleteFunc(queued, func(e Entry) bool { return !s.Hits(e.Turn.place()) })
	for batch := range slices.Chunk(hit, stopBatch) {
		now := time.Now()
		err := d.ends(ctx, s, session, Cancel(now, batch...), func(t *Tally) {
			t.Queued += len(batch)
			for _, e := range batch {
				t.Ended = append(t.Ended, e.Turn.ID)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Desk) haltRunning(ctx context.Context, s *Stop, session id.Session) error {
	fence, err := d.fence(ctx, session)
	if err != nil || fence.Turn == "" {
		return err
	}
	h, err := d.held(ctx, session, fence)
	if err != nil || !s.Hits(h.newest()) {
		return err
	}
	ops, err := End(h, Ending{Status: Cancelled, At: time.Now()})
	if err != nil {
		return err
	}
	return d.ends(ctx, s, session, ops, func(t *Tally) {
		t.Running++
		t.Ended = append(t.Ended, h.Turn.ID)
		t.Work = t.Work.add(h.Head.Work.of(h.Turn.ID))
	})
}

// newest is where the running turn stands with all the messages that it took.
func (h Held) newest() thread.Place {
	if taken := h.Head.Taken; taken != nil && taken.By == h.Turn.ID {
		return taken.Place
	}
	return h.Turn.place()
}

// haltWaiting cancels the turns that wait for the owner.
func (d *Desk) haltWaiting(ctx context.Context, s *Stop) error {
	open, err := wait.Open(ctx, d.Table, s.Thread, s.Session)
	if err != nil {
		return err
	}
	for _, w := range open {
		if !s.Hits(w.Place) {
			continue
		}
		t, revision, err := d.turn(ctx, w.Turn)
		if err != nil {
			return err
		}
		ops, err := release(w, *t, revision, time.Now())
		if err != nil {
			return err
		}
		if err := d.ends(ctx, s, w.Session, ops, func(t *Tally) {
			t.Waiting++
			t.Ended = append(t.Ended, w.Turn)
		}); err != nil {
			return err
		}
	}
	return nil
}

// release lists the operations that cancel a waiting turn and close what it waits for. ErrRaced means that somebody has
// done so since the wait was read.
func release(w wait.Wait, t Turn, revision table.Revision, now time.Time) ([]table.Op, error) {
	if t.Status != Waiting {
		return nil, fault.As(fault.Retry, fmt.Errorf("cancelling a %s turn: %w", t.Status, ErrRaced))
	}
	t.Status, t.Ended = Cancelled, now
	return append(w.Close(), t.Put(table.At(revision))), nil
}

// ends makes one write of the stop, and counts it.
func (d *Desk) ends(ctx context.Context, s *Stop, session id.Session, ops []table.Op, count func(*Tally)) error {
	next := *s
	next.Tally.Ended, next.Tally.Sessions = slices.Clone(next.Tally.Ended), slices.Clone(next.Tally.Sessions)
	if !slices.Contains(next.Tally.Sessions, session) {
		next.Tally.Sessions = append(next.Tally.Sessions, session)
	}
	count(&next.Tally)
	w := d.write(time.Now(), append(ops, next.put(table.At(s.Revision))))
	if err := d.apply(ctx, w, "ending what was stopped"); err != nil {
		return err
	}
	next.Revision = w.Revision()
	*s = next
	return nil
}

// settle ends the stop and answers it.
func (d *Desk) settle(ctx context.Context, s *Stop) error {
	now := time.Now()
	ops := []table.Op{table.Delete(s.key(), table.At(s.Revision)), s.mark().Settle()}
	if s.told() {
		ops = append(ops, outbox.Enqueue(outbox.Row{Thread: s.Thread, Route: s.Route}, s.answer(now))...)
	}
	return d.apply(ctx, d.write(now, ops), "answering a stop")
}
