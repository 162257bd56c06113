package web

import (
	"context"
	"net/http"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
)

const (
	// maxCommand bounds the bytes of a posted command.
	maxCommand = 4 << 10
	// maxAgo is how long ago a Stop may have been pressed.
	maxAgo = time.Hour
)

// command is what the owner pressed, as the page posts it.
type command struct {
	posted
	AgoMS int64   `json:"ago_ms"` // with a Stop: how long ago it was pressed, by the page's clock
	Turn  id.Turn `json:"turn"`   // with a Cancel: the message's; with an Answer: the one that waits
	Yes   *bool   `json:"yes"`    // with an Answer
}

// obey carries a command out; m says whose it is and which.
type obey func(ctx context.Context, now time.Time, m inbox.Message, c command) (inbox.Receipt, error)

// command answers 200 once the command has been carried out. A crash before that makes the page press again under the
// same ID.
func (s *Site) command(do obey) http.Handler {
	return s.answering(s.known(func(w http.ResponseWriter, r *http.Request, p Person) error {
		var c command
		if err := decode(w, r, maxCommand, &c); err != nil {
			return err
		}
		if err := c.check(p); err != nil {
			return err
		}
		now := s.Now()
		receipt, err := do(r.Context(), now, message(now, p.external, c.ID, "", string(p.Thread)), c)
		if err != nil {
			return err
		}
		return acknowledge(w, http.StatusOK, receipt)
	}))
}

// stop dates the Stop back to when it was pressed, so that one which arrives late spares what was sent meanwhile.
func (s *Site) stop(ctx context.Context, now time.Time, m inbox.Message, c command) (inbox.Receipt, error) {
	if c.AgoMS < 0 || c.AgoMS > maxAgo.Milliseconds() {
		return inbox.Receipt{}, refuse(http.StatusBadRequest, "Stop was pressed too long ago. Press it again.")
	}
	m.Sent = now.Add(-time.Duration(c.AgoMS) * time.Millisecond)
	m.Sequence = m.Sent.UnixMicro()
	return s.Door.Stop(ctx, now, m)
}

func (s *Site) cancel(ctx context.Context, now time.Time, m inbox.Message, c command) (inbox.Receipt, error) {
	if !isUUID(string(c.Turn)) {
		return inbox.Receipt{}, refuse(http.StatusBadRequest, "Say which message to cancel.")
	}
	return s.Door.Cancel(ctx, now, m, c.Turn)
}

func (s *Site) answer(ctx context.Context, now time.Time, m inbox.Message, c command) (inbox.Receipt, error) {
	if !isUUID(string(c.Turn)) || c.Yes == nil {
		return inbox.Receipt{}, refuse(http.StatusBadRequest, "Say yes or no, and to what.")
	}
	return s.Door.Answer(ctx, now, m, c.Turn, *c.Yes)
}

func (s *Site) clear(ctx context.Context, now time.Time, m inbox.Message, _ command) (inbox.Receipt, error) {
	if !s.Clearing {
		return inbox.Receipt{}, refuse(http.StatusNotFound, "This server does not clear conversations.")
	}
	return s.Door.Clear(ctx, now, m)
}

// waits lists what is open.
func (s *Site) waits(w http.ResponseWriter, r *http.Request, p Person) error {
	waits, err := s.Conversation.Waits(r.Context(), p.Thread)
	if err != nil {
		return err
	}
	if waits == nil {
		waits = []Wait{}
	}
	return reply(w, http.StatusOK, waits)
}
