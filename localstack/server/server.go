// Package server is the whole of Bobbin in one process on one machine: the store, the queue, the workers, the reaper,
// the page, and Telegram, wired as on AWS out of the same parts.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/localstack/pairing"
	"github.com/bobbin-agent/bobbin/shared/agent"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/live"
	"github.com/bobbin-agent/bobbin/shared/local/bolt"
	"github.com/bobbin-agent/bobbin/shared/local/fifo"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/reaper"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/tool/ask"
	"github.com/bobbin-agent/bobbin/shared/tool/clock"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

const (
	// sweepEvery is how often the reaper looks; in one process a look at an idle store costs next to nothing.
	sweepEvery = 10 * time.Second
	// farAhead makes the first sweep act on all marks: what was queued in memory is gone with the last process.
	farAhead = 24 * time.Hour
	// shutdownTerm bounds how long open connections are waited for at the end.
	shutdownTerm = 3 * time.Second
	// localPerson is who reaches the page of the one process.
	localPerson = "local"
)

// Settings is what a server is made of.
type Settings struct {
	config.Local
	Model    model.Model
	About    web.About
	Telegram *Telegram   // nil without a bot
	Tools    []tool.Tool // that the model has beside Bobbin's own
	// Check, if set, asks once, while the server is running already, whether the settings can be right; its error ends
	// the server.
	Check func(context.Context) error
	Log   *slog.Logger
}

// Server is the one process. Make it with Open.
type Server struct {
	settings Settings
	store    *bolt.Store
	listener net.Listener
	queue    fifo.Queue
	hub      live.Hub
	inbox    *inbox.Inbox
	book     *owner.Book
	owner    owner.Owner
	runner   *runner.Runner
	reaper   *reaper.Reaper
	control  control
}

// Open opens the store and the page's address. Errors are one line that says what to do.
func Open(ctx context.Context, s Settings) (*Server, error) {
	store, err := openStore(s.Data) //nolint:contextcheck // what it cleans up outlives the caller
	if errors.Is(err, bolt.ErrLocked) {
		return nil, fmt.Errorf("%w: stop the Bobbin that runs on it, or set BOBBIN_DATA to another folder", err)
	}
	if err != nil {
		return nil, err
	}
	srv := &Server{settings: s, store: store}
	if err := srv.open(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return srv, nil
}

// openStore opens a data folder. The error is bolt.ErrLocked, or says what to do by itself.
func openStore(data string) (*bolt.Store, error) {
	store, err := bolt.Open(data)
	if err != nil && !errors.Is(err, bolt.ErrLocked) && !errors.Is(err, bolt.ErrDamaged) {
		return nil, fmt.Errorf("%w: set BOBBIN_DATA to a folder that can be read and written", err)
	}
	return store, err
}

func (s *Server) open(ctx context.Context) error {
	var err error
	if s.listener, err = listen(ctx, s.settings.Address); err != nil {
		return err
	}
	s.wire()
	if s.owner, err = s.firstOwner(ctx); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	if s.control, err = openControl(s.settings.Data, s.listener.Addr().String()); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	return nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the page can't be served at %s: stop what uses that address, or set BOBBIN_ADDR to another (%w)",
			address, err)
	}
	return l, nil
}

