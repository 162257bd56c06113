package turn

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// Run is a turn that this worker holds. All its methods but Renew and Mine are for one goroutine; Renew is for one other.
type Run struct {
	desk   *Desk
	entry  Entry
	thread thread.Head // as last read
	held   Held
	lease  Lease            // Renew's alone after the claim
	log    *transcript.Log  // after Open
	blobs  blob.Blob        // after Open
	ends   []table.Revision // of the ends that were tried
	waits  []wait.Wait      // of the session, that are open; after Open
	closed []table.Op       // that close what the next write of the turn is to close

	group     string // while only that is taken
	continued bool   // the turn was handed over to this worker
	begun     bool   // what the last turn asked for and got no answer to had been started
}

// Turn is the turn as it stands.
func (r *Run) Turn() Turn { return r.held.Turn }

// Input is the queued turn that was claimed, with what the owner said.
func (r *Run) Input() Entry { return r.entry }

// Continued reports whether the turn was handed over to this worker: what began it is in the transcript.
func (r *Run) Continued() bool { return r.continued }

// Begun reports whether the calls that the last turn left unanswered had been started. Valid after Open.
func (r *Run) Begun() bool { return r.begun }

// Admitted reports whether the turn has a permit to run. Without one it can only be ended.
func (r *Run) Admitted() bool { return r.desk.Permits == 0 || r.held.Turn.Slot != nil }

// Previous is how the session's last turns failed that no turn has seen, oldest first. Valid after Open.
func (r *Run) Previous() []*Failure {
	var all []*Failure
	for f := r.held.Head.Previous; f != nil; f = f.Earlier {
		all = append(all, f)
	}
	slices.Reverse(all)
	return all
}

// Log is the session's transcript. Valid after Open.
func (r *Run) Log() *transcript.Log { return r.log }

// Open reads the session's head and its transcript. Errors wrap transcript.ErrCorrupt or the stores'.
func (r *Run) Open(ctx context.Context, blobs blob.Blob) error {
	t := r.held.Turn
	head, err := r.desk.head(ctx, t.Session)
	if err != nil {
		return err
	}
	r.held.Head, r.blobs = head, blobs
	r.begun = head.Work != nil && len(head.Work.Open) > 0
	work := head.Work.of(t.ID)
	r.held.Head.Work = &work
	if t.conversational() {
		r.held.Head.Route = &t.Route
	}
	if err := r.openWaits(ctx); err != nil {
		return err
	}
	r.log, err = transcript.Load(ctx, blobs, t.Session, head.Manifest)
	return err
}

// Closes reports whether the turn's next write closes what the session waited for. Valid after Open.
func (r *Run) Closes() bool { return len(r.closed) > 0 }

// openWaits reads what the session waits for, and closes what a newer turn closes.
func (r *Run) openWaits(ctx context.Context) error {
	t, named := r.held.Turn, r.held.Head.Waits
	r.held.Head.Waits = nil
	for _, waiting := range named {
		w, err := wait.Find(ctx, r.desk.Table, t.Thread, t.Session, waiting)
		switch {
		case err != nil:
			return err
		case w == nil:
		case w.Kind.Closes(t.Source == User):
			r.closed = append(r.closed, w.Drop()...)
		default:
			r.waits = append(r.waits, *w)
			r.held.Head.Waits = append(r.held.Head.Waits, waiting)
		}
	}
	return nil
}

// Restart gives a session whose transcript can't be read an empty one; the damaged parts stay in storage. It takes
// effect with the next checkpoint or end.
func (r *Run) Restart(ctx context.Context) error {
	r.held.Head.Manifest = transcript.Manifest{}
	log, err := transcript.Load(ctx, r.blobs, r.held.Turn.Session, transcript.Manifest{})
	r.log = log
	return err
}

// Recall reads the owner's message that a failed turn should have answered; "" if it is gone.
func (r *Run) Recall(ctx context.Context, f *Failure) (string, error) {
	m, _, err := thread.Find(ctx, r.desk.Table, r.held.Turn.Thread, f.Message)
	if err != nil || m == nil {
		return "", err
	}
	return m.Text, nil
}

// Count adds an answered model request to the turn; it is stored with the turn's end.
func (r *Run) Count(u model.Usage) {
	t := &r.held.Turn
	t.Steps++
	t.Usage.Input += u.Input
	t.Usage.Output += u.Output
	t.Usage.CacheRead += u.CacheRead
	t.Usage.CacheWrite += u.CacheWrite
}

