// Package turn holds the life of a turn: its status, the fence that guards its writes, the lease that shows its worker
// alive, claiming the next one, handing it over, stopping it, and every end.
//
// A turn's status:
//
//	queued ──claim──▶ running ──▶ succeeded
//	  │                  ├──────▶ waiting ──stop, expiry, drop──▶ cancelled
//	  │                  ├──────▶ failed
//	  └──stop, take, withdrawal──▶ cancelled ◀── stop
//
// A session runs one turn at a time. Its fence record says which, under which epoch; every write of a turn checks the
// fence's revision in the same transaction, so a turn that was stopped, ended, handed over or superseded can write nothing
// late. Safety comes from the fence alone. The lease only tells others that its worker has died.
//
// A turn that needs more time than its worker has is handed over between two steps: the fence then names it as
// continuing, nobody has it, and the next wake-up of its session goes on with it.
//
// A stop raises the thread's generation and leaves a record, in one write; then the queued turns it hits are cancelled,
// then the running ones, then those that wait. Whatever dies in between, the record says what is left to do.
//
// Decisions (Decide, End and what they call) are pure: records in, operations out. Run and Desk perform them.
//
// Records:
//
//	session#<id> / fence               JSON of Fence: epoch, running turn, whether it waits for its next worker
//	session#<id> / lease               JSON of Lease: epoch, until, holder; there while a worker has a turn
//	session#<id> / head                JSON of Head: thread, manifest, previous failure, what the turn is doing
//	session#<id> / q#<order>#<turn>    JSON of Entry: a queued turn with its input; gone once claimed, taken, cancelled
//	session#<id> / depth               counter: how many of those there are
//	session#<id> / sole                JSON: the turn because of which messages of its connection are refused
//	thread#<id>  / stop#<id>           JSON of Stop: one that has not been carried out
//	turn#<id>    / head                JSON of Turn
package turn

import "fmt"

// Status is how far a turn has come.
type Status string

// The statuses. Succeeded, Waiting, Failed and Cancelled are ends.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Waiting   Status = "waiting"
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// StatusError means that a turn of the one status can't get the other.
type StatusError struct{ From, To Status }

func (e *StatusError) Error() string { return fmt.Sprintf("a %s turn can't become %s", e.From, e.To) }

// Become returns the new status, or *StatusError when there is no such step.
func (s Status) Become(to Status) (Status, error) {
	allowed := false
	switch s {
	case Queued:
		allowed = to == Running || to == Cancelled
	case Running:
		allowed = to == Succeeded || to == Waiting || to == Failed || to == Cancelled
	case Waiting:
		allowed = to == Cancelled
	case Succeeded, Failed, Cancelled:
	}
	if !allowed {
		return s, &StatusError{s, to}
	}
	return to, nil
}

// Ended reports whether the status is an end.
func (s Status) Ended() bool {
	return s == Waiting || s == Succeeded || s == Failed || s == Cancelled
}
