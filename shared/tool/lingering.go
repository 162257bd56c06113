package tool

import (
	"context"
	"sync"
	"time"
)

// Lingering counts the goroutines in which tools run. A tool that ignores its context keeps its own when its turn is
// long over: whoever is about to freeze or end the process can wait for it, and say that it was left behind.
//
// The zero Lingering is ready, a nil one counts nothing. It is safe for concurrent use.
type Lingering struct {
	mu      sync.Mutex
	running int
	none    chan struct{} // closed when none runs; nil if nobody waits for that
}

// Settle waits until no tool runs, no longer than wait or the context, and returns how many still do.
func (l *Lingering) Settle(ctx context.Context, wait time.Duration) int {
	running, none := l.look()
	if running == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case <-none:
		return 0
	case <-ctx.Done():
		running, _ = l.look()
		return running
	}
}

// look returns how many run, and what is closed as soon as none does.
func (l *Lingering) look() (int, <-chan struct{}) {
	if l == nil {
		return 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running > 0 && l.none == nil {
		l.none = make(chan struct{})
	}
	return l.running, l.none
}

func (l *Lingering) begin() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
}

func (l *Lingering) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if l.running == 0 && l.none != nil {
		close(l.none)
		l.none = nil
	}
}
