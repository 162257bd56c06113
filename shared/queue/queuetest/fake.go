package queuetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/local/fifo"
	"github.com/bobbin-agent/bobbin/shared/queue"
)

// Method is a method of the seam.
type Method string

// The methods.
const (
	Send     Method = "send"
	Receive  Method = "receive"
	Extend   Method = "extend"
	GiveBack Method = "give back"
	Done     Method = "done"
)

// Call is one call that a Fake is about to answer.
type Call struct {
	Method  Method
	N       int           // counts the calls of this method from 1
	Message queue.Message // what is sent or held; empty for Receive
}

// Fault is what goes wrong with a call.
type Fault uint8

// The faults.
const (
	None       Fault = iota // nothing
	Refused                 // not done, and said so: ErrRefused
	Taken                   // done, but reported as ErrRefused
	Dropped                 // not done, but reported as success
	Duplicated              // done, and a sent wake-up is delivered twice
	Delayed                 // reported as success, done after Fake.Delay
)

// ErrInjected is what the errors of injected faults wrap, beside queue.ErrRefused.
var ErrInjected = errors.New("injected fault")

// Fake is a queue in memory on which calls go wrong as told. The zero Fake is empty and has no faults.
type Fake struct {
	// Fault says what goes wrong with a call; nil for nothing. It is called before the call takes effect, outside any
	// lock, from the caller's goroutine, so that it may also block to put calls in an order.
	Fault func(Call) Fault
	// Delay is how late what is Delayed happens.
	Delay time.Duration

	queue fifo.Queue
	mu    sync.Mutex
	calls map[Method]int
}

// Calls says how often each method has been called.
func (f *Fake) Calls() map[Method]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.calls)
}

// Send is queue.Sender's.
func (f *Fake) Send(ctx context.Context, m queue.Message) error {
	call, fault := f.begin(Send, m)
	if fault == Duplicated {
		twin := m
		twin.Dedup = fmt.Sprintf("duplicate-%d", call.N)
		defer func() { _ = f.queue.Send(ctx, twin) }() // it fails only as the original does
	}
	return f.end(ctx, call, fault, func(ctx context.Context) error { return f.queue.Send(ctx, m) })
}

// Receive is queue.Receiver's. Of the faults it knows None and Refused; the others count as None.
func (f *Fake) Receive(ctx context.Context, most int) ([]queue.Delivery, error) {
	call, fault := f.begin(Receive, queue.Message{})
	if fault == Refused {
		return nil, injected(call)
	}
	got, err := f.queue.Receive(ctx, most)
	for i := range got {
		got[i].Lease = &lease{fake: f, message: got[i].Message, lease: got[i].Lease}
	}
	return got, err
}

func (f *Fake) begin(method Method, m queue.Message) (Call, Fault) {
	f.mu.Lock()
	if f.calls == nil {
		f.calls = make(map[Method]int)
	}
	f.calls[method]++
	call := Call{Method: method, N: f.calls[method], Message: m}
	f.mu.Unlock()
	if f.Fault == nil {
		return call, None
	}
	return call, f.Fault(call)
}

func (f *Fake) end(ctx context.Context, call Call, fault Fault, do func(context.Context) error) error {
	switch fault {
	case Refused:
		return injected(call)
	case Taken:
		_ = do(ctx) // the caller learns nothing of it
		return injected(call)
	case Dropped:
		return nil
	case Delayed:
		time.AfterFunc(f.Delay, func() { _ = do(context.WithoutCancel(ctx)) }) // nobody waits for the answer
		return nil
	case None, Duplicated:
	}
	return do(ctx)
}

func injected(c Call) error {
	return fmt.Errorf("%w: %s %d: %w", queue.ErrRefused, c.Method, c.N, ErrInjected)
}

// lease is a hold whose calls go wrong as the fake's do.
type lease struct {
	fake    *Fake
	message queue.Message
	lease   queue.Lease
}

func (l *lease) Extend(ctx context.Context, d time.Duration) error {
	return l.act(ctx, Extend, func(ctx context.Context) error { return l.lease.Extend(ctx, d) })
}

func (l *lease) GiveBack(ctx context.Context, d time.Duration) error {
	return l.act(ctx, GiveBack, func(ctx context.Context) error { return l.lease.GiveBack(ctx, d) })
}

func (l *lease) Done(ctx context.Context) error { return l.act(ctx, Done, l.lease.Done) }

func (l *lease) act(ctx context.Context, method Method, do func(context.Context) error) error {
	call, fault := l.fake.begin(method, l.message)
	return l.fake.end(ctx, call, fault, do)
}
