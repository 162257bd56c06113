package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/fault"
)

var errBase = errors.New("base")

func TestOfAnswersWithTheOutermostClassification(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want fault.Verdict
	}{
		"nobody knows":        {errBase, fault.Verdict{Action: fault.GiveUp}},
		"none":                {nil, fault.Verdict{Action: fault.GiveUp}},
		"retry":               {fault.As(fault.Retry, errBase), fault.Verdict{Action: fault.Retry}},
		"retry after":         {fault.RetryAfter(time.Minute, errBase), fault.Verdict{Action: fault.Retry, After: time.Minute}},
		"wrapped":             {fmt.Errorf("doing: %w", fault.As(fault.Unknown, errBase)), fault.Verdict{Action: fault.Unknown}},
		"classified twice":    {fault.As(fault.Drop, fault.As(fault.Retry, errBase)), fault.Verdict{Action: fault.Drop}},
		"joined":              {errors.Join(errBase, fault.As(fault.Drop, errBase)), fault.Verdict{Action: fault.Drop}},
		"cancelled":           {fmt.Errorf("doing: %w", context.Canceled), fault.Verdict{Action: fault.Drop}},
		"cancelled but known": {fault.As(fault.Unknown, context.Canceled), fault.Verdict{Action: fault.Unknown}},
		"out of time":         {context.DeadlineExceeded, fault.Verdict{Action: fault.GiveUp}},
	} {
		if diff := cmp.Diff(tc.want, fault.Of(tc.err)); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
	}
}

func TestAClassifiedErrorReadsAndUnwrapsAsTheOriginal(t *testing.T) {
	t.Parallel()
	for _, err := range []error{fault.As(fault.Retry, errBase), fault.RetryAfter(time.Second, errBase)} {
		if err.Error() != "base" || !errors.Is(err, errBase) {
			t.Errorf("got %v, want the words and the identity of the original", err)
		}
	}
}

func TestNilStaysNil(t *testing.T) {
	t.Parallel()
	if fault.As(fault.Drop, nil) != nil || fault.RetryAfter(time.Second, nil) != nil {
		t.Error("classifying no error made one")
	}
}

func TestEveryActionHasAName(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(fault.GiveUp, fault.Retry, fault.Drop, fault.Unknown, fault.Action(99))
	if want := "give up retry drop unknown invalid"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
