package bolt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// maxBatch bounds the changes of one transaction, so that the first does not wait for very many others.
const maxBatch = 1024

var (
	errRejected  = errors.New("not committed")       // nothing was done, nothing will be
	errUnsettled = errors.New("commit not observed") // it may have been done, or may still be
)

// change is one thing to commit.
type change interface {
	// apply makes the change in the transaction, after those before it in the batch, and returns the answer to whoever
	// waits. With an answer other than nil it has changed nothing.
	apply(s *state) error
}

// request is a change on its way to the committer and back.
type request struct {
	change change
	answer error
	done   chan error // holds one
}

var requests = sync.Pool{New: func() any { return &request{done: make(chan error, 1)} }}

// committer applies changes in batches, on a goroutine of its own.
type committer struct {
	db      *bbolt.DB
	memory  *memory
	commits atomic.Int64 // transactions since the start

	mu      sync.Mutex
	waiting []*request
	stopped bool
	wake    chan struct{} // holds one: there is something to do
	ended   chan struct{}
}

func startCommitter(db *bbolt.DB) (*committer, error) {
	m, err := recall(db)
	if err != nil {
		return nil, err
	}
	c := &committer{db: db, memory: m, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go c.run()
	return c, nil
}

// submit has the change committed and returns its answer, or an error that wraps errRejected or errUnsettled. When the
// context ends first, the change may still be made: what it holds must belong to it alone.
func (c *committer) submit(ctx context.Context, ch change) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", errRejected, err)
	}
	r, _ := requests.Get().(*request)
	r.change = ch
	if !c.enqueue(r) {
		return fmt.Errorf("%w: the store is closed", errRejected)
	}
	select {
	case err := <-r.done:
		r.change, r.answer = nil, nil
		requests.Put(r)
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errUnsettled, ctx.Err())
	}
}

func (c *committer) enqueue(r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	c.waiting = append(c.waiting, r)
	c.signal()
	return true
}

func (c *committer) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// stop commits what waits and reports whether anything was committed since the start.
func (c *committer) stop() bool {
	c.mu.Lock()
	c.stopped = true
	c.signal()
	c.mu.Unlock()
	<-c.ended
	return c.commits.Load() > 0
}

func (c *committer) run() {
	defer close(c.ended)
	var batch []*request
	for range c.wake {
		for {
			var last bool
			if batch, last = c.take(batch); len(batch) > 0 {
				c.settle(batch)
				continue
			}
			if last {
				return
			}
			break
		}
	}
}

// take moves waiting requests into batch and reports whether these are the last.
func (c *committer) take(batch []*request) ([]*request, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.waiting), maxBatch)
	batch = append(batch[:0], c.waiting[:n]...)
	left := copy(c.waiting, c.waiting[n:])
	clear(c.waiting[left:])
	c.waiting = c.waiting[:left]
	return batch, c.stopped && left == 0
}

// settle commits a batch and answers it. No answer leaves before the sync: a failed condition, too, may rest on a
// change of the same batch.
func (c *committer) settle(batch []*request) {
	err := c.transact(batch)
	for i, r := range batch {
		batch[i] = nil
		if err != nil {
			r.answer = err
		}
		r.done <- r.answer
	}
}

// transact makes one transaction of the batch and notes the answers, or says what became of all of it.
func (c *committer) transact(batch []*request) error {
	tx, err := c.db.Begin(true)
	if err != nil {
		return fmt.Errorf("%w: %w", errRejected, err)
	}
	s := newState(tx, c.memory)
	for _, r := range batch {
		r.answer = r.change.apply(s)
	}
	if !s.dirty && s.err == nil {
		return tx.Rollback()
	}
	if err := s.finish(); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", errRejected, err), tx.Rollback(), c.memory.reload(c.db))
	}
	if err := tx.Commit(); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", errUnsettled, err), c.memory.reload(c.db))
	}
	c.commits.Add(1)
	return nil
}
