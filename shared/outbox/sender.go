package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/pause"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

const (
	// sendTimeout bounds one call of a channel; holdTerm is how long a sender counts as alive after it began a part.
	sendTimeout = 30 * time.Second
	holdTerm    = 35 * time.Second
	// holdMargin is what a call of a channel leaves of the hold, for what follows; leastCall is the shortest time in which
	// a call is begun.
	holdMargin = 3 * time.Second
	leastCall  = 5 * time.Second
	// lookRows is how many rows are read together.
	lookRows = 4
	// maxRaces bounds how often a sender looks again because another changed what it saw; racePause is how long it waits
	// before that.
	maxRaces  = 20
	racePause = 20 * time.Millisecond
)

// Report counts what became of messages.
type Report struct {
	Sent, Repeated, Refused, Lost int
	Again                         time.Duration // there is more to send, not before this; 0 when there is not
}

// Sender sends what is in the outbox. It is safe for concurrent use.
type Sender struct {
	Table  table.Table
	IDs    *id.Source
	Holder string // names this process
	// Gone, if set, tells of a holder whether its process is known to have ended, so that what it was sending need not
	// wait for its time to run out.
	Gone func(holder string) bool
	// Channel finds the channel of a connection; false if this process can't send through it.
	Channel func(connection string) (channel.Channel, bool)
	// Changed, if set, is called after the delivery state of a message has changed, and with a notice of the outbox's own.
	Changed func(id.Thread, thread.Message)
}

// Flush sends the conversation's messages, oldest first, until none is left, the oldest has to wait, or another sender
// is found at it. A sender looks once more after letting go, so that a message stored meanwhile, whose own sender saw
// it at work, is not left to the reaper.
func (s *Sender) Flush(ctx context.Context, conversation string) (Report, error) {
	f := flush{Sender: s, conversation: conversation, token: s.IDs.New(time.Now())}
	for races := 0; ; {
		more, err := f.step(ctx)
		switch {
		case errors.Is(err, errRaced) && races < maxRaces: // someone else got on with it: look again
			races++
			pause.For(ctx, table.Spread(f.token, races, racePause))
		case err != nil:
			return f.report, fmt.Errorf("sending in %s: %w", conversation, err)
		case !more:
			return f.report, nil
		}
	}
}

// errRaced means that the records changed between look and act.
var errRaced = errors.New("the conversation changed meanwhile")

// flush is one sender at work in one conversation.
type flush struct {
	*Sender
	conversation string
	token        string // names this sender
	report       Report
}

// head says who is sending in a conversation.
type head struct {
	Holder string    `json:"holder"` // the process
	Token  string    `json:"token"`  // the sender in it
	Until  time.Time `json:"until"`

	revision table.Revision
}

func headKey(conversation string) table.Key {
	return table.Key{Partition: Partition(conversation), Sort: "head"}
}

// step looks and does the next thing. It reports whether to look again.
func (f *flush) step(ctx context.Context) (bool, error) {
	h, rows, err := f.look(ctx)
	if err != nil {
		return false, err
	}
	now := time.Now()
	if f.held(h, now) {
		if len(rows) > 0 {
			f.report.Again = h.Until.Sub(now) // should that sender have died
		}
		return false, nil
	}
	if len(rows) == 0 {
		return h.revision != "", f.release(ctx, h)
	}
	row, last := rows[0], len(rows) == 1
	switch decide(row, now) {
	case wait:
		f.report.Again = row.After.Sub(now)
		return false, f.release(ctx, h)
	case lost:
		f.report.Lost++
		return true, f.settle(ctx, h, row, last, end{thread.Lost, "It may or may not have arrived; the channel did not say.", true})
	case expire:
		f.report.Refused++
		return true, f.settle(ctx, h, row, last, end{thread.Refused, "It could not be sent within a day.", true})
	case send, resend:
	}
	ch, ok := f.Channel(row.Route.Connection)
	if !ok { // a start without the channel's settings must not cost what waits for it
		return false, f.putOff(ctx, h, row.putOff(setupPause, now))
	}
	return f.send(ctx, ch, h, row, last)
}

// putOff stores a row that has to wait and lets go of the conversation.
func (f *flush) putOff(ctx context.Context, h head, row Row) error {
	f.report.Again = time.Until(row.After)
	ops := []table.Op{row.put(table.At(row.Revision))}
	if h.revision != "" {
		ops = append(ops, table.Delete(headKey(f.conversation), table.At(h.revision)))
	}
	return f.apply(ctx, f.write(ops))
}

// held reports whether another sender, alive as far as one can know, is at it.
func (f *flush) held(h head, now time.Time) bool {
	if h.revision == "" || h.Token == f.token || !now.Before(h.Until) {
		return false
	}
	return f.Gone == nil || !f.Gone(h.Holder)
}

func (f *flush) look(ctx context.Context) (h head, rows []Row, err error) {
	page, err := f.Table.Scan(ctx, table.Query{Partition: Partition(f.conversation), Limit: lookRows})
	if err != nil {
		return h, nil, err
	}
	for i := range page.Items {
		item := &page.Items[i]
		if item.Key == headKey(f.conversation) {
			if h.revision, err = table.Decode(item, &h); err != nil {
				return h, nil, err
			}
			continue
		}
		row, err := readRow(item)
		if err != nil {
			return h, nil, err
		}
		rows = append(rows, row)
	}
	return h, rows, nil
}

