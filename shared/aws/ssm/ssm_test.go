package ssm

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/secret"
)

// fake has one parameter and counts how often it is asked.
type fake struct {
	name, value string
	err         error
	slow        time.Duration
	calls       atomic.Int32
}

func (f *fake) parameter(_ context.Context, name string) (string, error) {
	f.calls.Add(1)
	time.Sleep(f.slow)
	switch {
	case f.err != nil:
		return "", f.err
	case name != f.name:
		return "", errMissing
	}
	return f.value, nil
}

func TestValueIsKeptForFiveMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "/app/key", value: " old\n"}
		s := &Store{api: f, prefix: "/app/"}
		expect(t, s, "old", 1, f)
		f.value = "new"
		time.Sleep(keep - time.Nanosecond)
		expect(t, s, "old", 1, f)
		time.Sleep(time.Nanosecond)
		expect(t, s, "new", 2, f)
	})
}

func TestFailureIsNotKept(t *testing.T) {
	t.Parallel()
	f := &fake{name: "/app/key", value: "value", err: io.ErrUnexpectedEOF}
	s := &Store{api: f, prefix: "/app/"}
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, secret.ErrRefused) {
		t.Errorf("got error %v, want ErrRefused", err)
	}
	f.err = errMissing
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("got error %v, want ErrNotFound", err)
	}
	f.err = nil
	expect(t, s, "value", 3, f)
}

func TestManyWhoWantASecretAskOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "/app/key", value: "value", slow: time.Second}
		s := &Store{api: f, prefix: "/app/"}
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() { expect(t, s, "value", 1, f) })
		}
		wait.Wait()
	})
}

func expect(t *testing.T, s *Store, want string, calls int32, f *fake) {
	t.Helper()
	got, err := s.Get(t.Context(), "key")
	if got != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if n := f.calls.Load(); n != calls {
		t.Errorf("asked %d times, want %d", n, calls)
	}
}