// Checkpoint makes the new entries durable: one part, then one fenced write, which is when it happens. It returns
// ErrFenced when the turn is not ours any more.
func (r *Run) Checkpoint(ctx context.Context, now time.Time) error {
	manifest, err := r.log.Checkpoint(ctx, r.blobs, r.held.Fence.Epoch)
	if err != nil {
		return err
	}
	return r.commit(ctx, now, manifest)
}

// Begin saves what is new, and that calls of these tools begin now. say, unless it is "", is posted to the owner by the
// same write; it reports whether somebody has to send that.
func (r *Run) Begin(ctx context.Context, now time.Time, tools []string, say string) (posted bool, err error) {
	manifest, err := r.log.Checkpoint(ctx, r.blobs, r.held.Fence.Epoch)
	if err != nil {
		return false, err
	}
	r.held.Head.Work = r.held.Head.Work.begin(tools)
	if say == "" {
		return false, r.commit(ctx, now, manifest)
	}
	t := r.held.Turn
	r.held.Head.Told, r.held.Head.Conversation = after(t, r.held.Head.Told, now), sentTo(t)
	return !t.Route.Stored(), r.commit(ctx, now, manifest, outbox.Enqueue(
		outbox.Row{Thread: t.Thread, Route: t.Route, Session: t.Session, Turn: t.ID},
		thread.Message{ID: LineID(t), At: r.held.Head.Told, From: thread.Agent, Text: say, Turn: t.ID},
	)...)
}

// Answered notes that the calls which had begun have answered; the next write saves it.
func (r *Run) Answered() { r.held.Head.Work = r.held.Head.Work.end() }

// Handover saves what is new and leaves the turn to the next worker that is woken for its session. From then on it is
// not this worker's.
func (r *Run) Handover(ctx context.Context, now time.Time) error {
	manifest, err := r.log.Checkpoint(ctx, r.blobs, r.held.Fence.Epoch)
	if err != nil {
		return err
	}
	t := r.held.Turn
	t.Epoch, t.Held = r.held.Fence.Epoch+1, now
	fence := Fence{Epoch: t.Epoch, Turn: t.ID, Continuing: true, Rests: r.held.Fence.Rests}
	w := r.desk.write(now, append([]table.Op{
		r.checkpointed(manifest).put(t.Session),
		fence.put(t.Session, table.At(r.held.Fence.Revision)),
		t.Put(table.At(r.held.Revision)),
		table.DeleteBlind(LeaseKey(t.Session)),
		leaseMark(r.held.Turn).Settle(),
		leaseMark(t).Put(),
	}, r.closed...))
	// A crash before this write leaves a turn to be buried; after it, one that is handed over, whose mark wakes the
	// session.
	failed, err := table.Try(ctx, r.desk.Table, w)
	switch {
	case err != nil:
		return fmt.Errorf("handing a turn over: %w", err)
	case failed != nil:
		return fenced("handing a turn over")
	}
	r.held.Turn = t
	return nil
}

// checkpointed is the session's head with the manifest.
func (r *Run) checkpointed(m transcript.Manifest) Head {
	head := r.held.Head
	head.Thread, head.Manifest, head.Previous = r.held.Turn.Thread, m, nil // what failed before is in the transcript now
	return head
}

// commit makes the manifest the session's, and with it happens what else that moment means. When a condition did not
// hold, nothing of it happened: of the turn's own conditions that is ErrFenced, of the caller's ErrRaced.
func (r *Run) commit(ctx context.Context, now time.Time, m transcript.Manifest, also ...table.Op) error {
	head := r.checkpointed(m)
	own := []table.Op{
		head.put(r.held.Turn.Session),
		table.Check(FenceKey(r.held.Turn.Session), table.At(r.held.Fence.Revision)),
	}
	w := r.desk.write(now, slices.Concat(own, also, r.closed))
	failed, err := table.Try(ctx, r.desk.Table, w)
	switch {
	case err != nil:
		return fmt.Errorf("saving a checkpoint: %w", err)
	case failed != nil && failed.Failed[0].Index < len(own):
		return fenced("saving a checkpoint")
	case failed != nil:
		return fmt.Errorf("saving a checkpoint: %w", ErrRaced)
	}
	head.Revision = w.Revision()
	r.held.Head, r.closed = head, nil
	r.log.Saved(m)
	return nil
}

