package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
)

// Run is a turn that this worker holds. All its methods but Renew are for one goroutine; Renew is for one other.
type Run struct {
	desk  *Desk
	entry Entry
	held  Held
	lease Lease           // Renew's alone after the claim
	log   *transcript.Log // after Open
	blobs blob.Blob       // after Open
}

// Turn is the turn as it stands.
func (r *Run) Turn() Turn { return r.held.Turn }

// Input is the queued turn that was claimed, with what the owner said.
func (r *Run) Input() Entry { return r.entry }

// Previous is how the session's last turn failed; nil if it did not. Valid after Open.
func (r *Run) Previous() *Failure { return r.held.Head.Previous }

// Log is the session's transcript. Valid after Open.
func (r *Run) Log() *transcript.Log { return r.log }

// Open reads the session's head and its transcript. Errors wrap transcript.ErrCorrupt or the stores'.
func (r *Run) Open(ctx context.Context, blobs blob.Blob) error {
	t := r.held.Turn
	head, err := r.desk.head(ctx, t.Session)
	if err != nil {
		return err
	}
	head.Thread = t.Thread
	r.held.Head, r.blobs = head, blobs
	r.log, err = transcript.Load(ctx, blobs, t.Session, head.Manifest)
	return err
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
	head := r.held.Head
	head.Manifest, head.Previous = manifest, nil // what failed before is in the transcript now
	w := r.desk.write(now, []table.Op{
		head.put(r.held.Turn.Session),
		table.Check(FenceKey(r.held.Turn.Session), table.At(r.held.Fence.Revision)),
	})
	if err := r.fenced(ctx, w, "saving a checkpoint"); err != nil {
		return err
	}
	head.Revision = w.Revision()
	r.held.Head = head
	r.log.Saved(manifest)
	return nil
}

// End ends the turn, saving what no checkpoint has saved. ErrFenced means that it ended otherwise.
func (r *Run) End(ctx context.Context, e Ending) error {
	manifest, err := r.log.Checkpoint(ctx, r.blobs, r.held.Fence.Epoch)
	if err != nil {
		return err
	}
	h := r.held
	h.Head.Manifest = manifest
	return r.end(ctx, h, e)
}

// Abandon ends the turn without saving the transcript further: the way out when a store does not answer or the time is
// short. What the owner said is kept for the next turn by the failure it leaves.
func (r *Run) Abandon(ctx context.Context, e Ending) error {
	h := r.held
	if r.blobs == nil { // it broke before the session's head was read, which the end writes
		head, err := r.desk.head(ctx, h.Turn.Session)
		if err != nil {
			return err
		}
		head.Thread = h.Turn.Thread
		h.Head = head
	}
	return r.end(ctx, h, e)
}

func (r *Run) end(ctx context.Context, h Held, e Ending) error {
	ops, err := End(h, e)
	if err != nil {
		return err
	}
	// A crash before this write leaves a running turn without a lease-holder, to be buried; after it, a reply in the
	// outbox with its due mark, to be sent by whoever looks next.
	return r.fenced(ctx, r.desk.write(e.At, ops), "ending a turn")
}

// Renew shows that the worker is alive until now + LeaseTerm. ErrFenced means that the turn is not ours any more.
func (r *Run) Renew(ctx context.Context, now time.Time) error {
	next := r.lease
	next.Until = now.Add(LeaseTerm)
	w := r.desk.write(now, []table.Op{next.put(r.held.Turn.Session, table.At(r.lease.Revision))})
	if err := r.fenced(ctx, w, "renewing a lease"); err != nil {
		return err
	}
	next.Revision = w.Revision()
	r.lease = next
	return nil
}

// Until is when the lease runs out, as last renewed.
func (r *Run) Until() time.Time { return r.lease.Until }

func (r *Run) fenced(ctx context.Context, w table.Write, doing string) error {
	err := table.Apply(ctx, r.desk.Table, w)
	if _, failed := errors.AsType[*table.ConditionError](err); failed {
		return fault.As(fault.Drop, fmt.Errorf("%s: %w", doing, ErrFenced))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
