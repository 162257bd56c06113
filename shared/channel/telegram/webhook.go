package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"time"
)

// SecretHeader is the HTTP header in which Telegram sends the webhook's secret.
const SecretHeader = "X-Telegram-Bot-Api-Secret-Token" //nolint:gosec // the header's name, no credential

// MaxBodyBytes is the largest webhook body that is read. Telegram's own updates stay far below.
const MaxBodyBytes = 1 << 20

var (
	// ErrSecret means that a webhook call didn't carry the secret, or that none is set.
	ErrSecret = errors.New("webhook secret is missing or wrong")
	// ErrTooLarge means that a webhook's body is over MaxBodyBytes.
	ErrTooLarge = errors.New("webhook body is too large")
)

// Webhook answers Telegram's calls, whatever carries them.
type Webhook struct {
	// Secret is what setWebhook was given as secret_token. Without one every call is refused: anybody could make it.
	Secret   string
	Receiver Receiver
}

// Handle takes one call's body (up to MaxBodyBytes; one more byte is enough to be refused) and returns the HTTP status
// to answer. 200 means that what the update asks for is stored; so does an update that can't be decoded or can never
// be stored, which Telegram would otherwise send again for a day while it holds back all that follows in its chat. After
// 500 Telegram sends it again. The error says why the status is not 200, or, with 200, what could not be done; it is for
// the log alone.
func (w Webhook) Handle(ctx context.Context, now time.Time, secret string, body []byte) (status int, err error) {
	if !w.authentic(secret) {
		return http.StatusUnauthorized, ErrSecret
	}
	if len(body) > MaxBodyBytes {
		return http.StatusRequestEntityTooLarge, ErrTooLarge
	}
	u, err := Decode(body)
	if err != nil {
		w.Receiver.count(Undecodable)
		return http.StatusOK, err
	}
	_, err = w.Receiver.Receive(ctx, now, u)
	switch {
	case err == nil:
		return http.StatusOK, nil
	case never(err):
		w.Receiver.count(Failed)
		return http.StatusOK, err
	}
	return http.StatusInternalServerError, err
}

// authentic compares digests, so that the time taken tells neither content nor length.
func (w Webhook) authentic(secret string) bool {
	got, want := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(w.Secret))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && w.Secret != ""
}
