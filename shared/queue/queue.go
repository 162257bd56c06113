// Package queue is the seam to the wake-up queue: first in, first out within a group, groups side by side.
//
// The queue carries wake-ups, never messages: losing, doubling or reordering one costs time and nothing else, because
// what is to be done stands in the table. Implementations: shared/local/fifo in one process, shared/aws/sqs on AWS,
// queuetest in memory with faults; queuetest.Run holds all of them to the guarantees below.
package queue

import (
	"context"
	"errors"
	"time"
)

// Limits that hold for every implementation.
const (
	MaxBodyBytes  = 256 << 10        // of one body
	MaxNameBytes  = 128              // of a group or deduplication ID
	DedupWindow   = 5 * time.Minute  // a deduplication ID is remembered this long, also after receive and delete
	MaxVisibility = 12 * time.Hour   // of Extend and GiveBack
	Visibility    = 15 * time.Minute // of a wake-up just received: as long as a function may run
)

var (
	// ErrRefused means that the queue did not take the request, or that its answer was lost. Sending again under the
	// same deduplication ID is safe.
	ErrRefused = errors.New("the queue refused the request")
	// ErrInvalid means that the request can never succeed.
	ErrInvalid = errors.New("invalid request")
	// ErrLapsed means that the wake-up is no longer held by this receiver.
	ErrLapsed = errors.New("the wake-up is no longer held")
)

// Message is one wake-up to send.
type Message struct {
	// Group is 1 to MaxNameBytes of printable ASCII without spaces; wake-ups of one group are delivered one at a time, in
	// order.
	Group string
	// Dedup is like Group; a second one of the same group within DedupWindow is accepted and not delivered. Whether one
	// of another group counts as a second depends on the queue: don't use an ID in two groups.
	Dedup string
	Body  string // 1 to MaxBodyBytes of UTF-8, without control characters but tab, line feed and carriage return
}

// Sender puts wake-ups into the queue.
type Sender interface {
	// Send stores the wake-up before it returns nil. A duplicate is success. Errors wrap ErrRefused or ErrInvalid.
	Send(ctx context.Context, m Message) error
}

// Delivery is one wake-up as received. Until it ends, by Done, by GiveBack's or Extend's time running out, nothing
// else of its group is delivered.
type Delivery struct {
	Message
	Receives int // how often it has been delivered, this time included; 1 at first. Approximate on AWS.
	Lease    Lease
}

// Lease is the hold on a received wake-up.
type Lease interface {
	// Extend keeps the wake-up hidden for d from now. Errors wrap ErrLapsed, ErrRefused or ErrInvalid.
	Extend(ctx context.Context, d time.Duration) error
	// GiveBack ends the hold: the wake-up is delivered again after d. Errors as Extend.
	GiveBack(ctx context.Context, d time.Duration) error
	// Done ends the hold and removes the wake-up. Errors as Extend.
	Done(ctx context.Context) error
}

// Receiver takes wake-ups out of the queue, for whoever polls; a Lambda function gets its deliveries from its event.
type Receiver interface {
	// Receive waits until wake-ups are there or the context ends, and returns at most most (1 to 10) of them, hidden
	// for Visibility. It may return none. Errors wrap ErrRefused, ErrInvalid or the context's error.
	Receive(ctx context.Context, most int) ([]Delivery, error)
}