// send sends the parts of the row that are not confirmed, each marked before and confirmed after. The confirmation of
// one part is the mark of the next. A part that has begun is finished even if the context ends: breaking off would leave
// in doubt what is known. The next one is left to whoever comes then.
func (f *flush) send(ctx context.Context, ch channel.Channel, h head, row Row, last bool) (bool, error) {
	firm := context.WithoutCancel(ctx)
	parts := ch.Render(row.Text)
	for begun := false; row.Part < len(parts); begun = true {
		if ctx.Err() != nil {
			return false, errors.Join(ctx.Err(), f.leave(firm, h, row, begun))
		}
		doubt := row.Sending > 0
		row = row.begin()
		h.Holder, h.Token, h.Until = f.Holder, f.token, time.Now().Add(holdTerm)
		w := f.write([]table.Op{
			row.put(table.At(row.Revision)),
			table.Put(headKey(f.conversation), table.Encode(h), table.AtOrAbsent(h.revision)),
		})
		if err := f.apply(firm, w); err != nil {
			return false, err
		}
		row.Revision, h.revision = w.Revision(), w.Revision()
		// A crash from here to the confirmation leaves a part that may have been sent: whoever finds it sends it once
		// more and says so.
		external, err := f.call(firm, ch, h, row, parts[row.Part], doubt)
		if err != nil {
			return f.failed(firm, h, row, last, err)
		}
		row = row.confirm(external)
	}
	e := end{state: thread.Sent}
	if row.Doubt {
		e.state = thread.Repeated
		f.report.Repeated++
	}
	f.report.Sent++
	return true, f.settle(firm, h, row, last || ctx.Err() != nil, e)
}

// leave lets go of the conversation between two parts, with the confirmation of the last one.
func (f *flush) leave(ctx context.Context, h head, row Row, begun bool) error {
	if !begun {
		return f.release(ctx, h)
	}
	return f.apply(ctx, f.write([]table.Op{
		row.put(table.At(row.Revision)),
		table.Delete(headKey(f.conversation), table.At(h.revision)),
	}))
}

// errLate means that a part was not sent because storing its mark took so long that others may take this sender for dead.
var errLate = fault.As(fault.Retry, errors.New("too little was left of the hold on the conversation"))

// call sends one part, after a line that says so if it may be a repeat. It ends before the hold does.
func (f *flush) call(ctx context.Context, ch channel.Channel, h head, row Row, part channel.Part, doubt bool) (string, error) {
	left := min(sendTimeout, time.Until(h.Until)-holdMargin)
	if left < leastCall {
		return "", errLate
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	to := row.Route
	if row.Part > 0 {
		to.ReplyTo = "" // the first part answers; the others follow it
	}
	if doubt {
		for _, line := range ch.Render(doubtLine) {
			if _, err := ch.Send(ctx, to, line); err != nil {
				return "", err
			}
		}
	}
	return ch.Send(ctx, to, part)
}

// failed acts on what the channel said of a part.
func (f *flush) failed(ctx context.Context, h head, row Row, last bool, err error) (bool, error) {
	switch v := fault.Of(err); v.Action {
	case fault.Retry:
		return false, f.putOff(ctx, h, row.postpone(v, time.Now()))
	case fault.GiveUp:
		if row.Sending > 1 {
			f.report.Lost++
			reason := "It may have arrived; sending it again was refused: " + err.Error()
			return true, f.settle(ctx, h, row, last, end{thread.Lost, reason, true})
		}
		f.report.Refused++
		return true, f.settle(ctx, h, row, last, end{state: thread.Refused, reason: err.Error()})
	case fault.Unknown:
		if row.Sending > 1 {
			return true, nil // the mark stands: the next look gives it up
		}
		return false, f.putOff(ctx, h, row.doubtful(time.Now()))
	case fault.Drop:
		return false, err
	}
	return false, err
}

// settle ends the row, and lets go of the conversation in the same write if nothing is sent after it: nobody comes back
// for a hold without a row.
func (f *flush) settle(ctx context.Context, h head, row Row, letGo bool, e end) error {
	row = row.born()
	ops := row.settle(e)
	more, notice := row.notify(e, time.Now())
	ops = append(ops, more...)
	if letGo && h.revision != "" {
		ops = append(ops, table.Delete(headKey(f.conversation), table.At(h.revision)))
	}
	if err := f.applyReplacing(ctx, ops); err != nil {
		return err
	}
	if f.Changed != nil && row.Thread != "" {
		f.Changed(row.Thread, row.told(e))
		if notice != nil {
			f.Changed(row.Thread, *notice)
		}
	}
	return nil
}

// applyReplacing writes the operations, in place of what references are there already. A store may name one at a time.
func (f *flush) applyReplacing(ctx context.Context, ops []table.Op) error {
	for range maxRefs + maxRaces {
		failed, err := table.Try(ctx, f.Table, f.write(ops))
		if failed == nil {
			return err
		}
		if !replaceRefs(ops, failed) {
			break
		}
	}
	return errRaced
}

// replaceRefs lets the write replace references that are there already, and reports whether they were all that failed.
// A channel should never give an ID twice; one that does must not keep a message from being settled.
func replaceRefs(ops []table.Op, failed *table.ConditionError) bool {
	for _, f := range failed.Failed {
		op := &ops[f.Index]
		if !strings.HasPrefix(op.Key.Partition, refPrefix) || f.Item == nil {
			return false
		}
		op.If = table.At(f.Item.Revision)
	}
	return true
}

// release lets go of the conversation, if anyone holds it.
func (f *flush) release(ctx context.Context, h head) error {
	if h.revision == "" {
		return nil
	}
	return f.apply(ctx, f.write([]table.Op{table.Delete(headKey(f.conversation), table.At(h.revision))}))
}

func (f *flush) write(ops []table.Op) table.Write {
	return table.Write{ID: f.IDs.New(time.Now()), Ops: ops}
}

func (f *flush) apply(ctx context.Context, w table.Write) error {
	failed, err := table.Try(ctx, f.Table, w)
	if failed != nil {
		return errRaced
	}
	return err
}
