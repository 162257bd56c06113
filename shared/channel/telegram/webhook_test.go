package telegram

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/table"
)

const hookSecret = "a-Secret_0"

func TestWebhookAnswersEverySampleWith200(t *testing.T) {
	t.Parallel()
	for _, name := range samples(t) {
		d := &door{receipt: inbox.Receipt{Outcome: inbox.Accepted}}
		hook := Webhook{Secret: hookSecret, Receiver: Receiver{Bot: bot, Door: d}}
		if status, err := hook.Handle(t.Context(), now, hookSecret, sample(t, name)); status != http.StatusOK || err != nil {
			t.Errorf("%s: %d, %v", name, status, err)
		}
		if status, err := hook.Handle(t.Context(), now, "", sample(t, name)); status != http.StatusUnauthorized || err == nil {
			t.Errorf("%s without the secret: %d, %v", name, status, err)
		}
	}
}

func TestWebhookStatusSaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	broken := errors.New("store is down")
	good := private(`"text":"hi"`)
	for name, c := range map[string]struct {
		configured, given, body string
		door                    error
		status                  int
		err                     error
		knocks                  int
	}{
		"good":                 {hookSecret, hookSecret, good, nil, 200, nil, 1},
		"wrong secret":         {hookSecret, "other", good, nil, 401, ErrSecret, 0},
		"prefix of the secret": {hookSecret, hookSecret[:5], good, nil, 401, ErrSecret, 0},
		"none configured":      {"", "", good, nil, 401, ErrSecret, 0},
		"too large":            {hookSecret, hookSecret, strings.Repeat(" ", MaxBodyBytes+1), nil, 413, ErrTooLarge, 0},
		"just not too large":   {hookSecret, hookSecret, good + strings.Repeat(" ", MaxBodyBytes-len(good)), nil, 200, nil, 1},
		"not an update":        {hookSecret, hookSecret, "{", nil, 200, ErrNotUpdate, 0},
		"not accepted":         {hookSecret, hookSecret, good, broken, 500, broken, 1},
		"never to be accepted": {hookSecret, hookSecret, good, table.ErrInvalid, 200, table.ErrInvalid, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &door{receipt: inbox.Receipt{Outcome: inbox.Accepted}, err: c.door}
			hook := Webhook{Secret: c.configured, Receiver: Receiver{Bot: bot, Door: d}}
			status, err := hook.Handle(t.Context(), now, c.given, []byte(c.body))
			if status != c.status || !errors.Is(err, c.err) || len(d.calls) != c.knocks {
				t.Errorf("got %d, %v, %d knocks; want %d, %v, %d", status, err, len(d.calls), c.status, c.err, c.knocks)
			}
		})
	}
}

func TestWebhookCountsWhatItCannotDecode(t *testing.T) {
	t.Parallel()
	var counted []Outcome
	hook := Webhook{Secret: hookSecret, Receiver: Receiver{Count: func(o Outcome) { counted = append(counted, o) }}}
	if _, err := hook.Handle(t.Context(), now, hookSecret, []byte("[]")); err == nil || len(counted) != 1 || counted[0] != Undecodable {
		t.Errorf("counted %v, %v", counted, err)
	}
}

// idle is a door that costs nothing.
type idle struct{}

func (idle) Accept(context.Context, time.Time, inbox.Message) (inbox.Receipt, error) {
	return inbox.Receipt{Outcome: inbox.Accepted}, nil
}

func (idle) Pair(context.Context, time.Time, inbox.Message, string) (inbox.Receipt, error) {
	return inbox.Receipt{Outcome: inbox.Paired}, nil
}

func (idle) Tell(context.Context, time.Time, inbox.Message, string) (inbox.Receipt, error) {
	return inbox.Receipt{Outcome: inbox.Accepted}, nil
}

func (idle) Stop(context.Context, time.Time, inbox.Message) (inbox.Receipt, error) {
	return inbox.Receipt{Outcome: inbox.Obeyed}, nil
}

// BenchmarkWebhook is the webhook's own work, with a door that costs nothing. It has to stay below 1 ms.
func BenchmarkWebhook(b *testing.B) {
	hook := Webhook{Secret: hookSecret, Receiver: Receiver{Bot: bot, Door: idle{}}}
	for _, name := range []string{"text_private.json", "forward_origin_user.json", "photo_caption_entities.json"} {
		body := sample(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if status, err := hook.Handle(b.Context(), now, hookSecret, body); status != http.StatusOK {
					b.Fatal(status, err)
				}
			}
		})
	}
}
