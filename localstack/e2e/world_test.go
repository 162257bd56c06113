package e2e

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
	"github.com/bobbin-agent/bobbin/shared/model/modeltest"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// world is a running Bobbin with what surrounds it.
type world interface {
	around() *surroundings
	// code makes a pairing code for a new owner of that name.
	code(t testing.TB, name string) string
}

// hooked is a world whose bot is told of updates by its webhook, at url()+"/telegram".
type hooked interface {
	world
	// url is where the webhook and the page are.
	url() string
	// home opens the page as an owner, and makes a code by which they pair another way.
	home(t testing.TB) (page *browser, code string)
}

// stored is a world whose records and objects can be got at behind Bobbin's back.
type stored interface {
	world
	// behind calls do while no worker uses the stores, and lets what do has left be found.
	behind(t testing.TB, do func(table.Table, blob.Blob))
}

// renewable is a world whose worker can be replaced by another, which knows nothing of it.
type renewable interface {
	world
	anew(t testing.TB)
}

// mortal is a world whose worker can be killed without notice, at any moment, and is replaced as its surroundings do.
type mortal interface {
	world
	kill(t testing.TB)
}

const (
	webhookSecret = "hush-e2e_secret"
	modelKey      = "sk-e2e-0123456789abcdefghij"
)

// surroundings is everything outside of Bobbin.
type surroundings struct {
	bot    *telegramtest.Server
	vendor *modeltest.Server
	mind   *mind

	patience time.Duration // how long a scenario may take
}

// surround starts the messenger and the model.
func surround(t testing.TB, patience time.Duration) *surroundings {
	t.Helper()
	bot, err := telegramtest.Start(telegramtest.Options{Second: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bot.Close)
	m := newMind()
	vendor, err := modeltest.NewServer(modeltest.Config{Key: modelKey, Model: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vendor.Close() }) // what is under way is broken off
	return &surroundings{bot: bot, vendor: vendor, mind: m, patience: patience}
}

func (s *surroundings) around() *surroundings { return s }

// within is the scenario's time.
func (s *surroundings) within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), s.patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually asks again and again, where nothing outside tells that something has happened.
func eventually(ctx context.Context, t testing.TB, what string, done func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("waiting until %s: %v", what, ctx.Err())
		}
	}
}

// bell wakes all who wait for the next change.
type bell struct {
	mu   sync.Mutex
	next chan struct{}
}

func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// client keeps no connection open, so that no server waits for it at its end.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
