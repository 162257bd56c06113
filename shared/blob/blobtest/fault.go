package blobtest

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/pause"
)

// Method is one of the calls of an object store.
type Method uint8

// The methods.
const (
	MethodPut Method = iota + 1
	MethodGet
	MethodGetRange
	MethodList
	MethodDelete
)

func (m Method) String() string {
	switch m {
	case MethodPut:
		return "put"
	case MethodGet:
		return "get"
	case MethodGetRange:
		return "get range"
	case MethodList:
		return "list"
	case MethodDelete:
		return "delete"
	}
	return "invalid"
}

// Call is one call of a Fake, as its Fault hook sees it.
type Call struct {
	Method Method
	Number int    // 1 for the first call of the Fake, of any method
	Name   string // of the object; the prefix of a List
	Size   int    // bytes of a Put
}

// Kind is how a call ends other than by its answer.
type Kind uint8

// The kinds. Each but None answers blob.ErrRefused.
const (
	None    Kind = iota // the call is answered
	Refused             // nothing was done
	Unheard             // done, but told as refused; on a read the same as Refused
)

// Fault is what goes wrong with one call. The zero Fault is nothing.
type Fault struct {
	Kind Kind
	Slow time.Duration // how long the call lasts
}

// Slow makes a call last for d.
func Slow(d time.Duration) Fault { return Fault{Slow: d} }

// Counts says how often each method was called, with and without success, and how many bytes were stored.
type Counts struct {
	Put, Get, GetRange, List, Delete int
	Bytes                            int64
}

// Sum is the number of calls of all methods.
func (c Counts) Sum() int { return c.Put + c.Get + c.GetRange + c.List + c.Delete }

// Sub returns what was counted since an earlier count.
func (c Counts) Sub(e Counts) Counts {
	return Counts{c.Put - e.Put, c.Get - e.Get, c.GetRange - e.GetRange, c.List - e.List, c.Delete - e.Delete, c.Bytes - e.Bytes}
}

// Calls returns what was counted so far.
func (f *Fake) Calls() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts
}

// begin counts the call and asks what goes wrong with it.
func (f *Fake) begin(c Call) Fault {
	f.mu.Lock()
	switch c.Method {
	case MethodPut:
		f.counts.Put++
	case MethodGet:
		f.counts.Get++
	case MethodGetRange:
		f.counts.GetRange++
	case MethodList:
		f.counts.List++
	case MethodDelete:
		f.counts.Delete++
	}
	c.Number = f.counts.Sum()
	f.mu.Unlock()
	if f.Fault == nil {
		return Fault{}
	}
	return f.Fault(c)
}

// pass lets the time of the call go by; it returns early, with the reason, when the context ends.
func (f Fault) pass(ctx context.Context) error {
	if !pause.For(ctx, f.Slow) {
		return ctx.Err()
	}
	return nil
}

// read is the whole of a fault on a call that changes nothing.
func (f Fault) read(ctx context.Context) error {
	if f.Kind != None {
		return blob.ErrRefused
	}
	if err := f.pass(ctx); err != nil {
		return fmt.Errorf("%w: %w", blob.ErrRefused, err)
	}
	return nil
}

// change does what a call is for, if the fault lets it, and hides the answer if the fault says so.
func (f Fault) change(ctx context.Context, do func() error) error {
	if f.Kind == Refused {
		return blob.ErrRefused
	}
	if err := f.pass(ctx); err != nil {
		return fmt.Errorf("%w: %w", blob.ErrRefused, err)
	}
	err := do()
	if f.Kind == Unheard {
		return blob.ErrRefused
	}
	return err
}
