package fifo

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

type lease struct {
	queue  *Queue
	group  *group
	holder uint64
}

func (l *lease) Extend(ctx context.Context, d time.Duration) error {
	return l.act(ctx, d, func(q *Queue, g *group) { q.hide(g, d) })
}

func (l *lease) GiveBack(ctx context.Context, d time.Duration) error {
	return l.act(ctx, d, func(q *Queue, g *group) {
		g.held = false
		q.hide(g, d)
	})
}

func (l *lease) Done(ctx context.Context) error {
	return l.act(ctx, 0, func(q *Queue, g *group) { q.remove(g) })
}

// act does what only the holder may.
func (l *lease) act(ctx context.Context, d time.Duration, do func(*Queue, *group)) error {
	if err := queue.CheckVisibility(d); err != nil {
		return err
	}
	if err := refuseEnded(ctx); err != nil {
		return err
	}
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	if !l.group.held || l.group.holder != l.holder {
		return fmt.Errorf("%w: group %s", queue.ErrLapsed, l.group.name)
	}
	do(l.queue, l.group)
	return nil
}

// refuseEnded says that nothing was done for a caller whose context is over, as a queue at the end of a wire would.
func refuseEnded(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", queue.ErrRefused, err)
	}
	return nil
}
