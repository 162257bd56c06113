package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/inbox"
)

const (
	// cookieName has the prefix that makes browsers insist on Secure, this very host and the whole of it.
	cookieName = "__Host-bobbin"
	// cookieAge is the longest that browsers keep one.
	cookieAge = 400 * 24 * time.Hour
	// keyBytes is the length of what a cookie holds: 256 random bits.
	keyBytes = 32
	// maxCode bounds a pairing code, and maxPairBody the request around it, in bytes.
	maxCode     = 128
	maxPairBody = 4 << 10
)

// external is the channel's ID of whoever sent the request; "" without a cookie of ours. The store holds only the
// cookie's hash, so that reading it gives nobody a way in.
func (s *Site) external(r *http.Request) string {
	if s.Local != "" {
		return s.Local
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	if key, err := base64.RawURLEncoding.DecodeString(cookie.Value); err != nil || len(key) != keyBytes {
		return ""
	}
	return hash(cookie.Value)
}

func hash(value string) string {
	h := sha256.Sum256([]byte(value))
	return hex.EncodeToString(h[:])
}

func (s *Site) who(r *http.Request) (Person, error) {
	external := s.external(r)
	if external == "" {
		return Person{}, ErrStranger
	}
	p, err := s.People.Find(r.Context(), external)
	p.external = external
	return p, err
}

// known lets a handler run for the owner only.
func (s *Site) known(h func(http.ResponseWriter, *http.Request, Person) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := s.who(r)
		if errors.Is(err, ErrStranger) {
			return refuse(http.StatusUnauthorized, "This browser is not paired.")
		}
		if err != nil {
			return err
		}
		return h(w, r, p)
	}
}

// pair gives the browser a new cookie if its code is good. An answer that gets lost leaves a cookie nobody has and a
// code that is used up: the owner makes another.
func (s *Site) pair(w http.ResponseWriter, r *http.Request) error {
	if s.Local != "" {
		return refuse(http.StatusNotFound, "This server needs no pairing.")
	}
	var body struct {
		Code string `json:"code"`
	}
	if err := decode(w, r, maxPairBody, &body); err != nil {
		return err
	}
	code := strings.TrimSpace(body.Code)
	if code == "" || len(code) > maxCode {
		return refuse(http.StatusBadRequest, "This is no pairing code.")
	}
	key := newKey()
	paired, err := s.knock(r.Context(), hash(key), code)
	if err != nil {
		return err
	}
	if !paired {
		return refuse(http.StatusForbidden, "This code is wrong, or was used before.")
	}
	http.SetCookie(w, cookie(key))
	return reply(w, http.StatusOK, map[string]bool{"paired": true})
}

func (s *Site) knock(ctx context.Context, sender, code string) (paired bool, err error) {
	now := s.Now()
	receipt, err := s.Door.Pair(ctx, now, message(now, sender, "pair-"+sender, "", sender), code)
	return receipt.Outcome == inbox.Paired, err
}

func newKey() string {
	var key [keyBytes]byte
	_, _ = rand.Read(key[:]) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(key[:])
}

func cookie(value string) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: int(cookieAge / time.Second),
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	}
}

// status tells a stranger only that it is one.
func (s *Site) status(w http.ResponseWriter, r *http.Request) error {
	_, err := s.who(r)
	if errors.Is(err, ErrStranger) {
		return reply(w, http.StatusOK, map[string]bool{"paired": false})
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, struct {
		Paired   bool `json:"paired"`
		Live     bool `json:"live"`
		Clearing bool `json:"clearing"`
		About
	}{true, s.Live != nil, s.Clearing, s.About})
}
