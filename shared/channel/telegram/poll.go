package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/pause"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/table"
)

const (
	pollTimeout = 50 * time.Second // how long the server holds a call without updates; it caps it itself
	firstPause  = time.Second
	longPause   = 30 * time.Second
)

// errOnlyNoise means that a batch held nothing that could be confirmed.
var errOnlyNoise = errors.New("polling Telegram: no update in the answer has an update_id")

// Poll fetches updates by long polling and takes them to the door, for a machine without a public address.
type Poll struct {
	Client   *Client
	Receiver Receiver
	// Report, unless it is nil, is told of each error after which the work is tried again, and of each update that the
	// door can never take. It must be safe for concurrent use.
	Report func(error)
}

// Run polls until ctx ends, and then returns nil. An error says what the operator has to change: the token is refused,
// or, from the start, something else takes the bot's updates. All other errors are waited out: 1, 2, 4 and up to 30 s.
// So is something else that takes the updates later: it may be there by mistake, and the rest of the process goes on.
//
// A batch is confirmed, by the next call's offset, only after every update of it is stored, or can never be; after a
// crash in between Telegram sends it again, and the door knows what it has. Chats go side by side, the updates of one
// chat in order.
func (p *Poll) Run(ctx context.Context) error {
	var offset int64
	var rest backoff
	begun := false // a call has succeeded
	for ctx.Err() == nil {
		next, err := p.batch(ctx, offset)
		if err == nil {
			begun, rest, offset = true, 0, next
			continue
		}
		stop := fatal(err)
		if stop != nil && (!begun || !conflict(err)) {
			return stop
		}
		p.wait(ctx, &rest, cmp.Or(stop, err))
	}
	return nil
}

// batch fetches and stores once, and returns the next offset.
func (p *Poll) batch(ctx context.Context, offset int64) (int64, error) {
	raw, err := p.Client.GetUpdates(ctx, offset, pollTimeout)
	if err != nil || len(raw) == 0 {
		return offset, err
	}
	updates := p.decode(raw)
	if len(updates) == 0 {
		return offset, errOnlyNoise
	}
	return p.take(ctx, updates, offset), nil
}

// fatal is the error that no waiting mends; nil when there is hope.
func fatal(err error) error {
	e, ok := errors.AsType[*APIError](err)
	switch {
	case !ok:
		return nil
	case e.tokenRefused():
		return fmt.Errorf("the bot token is refused: set the one that @BotFather shows: %w", err)
	case conflict(err) && e.says("webhook"):
		return fmt.Errorf("the bot has a webhook: delete it, or stop polling: %w", err)
	case conflict(err):
		return fmt.Errorf("another process polls this bot: stop it first: %w", err)
	}
	return nil
}

// conflict reports whether something else takes the bot's updates.
func conflict(err error) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.Code == http.StatusConflict
}

// take stores a batch and returns the offset that confirms it; the old one when ctx ended before all was stored. The
// offset may go back: the server's numbering starts anew after an idle week.
func (p *Poll) take(ctx context.Context, updates []Update, offset int64) int64 {
	var wait sync.WaitGroup
	for _, chat := range byChat(updates) {
		wait.Go(func() { p.store(ctx, chat) })
	}
	wait.Wait()
	if ctx.Err() != nil {
		return offset
	}
	last := updates[0].ID
	for _, u := range updates {
		last = max(last, u.ID)
	}
	return last + 1
}

// decode leaves out what is no update. Without an update_id it can't be confirmed by itself either; the next one's is.
func (p *Poll) decode(raw []json.RawMessage) []Update {
	updates := make([]Update, 0, len(raw))
	for _, body := range raw {
		u, err := Decode(body)
		if err != nil {
			p.Receiver.count(Undecodable)
			continue
		}
		updates = append(updates, u)
	}
	return updates
}

// byChat groups a batch, each group in the batch's order. What has no chat shares a group.
func byChat(updates []Update) map[int64][]Update {
	chats := map[int64][]Update{}
	for _, u := range updates {
		id := field[int64](field[object](u.message(), "chat"), "id")
		chats[id] = append(chats[id], u)
	}
	return chats
}

// store takes one chat's updates to the door, each until it is stored or can never be.
func (p *Poll) store(ctx context.Context, updates []Update) {
	for _, u := range updates {
		var rest backoff
		for began := time.Now(); ctx.Err() == nil; {
			_, err := p.Receiver.Receive(ctx, time.Now(), u)
			if err == nil {
				break
			}
			if never(err) || !passing(err) && time.Since(began) > doubtTerm {
				p.drop(ctx, u, err)
				break
			}
			p.wait(ctx, &rest, err)
		}
	}
}

// doubtTerm is how long an update is tried of whose error nobody knows whether it passes: nothing behind it reaches
// anybody meanwhile.
const doubtTerm = time.Minute

// never reports whether the same update can't be taken at any time.
func never(err error) bool {
	return errors.Is(err, table.ErrInvalid) || errors.Is(err, queue.ErrInvalid)
}

// passing reports whether the same update will be taken once a trouble has passed, however long it lasts.
func passing(err error) bool {
	switch fault.Of(err).Action {
	case fault.Retry, fault.Unknown, fault.Drop:
		return true
	case fault.GiveUp:
	}
	for _, passes := range []error{table.ErrRefused, table.ErrUnknown, queue.ErrRefused, context.DeadlineExceeded} {
		if errors.Is(err, passes) {
			return true
		}
	}
	return false
}

// drop tells of an update that can't be taken. It is confirmed with the others.
func (p *Poll) drop(ctx context.Context, u Update, err error) {
	if ctx.Err() != nil {
		return // who knows whether it would have been taken
	}
	p.Receiver.count(Failed)
	p.report(fmt.Errorf("update %d can't be taken and is passed over: %w", u.ID, err))
}

func (p *Poll) report(err error) {
	if p.Report != nil {
		p.Report(err)
	}
}

// wait sleeps before another try: as long as the server asks, else longer each time.
func (p *Poll) wait(ctx context.Context, rest *backoff, err error) {
	if ctx.Err() != nil {
		return
	}
	p.report(err)
	d := rest.next()
	if e, ok := errors.AsType[*APIError](err); ok {
		d = max(d, e.RetryAfter)
	}
	pause.For(ctx, d)
}

// backoff is the last pause; 0 before the first.
type backoff time.Duration

func (b *backoff) next() time.Duration {
	*b = backoff(min(max(2*time.Duration(*b), firstPause), longPause))
	return time.Duration(*b)
}
