package tabletest

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/pause"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// Method is one of the three calls of a table.
type Method uint8

// The methods.
const (
	MethodGet Method = iota + 1
	MethodWrite
	MethodScan
)

func (m Method) String() string {
	switch m {
	case MethodGet:
		return "get"
	case MethodWrite:
		return "write"
	case MethodScan:
		return "scan"
	}
	return "invalid"
}

// Call is one call of a Fake, as its Fault hook sees it. What it holds belongs to the caller and is only to be read.
type Call struct {
	Method Method
	Number int         // 1 for the first call of the Fake, of any method
	Key    table.Key   // of a Get
	Write  table.Write // of a Write
	Query  table.Query // of a Scan
}

// Kind is how a call ends other than by its answer.
type Kind uint8

// The kinds. The last three are for writes, and answer table.ErrUnknown; on a read they mean Refused.
const (
	None    Kind = iota // the call is answered
	Refused             // table.ErrRefused; nothing was done
	Unheard             // applied if it could be, but nobody hears of it
	Lost                // never arrives
	Late                // arrives only after Fault.Slow, when the caller has long been told that nothing is known
)

// Fault is what goes wrong with one call. The zero Fault is nothing.
type Fault struct {
	Kind  Kind
	Slow  time.Duration // how long the call lasts; what it touches is occupied for as long
	While func()        // if set, runs while the call lasts
}

// Slow makes a call last for d.
func Slow(d time.Duration) Fault { return Fault{Slow: d} }

// Counts says how often each method was called, with and without success, and how many bytes of values were put.
type Counts struct {
	Get, Write, Scan int
	Bytes            int64
}

// Sum is the number of calls of all methods.
func (c Counts) Sum() int { return c.Get + c.Write + c.Scan }

// Sub returns what was counted since an earlier count.
func (c Counts) Sub(earlier Counts) Counts {
	return Counts{c.Get - earlier.Get, c.Write - earlier.Write, c.Scan - earlier.Scan, c.Bytes - earlier.Bytes}
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
	case MethodGet:
		f.counts.Get++
	case MethodWrite:
		f.counts.Write++
	case MethodScan:
		f.counts.Scan++
	}
	c.Number = f.counts.Sum()
	f.mu.Unlock()
	if f.Fault == nil {
		return Fault{}
	}
	return f.Fault(c)
}

func (f Fault) lasting() bool { return f.Slow > 0 || f.While != nil }

// pass lets the time of the call go by; it returns early, with the reason, when the context ends.
func (f Fault) pass(ctx context.Context) error {
	if f.While != nil {
		f.While()
	}
	if !pause.For(ctx, f.Slow) {
		return ctx.Err()
	}
	return nil
}

// read is pass for a call that changes nothing.
func (f Fault) read(ctx context.Context) error {
	if f.Kind != None {
		return table.ErrRefused
	}
	if err := f.pass(ctx); err != nil {
		return refused(err)
	}
	return nil
}

func refused(cause error) error { return fmt.Errorf("%w: %w", table.ErrRefused, cause) }
