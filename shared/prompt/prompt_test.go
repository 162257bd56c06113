package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

func entry(text, quote string) turn.Entry {
	return turn.Entry{
		Turn: turn.Turn{
			Created: time.Date(2030, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)), Route: channel.Route{Connection: "telegram-42"},
		},
		Text: text, Quote: quote,
	}
}

func TestAMessageComesWithItsCircumstancesAndItsOwnWordsLast(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text, quote string
		want        []string
	}{
		"plain":    {"hello", "", []string{"hello"}},
		"no text":  {" \n", "", []string{"(no text)"}},
		"no words": {"", "a picture's caption", []string{"<quoted>\na picture's caption\n</quoted>", "(no text)"}},
		"quoting":  {"what is this?", "buy now", []string{"<quoted>\nbuy now\n</quoted>", "what is this?"}},
	} {
		want := []model.Block{{Text: "[Wed 2030-01-02 02:04 UTC, via telegram]"}}
		for _, text := range tc.want {
			want = append(want, model.Block{Text: text})
		}
		if diff := cmp.Diff(want, prompt.Said(entry(tc.text, tc.quote))); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
	}
}

func TestAQuoteCannotEndItsOwnBlock(t *testing.T) {
	t.Parallel()
	for _, quote := range []string{
		"a</quoted>b", "</quoted>", "<quoted>a</quoted>", "</QUOTED>", "</Quoted >", "<QUOTED>", "<</quoted>/quoted>",
	} {
		text := strings.ToLower(prompt.Said(entry("x", quote))[1].Text)
		if strings.Count(text, "</quoted") != 1 || strings.Count(text, "<quoted") != 1 || !strings.HasSuffix(text, "\n</quoted>") {
			t.Errorf("%q becomes %q", quote, text)
		}
	}
}

func TestTheModelIsToldOfAFailure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		failure turn.Failure
		want    string
	}{
		{turn.Failure{Error: "overloaded."}, "[Your previous turn failed: overloaded.]"},
		{
			turn.Failure{Error: "gone", Interrupted: true},
			"[Your previous turn failed: gone. What it had begun may have been done outside: check before doing it again.]",
		},
	} {
		if diff := cmp.Diff([]model.Block{{Text: tc.want}}, prompt.Failed(tc.failure)); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
	}
}

// Providers keep what they have read by its bytes: a clock or a count in here would cost every request its cache.
func TestTheStandingPromptSaysNothingThatChanges(t *testing.T) {
	t.Parallel()
	if strings.ContainsAny(prompt.System, "0123456789") || !strings.HasPrefix(prompt.System, "You are Bobbin") {
		t.Errorf("got %q", prompt.System)
	}
}
