package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// What an owner is told at once of a command.
const (
	notOpenReply   = "That is not open any more."
	startedReply   = "That has been started already: use Stop to end it."
	withdrawnReply = "That has been withdrawn."
	noMessageReply = "There is no such message."
	freshReply     = "Done: your next message begins a new conversation. Files stay as they are."
	runsReply      = "I am working on something here. Wait until it is done, or send /stop first."
)

// Stop ends all that runs, waits and is queued in the thread, if it was sent before the stop was pressed, at m.Sent. It
// returns when all of that has ended; if it can't, what has been stored will see to it. Each way the owner is told what
// was done, had not begun, or is unknown.
func (b *Inbox) Stop(ctx context.Context, now time.Time, m Message) (Receipt, error) {
	m = m.storable()
	s := turn.Stop{ID: stopID(m), Route: m.Route, Raised: now}
	r, _, err := b.write(ctx, now, m, func(p place) (draft, error) {
		return stop(m, p, &s, now), nil
	})
	switch {
	case err != nil:
		return Receipt{}, fmt.Errorf("stopping: %w", err)
	case r.Outcome == Stranger:
		return b.greet(ctx, now, m)
	}
	b.forget(m)
	// A crash here leaves the stop's due mark: the reaper carries it out.
	if err := b.halt(ctx, s); err != nil {
		return Receipt{}, err
	}
	b.deliver(ctx, m)
	if r.Outcome == Accepted {
		r.Outcome = Obeyed
	}
	return r, nil
}

func stopID(m Message) string { return id.From("stop", m.Route.Connection, m.Update) }

// stop drafts the stop s of the whole thread, and gives s its place there.
func stop(m Message, p place, s *turn.Stop, now time.Time) draft {
	head, raised := p.head.Raise(thread.Stop{
		Conversation: m.Route.Key(), Order: turn.Order(m.Sent, m.Sequence, 0), Pressed: pressed(m.Sent, now),
	})
	s.Stop, s.Thread = raised, p.head.ID
	ops := append([]table.Op{seenOp(m, "", now)}, s.Press()...)
	if m.Text != "" {
		ops = append(ops, ownerMessage(m, turn.Turn{}, now).Put(p.head.ID, table.Absent()))
	}
	put := head.Put()
	return draft{ops: ops, once: 1, head: &put}
}

// pressed is the latest that a stop may have been pressed. Some channels tell no more than the second.
func pressed(sent, now time.Time) time.Time {
	if sent.Nanosecond() == 0 {
		sent = sent.Add(time.Second - time.Microsecond)
	}
	if sent.After(now) {
		return now
	}
	return sent
}

// halt carries a stop out, and has what is left in the sessions it hit run.
func (b *Inbox) halt(ctx context.Context, s turn.Stop) error {
	done, err := b.desk().Halt(ctx, s.Thread, s.Record())
	if err != nil || done == nil {
		return err
	}
	if b.Ended != nil {
		b.Ended(s.Thread, done.Tally.Ended...)
	}
	for _, session := range done.Tally.Sessions {
		_ = b.Queue.Send(ctx, wake.Session(session, s.Thread).Message(s.ID)) // what is queued has its due mark
	}
	return nil
}

// Cancel withdraws a queued message of the owner's, whose turn then never runs. Of one that can't be withdrawn any more the
// receipt says why, and of a stranger's command only that it is one.
func (b *Inbox) Cancel(ctx context.Context, now time.Time, m Message, t id.Turn) (Receipt, error) {
	r, d, err := b.write(ctx, now, m, func(p place) (draft, error) {
		found, e, err := b.desk().Find(ctx, t)
		switch {
		case err != nil:
			return draft{}, err
		case found == nil || found.Thread != p.head.ID:
			return draft{told: noMessageReply}, nil
		case found.Status == turn.Cancelled && found.ClosedBy == "":
			return draft{told: withdrawnReply}, nil
		case e == nil:
			return draft{told: startedReply}, nil
		}
		return draft{ops: append([]table.Op{seenOp(m, t, now)}, turn.Cancel(now, *e)...), once: 1, entry: *e}, nil
	})
	switch {
	case err != nil:
		return Receipt{}, fmt.Errorf("withdrawing a message: %w", err)
	case r.Outcome == Accepted:
		r.Outcome = Obeyed
		if b.Ended != nil {
			b.Ended(d.entry.Turn.Thread, t)
		}
	}
	return r, nil
}

