package wake_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

func TestWhatIsSentIsParsedAsItWas(t *testing.T) {
	t.Parallel()
	for _, up := range []wake.Up{wake.Session("s", "t"), wake.Conversation("telegram-1:–42 ü")} {
		for _, m := range []queue.Message{up.Message("c"), up.Rescue("c")} {
			got, err := wake.Parse(m.Body)
			if diff := cmp.Diff(up, got); err != nil || diff != "" {
				t.Errorf("parsing %s: %v, want (-), got (+):\n%s", m.Body, err, diff)
			}
		}
	}
}

func TestABodyThatIsNoWakeUpIsRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"", "x", "null", "{}", `{"session":"s"}`, `{"thread":"t"}`, `{"session":"s","thread":"t","conversation":"c"}`,
		`{"thread":"t","conversation":"c"}`, `{"session":1,"thread":"t"}`, `[]`,
	} {
		if up, err := wake.Parse(body); !errors.Is(err, wake.ErrBody) {
			t.Errorf("parsing %q = %+v, %v; want ErrBody", body, up, err)
		}
	}
}

// Whatever the cause and the conversation are called, the queue takes the wake-up.
func TestEveryWakeUpKeepsTheQueuesLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cause := rapid.String().Draw(t, "cause") + strings.Repeat("x", rapid.IntRange(0, 500).Draw(t, "more"))
		var source id.Source
		session := id.Session(source.New(time.UnixMilli(1)))
		up := rapid.SampledFrom([]wake.Up{
			wake.Session(session, id.Thread(session)), wake.Conversation(rapid.StringN(1, 300, -1).Draw(t, "conversation")),
		}).Draw(t, "up")
		for _, m := range []queue.Message{up.Message(cause), up.Rescue(cause)} {
			if err := m.Validate(); err != nil {
				t.Fatalf("%+v: %v", m, err)
			}
		}
	})
}

func TestOneCauseAsksOnceAndTwoCausesTwice(t *testing.T) {
	t.Parallel()
	a, b := wake.Session("s", "t"), wake.Session("other", "t")
	if again := a; a.Message("c") != again.Message("c") {
		t.Error("the same cause gave two wake-ups")
	}
	seen := map[string]bool{}
	for _, m := range []queue.Message{
		a.Message("c"), a.Message("d"), a.Rescue("c"), a.Rescue("d"), b.Message("c"), wake.Conversation("s").Message("c"),
	} {
		if seen[m.Dedup] {
			t.Errorf("%+v would be taken for another", m)
		}
		seen[m.Dedup] = true
	}
}

func TestARescueDoesNotWaitBehindTheOrdinaryWakeUps(t *testing.T) {
	t.Parallel()
	for _, up := range []wake.Up{wake.Session("s", "t"), wake.Conversation("c")} {
		if up.Message("x").Group == up.Rescue("x").Group {
			t.Errorf("%+v: both are in group %s, which a dead worker's wake-up may hold", up, up.Message("x").Group)
		}
	}
}
