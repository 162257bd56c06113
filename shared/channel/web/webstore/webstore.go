// Package webstore lets the page read the conversation and its visitors from the table.
package webstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// readWidth is how many turns are read side by side for the states of their messages.
const readWidth = 16

// Conversation is web.Conversation over the table.
type Conversation struct{ Table table.Table }

// After is web.Conversation's.
func (c Conversation) After(ctx context.Context, in id.Thread, cursor string, limit int) (web.Page, error) {
	log, err := thread.After(ctx, c.Table, in, cursor, limit)
	if err != nil {
		return web.Page{}, err
	}
	return c.page(ctx, in, log)
}

// Before is web.Conversation's.
func (c Conversation) Before(ctx context.Context, in id.Thread, cursor string, limit int) (web.Page, error) {
	log, err := thread.Latest(ctx, c.Table, in, cursor, limit)
	if err != nil {
		return web.Page{}, err
	}
	return c.page(ctx, in, log)
}

// Waits is web.Conversation's.
func (c Conversation) Waits(ctx context.Context, in id.Thread) ([]web.Wait, error) {
	open, err := wait.Open(ctx, c.Table, in, "")
	if err != nil {
		return nil, err
	}
	waits := make([]web.Wait, len(open))
	for i, w := range open {
		waits[i] = web.Wait{Turn: w.Turn, Kind: w.Kind, Text: w.Text, Asked: w.Asked}
	}
	return waits, nil
}

func (c Conversation) page(ctx context.Context, in id.Thread, log thread.Log) (web.Page, error) {
	page := web.Page{Messages: make([]web.Message, len(log.Messages)), More: log.More}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readWidth)
	for i, m := range log.Messages {
		page.Messages[i] = shown(in, m)
		if m.From != thread.Owner || m.Turn == "" {
			continue
		}
		group.Go(func() (err error) {
			page.Messages[i].State, err = c.state(ctx, m.Turn)
			return err
		})
	}
	return page, group.Wait()
}

func shown(in id.Thread, m thread.Message) web.Message {
	service, _, _ := strings.Cut(m.Via, "-")
	out := web.Message{
		ID: m.ID, Cursor: m.Key(in).Sort, Turn: m.Turn, From: web.From(m.From), Text: m.Text, Channel: service,
		At: m.At, State: delivery(m.State),
	}
	if m.From == thread.Owner {
		out.State = web.Done
		if len(m.External) > 0 && m.Via == web.Connection {
			out.Client = m.External[0]
		}
	}
	if m.Error != "" {
		out.Text += "\n\n_" + m.Error + "_"
	}
	return out
}

func delivery(s thread.State) web.State {
	switch s {
	case thread.Stored, thread.Sent, thread.Repeated:
		return web.Delivered
	case thread.Pending:
		return web.Sending
	case thread.Refused, thread.Lost:
		return web.Held
	}
	return web.Held
}

// state is how far an owner's message is: as far as its turn, or as the one that took it.
func (c Conversation) state(ctx context.Context, t id.Turn) (web.State, error) {
	item, err := c.Table.Get(ctx, turn.HeadKey(t))
	if err != nil {
		return "", fmt.Errorf("reading turn %s: %w", t, err)
	}
	var head turn.Turn
	if _, err := table.Decode(item, &head); err != nil {
		return "", err
	}
	if head.ClosedBy != "" {
		return c.state(ctx, head.ClosedBy)
	}
	switch head.Status {
	case turn.Queued:
		return web.Queued, nil
	case turn.Running:
		return web.Running, nil
	case turn.Failed:
		return web.Failed, nil
	case turn.Cancelled:
		return web.Cancelled, nil
	case turn.Succeeded, turn.Waiting:
		return web.Done, nil
	}
	return web.Done, nil
}

// People is web.People over the owners' identities.
type People struct{ Book *owner.Book }

// Find is web.People's.
func (p People) Find(ctx context.Context, external string) (web.Person, error) {
	who, err := p.Book.Identify(ctx, web.Connection, external)
	if err != nil {
		return web.Person{}, err
	}
	if who == nil {
		return web.Person{}, web.ErrStranger
	}
	active, err := p.Book.ActiveThread(ctx, who.Owner)
	if errors.Is(err, thread.ErrNotFound) {
		return web.Person{}, web.ErrStranger
	}
	return web.Person{Owner: who.Owner, Thread: active}, err
}