// End ends the turn, saving what no checkpoint has saved. ErrFenced means that it ended otherwise.
func (r *Run) End(ctx context.Context, e Ending) error {
	manifest, err := r.log.Checkpoint(ctx, r.blobs, r.held.Fence.Epoch)
	if err != nil {
		return err
	}
	h := r.held
	h.Head = r.checkpointed(manifest)
	if e.Ask != nil && e.Ask.Kind == wait.Question { // a newer question closes an older one
		for _, w := range r.waits {
			if w.Kind == wait.Question {
				r.closed = append(r.closed, w.Drop()...)
			}
		}
	}
	return r.end(ctx, h, e, r.closed...)
}

// Abandon ends the turn without saving the transcript further: the way out when a store does not answer or the time is
// short. What the owner said is kept for the next turn by the failure it leaves. It returns nil also when an end that
// was tried before, and of which nobody heard, turns out to have happened.
func (r *Run) Abandon(ctx context.Context, e Ending) error {
	h := r.held
	var err error
	if h.Head, err = r.desk.head(ctx, h.Turn.Session); err != nil { // as stored: a checkpoint's outcome may be unknown
		return err
	}
	return r.end(ctx, h, e)
}

func (r *Run) end(ctx context.Context, h Held, e Ending, also ...table.Op) error {
	ops, err := End(h, e)
	if err != nil {
		return err
	}
	w := r.desk.write(e.At, append(ops, also...))
	r.ends = append(r.ends, w.Revision())
	// A crash before this write leaves a running turn without a lease-holder, to be buried; after it, a reply in the
	// outbox with its due mark, to be sent by whoever looks next.
	failed, err := table.Try(ctx, r.desk.Table, w)
	switch {
	case err != nil:
		return fmt.Errorf("ending a turn: %w", err)
	case failed != nil && !r.ended(failed):
		return fenced("ending a turn")
	}
	r.held.Turn.Status, r.held.Turn.Ended, r.held.Turn.Error = e.Status, e.At, e.Error
	return nil
}

// ended reports whether the fence or the turn is as an end of ours left it.
func (r *Run) ended(failed *table.ConditionError) bool {
	return slices.ContainsFunc(failed.Failed, func(f table.Failed) bool {
		return f.Item != nil && slices.Contains(r.ends, f.Item.Revision)
	})
}

// Mine reports whether the turn is still this worker's. Any goroutine may ask.
func (r *Run) Mine(ctx context.Context) (bool, error) {
	fence, err := r.desk.fence(ctx, r.entry.Turn.Session)
	return fence.Revision == r.held.Fence.Revision, err
}

// Renew shows that the worker is alive until now + LeaseTerm. ErrFenced means that the turn is not ours any more.
func (r *Run) Renew(ctx context.Context, now time.Time) error {
	for range renewals {
		next := r.lease
		next.Until = now.Add(LeaseTerm)
		w := r.desk.write(now, []table.Op{next.put(r.held.Turn.Session, table.At(r.lease.Revision))})
		failed, err := table.Try(ctx, r.desk.Table, w)
		if err != nil {
			return fmt.Errorf("renewing a lease: %w", err)
		}
		if failed == nil {
			next.Revision = w.Revision()
			r.lease = next
			return nil
		}
		if !r.adopt(failed.Failed[0].Item) {
			break
		}
	}
	return fenced("renewing a lease")
}

// renewals bounds how many attempts of ours, each arriving late, a renewal can find in its way.
const renewals = 3

// adopt takes the lease that stands there for ours if it is of our epoch, under which nobody else renews: an earlier
// renewal was applied and nobody heard of it.
func (r *Run) adopt(item *table.Item) bool {
	var l Lease
	revision, err := table.Decode(item, &l)
	if err != nil || revision == "" || l.Epoch != r.lease.Epoch {
		return false
	}
	r.lease.Revision, r.lease.Until = revision, l.Until
	return true
}

// Until is when the lease runs out, as last renewed.
func (r *Run) Until() time.Time { return r.lease.Until }

func fenced(doing string) error { return fault.As(fault.Drop, fmt.Errorf("%s: %w", doing, ErrFenced)) }