// wire puts the parts together.
func (s *Server) wire() {
	ids := &id.Source{}
	holder := ids.New(time.Now())
	records := s.store.Table()
	gone := func(other string) bool { return other != holder } // the store is locked: whoever held it before has ended
	desk := &turn.Desk{Table: records, IDs: ids, Holder: holder, Gone: gone, Permits: s.settings.Turns}
	s.book = &owner.Book{Table: records, IDs: ids}
	s.inbox = &inbox.Inbox{
		Table: records, Queue: &s.queue, Book: s.book, IDs: ids, Rules: s.settings.Rules, Ended: s.ended,
		Stored: func(m thread.Message, in id.Thread, t id.Turn) {
			s.hub.Publish(in, live.Event{Kind: live.Stored, Turn: t, Message: m.ID})
			s.hub.Publish(in, live.Event{Kind: live.Turned, Turn: t, Status: live.Queued})
		},
	}
	s.runner = &runner.Runner{
		Desk: desk, Queue: &s.queue, Note: s.note,
		Agent: &agent.Agent{
			Model:  model.Retry(s.settings.Model),
			Tools:  slices.Concat([]tool.Tool{clock.Tool(), ask.Tool()}, s.settings.Tools),
			Blobs:  s.store.Blob(),
			Limits: agent.Limits{Steps: s.settings.Steps, Identical: s.settings.Repeats}, Show: s.show,
			Posted: func(ctx context.Context, t turn.Turn) { s.runner.Post(ctx, t) },
		},
		Outbox: &outbox.Sender{
			Table: records, IDs: ids, Holder: holder, Gone: gone, Channel: s.channel,
			Changed: func(in id.Thread, m thread.Message) {
				s.hub.Publish(in, live.Event{Kind: live.Stored, Turn: m.Turn, Message: m.ID})
			},
		},
		Show: s.show,
	}
	s.reaper = &reaper.Reaper{
		Table: records, IDs: ids, Queue: &s.queue, Desk: desk,
		Buried: func(ctx context.Context, t turn.Turn) {
			s.note(ctx, "turn interrupted", t, nil)
			for _, e := range live.Ending(t.ID) {
				s.show(t, e)
			}
		},
		Stopped: s.ended,
	}
}

// ended shows the ends of turns that their own worker does not show.
func (s *Server) ended(in id.Thread, turns ...id.Turn) {
	for _, t := range turns {
		for _, e := range live.Ending(t) {
			s.hub.Publish(in, e)
		}
	}
}

func (s *Server) show(t turn.Turn, e live.Event) { s.hub.Publish(t.Thread, e) }

func (s *Server) channel(connection string) (channel.Channel, bool) {
	if s.settings.Telegram == nil || connection != s.settings.Telegram.connection() {
		return nil, false
	}
	return s.settings.Telegram.channel, true
}

// firstOwner is whose page it is; the first start makes one.
func (s *Server) firstOwner(ctx context.Context) (owner.Owner, error) {
	o, err := s.book.Found(ctx, pairing.Founder, time.Now())
	if err != nil {
		return owner.Owner{}, fmt.Errorf("finding the owner: %w", err)
	}
	return o, s.book.Link(ctx, o, web.Connection, localPerson, time.Now())
}

// Address is where the page is served.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Run works until the context ends, and then ends what runs: turns in their middle are told to have been interrupted.
func (s *Server) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var parts sync.WaitGroup
	start := func(part func(context.Context) error) {
		parts.Go(func() {
			if err := part(ctx); err != nil {
				stop(err)
			}
		})
	}
	start(s.serve)
	if s.settings.Check != nil {
		start(s.settings.Check)
	}
	start(s.work)
	start(s.sweep)
	if s.settings.Telegram != nil {
		start(func(ctx context.Context) error { return s.settings.Telegram.run(ctx, s.inbox, s.settings.Log) })
	}
	parts.Wait()
	err := errors.Join(s.control.close(), s.store.Close())
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return errors.Join(cause, err)
	}
	return err
}

func (s *Server) serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s.handler(ctx), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving the page: %w", err)
	case <-ctx.Done():
	}
	s.hub.Close()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTerm)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		return server.Close()
	}
	return nil
}

// sweep brings back what the last process left, and then whatever this one leaves.
func (s *Server) sweep(ctx context.Context) error {
	until := time.Now().Add(farAhead)
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		report, err := s.reaper.Sweep(ctx, until)
		if err != nil && ctx.Err() == nil {
			s.settings.Log.ErrorContext(ctx, "sweeping", slog.Any("error", err))
		}
		if !report.Idle() {
			s.settings.Log.LogAttrs(ctx, slog.LevelInfo, "brought back", report.Attrs()...)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			until = time.Now()
		}
	}
}

func (s *Server) note(ctx context.Context, event string, t turn.Turn, err error) {
	level := slog.LevelDebug
	if err != nil {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("event", event)}
	if t.ID != "" {
		attrs = append(attrs, slog.String("turn", string(t.ID)), slog.String("session", string(t.Session)))
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	s.settings.Log.LogAttrs(ctx, level, "work", attrs...)
}
