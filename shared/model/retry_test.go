package model_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// attempts is a model that plays one attempt after the other and notes when each began.
type attempts struct {
	start time.Time
	plays []func(show func(model.Delta)) (model.Response, error)
	at    []time.Duration
}

func (a *attempts) Info() model.Info { return model.Info{Provider: "fake", Name: "attempts"} }

func (a *attempts) Stream(
	_ context.Context, _ model.Request, show func(model.Delta),
) (model.Response, error) {
	n := len(a.at)
	a.at = append(a.at, time.Since(a.start))
	return a.plays[min(n, len(a.plays)-1)](show)
}

type play = func(show func(model.Delta)) (model.Response, error)

func failing(e *model.Error, shown string) play {
	return func(show func(model.Delta)) (model.Response, error) {
		if shown != "" && show != nil {
			show(model.Delta{Kind: model.DeltaText, Text: shown})
		}
		return model.Response{}, e
	}
}

func answering(text string) play {
	return func(show func(model.Delta)) (model.Response, error) {
		if show != nil {
			show(model.Delta{Kind: model.DeltaText, Text: text})
		}
		return model.Response{Blocks: []model.Block{{Text: text}}, Stop: model.StopEnd}, nil
	}
}

func temporary(after time.Duration) *model.Error {
	return &model.Error{Provider: "fake", Kind: model.ErrorTemporary, Message: "overloaded", RetryAfter: after}
}

func TestTemporaryErrorsAreTriedAgainWithGrowingWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		plays []play
		at    []time.Duration // of the attempts
		kind  model.ErrorKind // of the error in the end
		ok    bool
	}{
		{"the first attempt succeeds", []play{answering("hi")}, []time.Duration{0}, 0, true},
		{
			"three failures are outlived",
			[]play{failing(temporary(0), ""), failing(temporary(0), ""), failing(temporary(0), ""), answering("hi")},
			[]time.Duration{0, 2 * time.Second, 6 * time.Second, 14 * time.Second},
			0, true,
		},
		{
			"the fourth failure is the answer",
			[]play{failing(temporary(0), "")},
			[]time.Duration{0, 2 * time.Second, 6 * time.Second, 14 * time.Second},
			model.ErrorTemporary, false,
		},
		{
			"the server's own wait is honoured",
			[]play{failing(temporary(25*time.Second), ""), answering("hi")},
			[]time.Duration{0, 25 * time.Second},
			0, true,
		},
		{
			"up to a minute",
			[]play{failing(temporary(time.Minute), ""), answering("hi")},
			[]time.Duration{0, 60 * time.Second},
			0, true,
		},
		{
			"a longer one ends it at once",
			[]play{failing(temporary(time.Minute+time.Millisecond), ""), answering("hi")},
			[]time.Duration{0},
			model.ErrorTemporary, false,
		},
		{
			"and it never shortens ours",
			[]play{failing(temporary(time.Second), ""), answering("hi")},
			[]time.Duration{0, 2 * time.Second},
			0, true,
		},
		{
			"an overflow comes back at once",
			[]play{failing(&model.Error{Kind: model.ErrorOverflow}, "")},
			[]time.Duration{0},
			model.ErrorOverflow, false,
		},
		{
			"a wrong key comes back at once",
			[]play{failing(&model.Error{Kind: model.ErrorAuth}, "")},
			[]time.Duration{0},
			model.ErrorAuth, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &attempts{start: time.Now(), plays: tt.plays}
				_, err := model.Retry(m).Stream(t.Context(), model.Request{}, nil)
				if diff := cmp.Diff(tt.at, m.at); diff != "" {
					t.Errorf("attempts came at other times (-want +got):\n%s", diff)
				}
				if tt.ok != (err == nil) {
					t.Fatalf("got error %v, want success: %v", err, tt.ok)
				}
				if e, _ := errors.AsType[*model.Error](err); err != nil && (e == nil || e.Kind != tt.kind) {
					t.Errorf("got %v, want kind %v", err, tt.kind)
				}
			})
		})
	}
}

func TestFailedAttemptThatShowedSomethingIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &attempts{start: time.Now(), plays: []play{
			failing(temporary(0), "hal"), failing(temporary(0), ""), answering("hello"),
		}}
		var got []model.Delta
		_, err := model.Retry(m).Stream(t.Context(), model.Request{}, func(d model.Delta) { got = append(got, d) })
		if err != nil {
			t.Fatal(err)
		}
		want := []model.Delta{
			{Kind: model.DeltaText, Text: "hal"}, {Kind: model.DeltaRestart}, {Kind: model.DeltaText, Text: "hello"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("shown otherwise (-want +got):\n%s", diff)
		}
	})
}

func TestCancelledWaitEndsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m := &attempts{start: time.Now(), plays: []play{failing(temporary(0), "")}}
		_, err := model.Retry(m).Stream(ctx, model.Request{}, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		if waited := time.Since(m.start); waited != time.Second {
			t.Errorf("waited %v after the context had ended", waited-time.Second)
		}
	})
}

func TestRedactCutsEveryFormOfASecret(t *testing.T) {
	t.Parallel()
	const key = "sk-a+b/c=d é"
	tests := []struct{ name, text, want string }{
		{"as it is", "key " + key + "!", "key [redacted]!"},
		{"in a query", "?key=sk-a%2Bb%2Fc%3Dd+%C3%A9&x=1", "?key=[redacted]&x=1"},
		{"in a path", "/sk-a+b%2Fc=d%20%C3%A9/", "/[redacted]/"},
		{"in base64", "c2stYStiL2M9ZCDDqQ==.", "[redacted]."},
		{"in base64 without padding", "c2stYStiL2M9ZCDDqQ.", "[redacted]."},
		{"not there", "nothing to see", "nothing to see"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := model.Redact(tt.text, "", "x", " "+key+"\n"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
