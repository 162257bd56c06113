package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/runner"
)

// receiveMost is how many wake-ups are taken at once.
const receiveMost = 10

// firstAgain and lastAgain bound the growing time after which a wake-up that failed comes again.
const (
	firstAgain = time.Second
	lastAgain  = 30 * time.Second
)

// grace is how long a turn under way may go on when the process is asked to end; what is not done by then is told to
// have been interrupted.
const grace = 3 * time.Second

// work handles wake-ups, so many at once, until the context ends and those under way have ended.
func (s *Server) work(ctx context.Context) error {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, stop) })()
	free := make(chan struct{}, s.settings.Workers)
	var busy sync.WaitGroup
	defer busy.Wait()
	for {
		select {
		case free <- struct{}{}: // one worker at least before anything is taken
		case <-ctx.Done():
			return nil
		}
		most := min(receiveMost, cap(free)-len(free)+1)
		wakeups, err := s.queue.Receive(ctx, most)
		<-free
		if err != nil {
			return nil // the queue in memory fails only because the context has ended
		}
		for _, d := range wakeups {
			free <- struct{}{}
			busy.Go(func() {
				defer func() { <-free }()
				s.handle(working, d)
			})
		}
	}
}

// handle acts on one wake-up. One that failed is given back to come again soon.
func (s *Server) handle(ctx context.Context, d queue.Delivery) {
	verdict, err := s.runner.Handle(ctx, d)
	if err == nil && verdict == runner.Done {
		err = d.Lease.Done(context.WithoutCancel(ctx))
	}
	if err != nil {
		err = errors.Join(err, d.Lease.GiveBack(context.WithoutCancel(ctx), min(firstAgain<<min(d.Receives-1, 10), lastAgain)))
	}
	if err != nil && ctx.Err() == nil {
		s.settings.Log.WarnContext(ctx, "handling a wake-up", slog.Any("error", err))
	}
}
