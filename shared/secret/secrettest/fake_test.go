package secrettest_test

import (
	"errors"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/secret"
	"github.com/bobbin-agent/bobbin/shared/secret/secrettest"
)

func TestFakeKeepsTheSeamsGuarantees(t *testing.T) {
	t.Parallel()
	secrettest.Run(t, func(_ *testing.T, secrets map[string]string) secret.Store { return secrettest.NewFake(secrets) })
}

func TestFakeRefusesAsToldAndCounts(t *testing.T) {
	t.Parallel()
	f := &secrettest.Fake{Refuse: func(_ string, n int) bool { return n == 1 }}
	f.Set("key", "value")
	if _, err := f.Get(t.Context(), "key"); !errors.Is(err, secret.ErrRefused) || !errors.Is(err, secrettest.ErrInjected) {
		t.Errorf("got error %v, want an injected refusal", err)
	}
	if got, err := f.Get(t.Context(), "key"); got != "value" || err != nil {
		t.Errorf("got %q, %v after the refusal", got, err)
	}
	f.Set("key", "")
	if _, err := f.Get(t.Context(), "key"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("got error %v for a removed secret, want ErrNotFound", err)
	}
	if n := f.Calls()["key"]; n != 3 {
		t.Errorf("counted %d reads, want 3", n)
	}
}
