package turn

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// RestTerm is how long a conversation's own session may be idle before it is dropped.
const RestTerm = 7 * 24 * time.Hour

// ErrRuns means that a session can't be dropped because a turn of it runs.
var ErrRuns = errors.New("a turn runs in the session")

// ConversationSession is the session that a conversation of a thread has to itself.
func ConversationSession(in id.Thread, route channel.Route) id.Session {
	return id.Session(id.From("session", string(in), route.Key()))
}

// conversational reports whether the turn's session is its conversation's own.
func (t Turn) conversational() bool { return t.Session == ConversationSession(t.Thread, t.Route) }

// restMark is the due mark of a conversation's own session, put by the first claim in it since it was dropped.
func restMark(t Turn, at time.Time) due.Mark {
	return due.Mark{At: at, Kind: due.Rest, Subject: string(t.Session), Session: t.Session, Thread: t.Thread}
}

// Drop lists the operations that make a session forget: its transcript, its failures, what it waits for. The epoch moves
// on, so that nothing late lands in what begins then. There are none if the session has never run. The error is ErrRuns,
// or the table's.
func (d *Desk) Drop(ctx context.Context, in id.Thread, session id.Session, now time.Time) ([]table.Op, error) {
	fence, err := d.fence(ctx, session)
	switch {
	case err != nil:
		return nil, err
	case fence.Turn != "":
		return nil, ErrRuns
	case fence.Revision == "":
		return nil, nil
	}
	h, err := d.head(ctx, session)
	if err != nil {
		return nil, err
	}
	return d.drop(ctx, in, session, fence, h, now)
}

func (d *Desk) drop(ctx context.Context, in id.Thread, session id.Session, f Fence, h Head, now time.Time) ([]table.Op, error) {
	ops := []table.Op{
		Fence{Epoch: f.Epoch + 1, Rests: f.Rests}.put(session, table.At(f.Revision)),
		Head{Thread: in, Told: h.Told, Conversation: h.Conversation, Route: h.Route, Revision: h.Revision}.put(session),
	}
	open, err := wait.Open(ctx, d.Table, in, session)
	if err != nil {
		return nil, err
	}
	for _, w := range open {
		t, revision, err := d.turn(ctx, w.Turn)
		if err != nil {
			return nil, err
		}
		released, err := release(w, *t, revision, now)
		if err != nil {
			return nil, err
		}
		ops = append(ops, released...)
	}
	return ops, nil
}

// Expire closes the wait of a turn whose term has passed, if it is open, cancels that turn, and returns zero, or when to
// look again. ErrRaced means that it is being closed.
func (d *Desk) Expire(ctx context.Context, in id.Thread, session id.Session, waiting id.Turn, now time.Time) (time.Time, error) {
	w, err := wait.Find(ctx, d.Table, in, session, waiting)
	switch {
	case err != nil || w == nil:
		return time.Time{}, err
	case now.Before(w.Expires()):
		return w.Expires(), nil
	}
	t, revision, err := d.turn(ctx, waiting)
	if err != nil {
		return time.Time{}, err
	}
	ops, err := release(*w, *t, revision, now)
	if err != nil {
		return time.Time{}, err
	}
	return time.Time{}, d.apply(ctx, d.write(now, ops), "closing what was not answered")
}

// Rest drops a conversation's session that has been idle for RestTerm, and returns zero, or when to look again. ErrRaced
// means that it is not idle.
func (d *Desk) Rest(ctx context.Context, in id.Thread, session id.Session, now time.Time) (time.Time, error) {
	fence, err := d.fence(ctx, session)
	if err != nil || fence.Revision == "" {
		return time.Time{}, err
	}
	h, err := d.head(ctx, session)
	switch until := h.Ended.Add(RestTerm); {
	case err != nil:
		return time.Time{}, err
	case fence.Turn != "":
		return now.Add(RestTerm), nil
	case now.Before(until):
		return until, nil
	}
	fence.Rests = false
	ops, err := d.drop(ctx, in, session, fence, h, now)
	if err != nil {
		return time.Time{}, err
	}
	return time.Time{}, d.apply(ctx, d.write(now, ops), "dropping an idle session")
}