// pressedText is what the owner has said by a button.
var pressedText = map[bool]string{true: "Yes", false: "No"}

// Answer gives the owner's yes or no to the confirmation with which a turn ended as waiting. Either makes the turn that
// goes on from there; with a yes, that makes the confirmed call, once.
func (b *Inbox) Answer(ctx context.Context, now time.Time, m Message, asked id.Turn, yes bool) (Receipt, error) {
	m = m.storable()
	if m.Text == "" { // a button was pressed
		m.Text = pressedText[yes]
	}
	return b.enqueue(ctx, now, m, "answering a confirmation", func(p place) (draft, error) {
		t, _, err := b.desk().Find(ctx, asked)
		if err != nil || t == nil || t.Thread != p.head.ID {
			return draft{told: notOpenReply}, err
		}
		w, err := wait.Find(ctx, b.Table, t.Thread, t.Session, asked)
		if err != nil || w == nil || w.Kind != wait.Confirmation {
			return draft{told: notOpenReply}, err
		}
		return answer(m, p, *w, yes, now), nil
	})
}

// answer drafts the resume turn that goes on from a confirmation, which closes in the same write.
func answer(m Message, p place, w wait.Wait, yes bool, now time.Time) draft {
	e := entry(m, p, w.Session, now)
	e.Turn.Source, e.Turn.Continues = turn.Resume, w.Turn
	e.Resume = &turn.Resumption{Yes: yes, Action: w.Action}
	d := drafted(m, e, now)
	d.ops = append(d.ops, w.Close()...)
	return d
}

// reset drops the conversation's session: its next message begins afresh.
func (b *Inbox) reset(ctx context.Context, now time.Time, m Message, rules Rules) (Receipt, error) {
	var reply string
	r, _, err := b.write(ctx, now, m, func(p place) (draft, error) {
		ops, err := b.desk().Drop(ctx, p.head.ID, chat(m, p, rules), now)
		reply = freshReply
		if errors.Is(err, turn.ErrRuns) {
			reply, err = runsReply, nil
		}
		d := told(m, p, m.Text, reply, now)
		d.ops = append(d.ops, ops...)
		return d, err
	})
	switch {
	case err != nil:
		return Receipt{}, fmt.Errorf("dropping a session: %w", err)
	case r.Outcome == Stranger:
		return b.greet(ctx, now, m)
	case r.Outcome == Accepted:
		r = Receipt{Outcome: Obeyed, Told: reply}
	}
	b.deliver(ctx, m)
	return r, nil
}

// Clear archives the thread, with all that runs and waits in it ended, and begins a new one. A crash after its one write
// leaves the stop's due mark, as one of Stop does.
func (b *Inbox) Clear(ctx context.Context, now time.Time, m Message) (Receipt, error) {
	s := turn.Stop{ID: stopID(m), Raised: now}
	next := id.Thread(b.IDs.New(now))
	r, _, err := b.write(ctx, now, m, func(p place) (draft, error) {
		archived, raised := p.head.Raise(thread.Stop{Pressed: now})
		archived.Status = thread.Archived
		s.Stop, s.Thread = raised, p.head.ID
		begin, err := b.Book.Begin(ctx, p.who.Owner, next)
		put := archived.Put()
		ops := slices.Concat([]table.Op{seenOp(m, "", now)}, s.Press(), begin)
		return draft{ops: ops, once: 1, head: &put}, err
	})
	if err != nil {
		return Receipt{}, fmt.Errorf("clearing the conversation: %w", err)
	}
	b.forget(m)
	if r.Outcome == Accepted {
		r.Outcome = Obeyed
		err = b.halt(ctx, s)
	}
	return r, err
}
