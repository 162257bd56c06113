package turn

import (
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/thread"
)

func TestTheOwnerIsToldWhatWasDoneWhatHadNotBegunAndWhatIsUnknown(t *testing.T) {
	t.Parallel()
	for want, tally := range map[string]Tally{
		"There was nothing to stop.":                         {},
		"Stopped. No action had been begun.":                 {Running: 1},
		"Stopped. Not started: 1 message that waited.":       {Queued: 1},
		"Stopped. Closed: 2 open questions.":                 {Waiting: 2},
		"Stopped. Done before that: mail, search (3 times).": {Running: 1, Work: Work{Done: map[string]int{"search": 3, "mail": 1}}},
		"Stopped. No action had been begun. Not started: 2 messages that waited. Closed: 1 open question.": {Running: 2, Queued: 2, Waiting: 1},
		"Stopped. Under way, and its outcome unknown: mail (2 times), pay. Check before you ask for it again.": {
			Running: 1, Work: Work{Open: []string{"pay", "mail", "mail"}},
		},
		"Stopped. Done before that: search. Under way, and its outcome unknown: mail. Check before you ask for it again. " +
			"Not started: 1 message that waited. Closed: 1 open question.": {
			Queued: 1, Running: 1, Waiting: 1, Work: Work{Done: map[string]int{"search": 1}, Open: []string{"mail"}},
		},
	} {
		if got := tally.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The clock of whoever carries a stop out may be behind that of whoever took it.
func TestTheAnswerToAStopStandsAfterIt(t *testing.T) {
	t.Parallel()
	s := Stop{ID: "x", Thread: "t", Raised: noon}
	for _, now := range []time.Time{noon.Add(-time.Minute), noon, noon.Add(time.Minute)} {
		m := s.answer(now)
		if !m.At.After(noon) || m.At.Before(now.Truncate(time.Microsecond)) || m.From != thread.Notice {
			t.Errorf("at %v the answer is %+v", now, m)
		}
	}
	if a, b := s.answer(noon), s.answer(noon.Add(time.Hour)); a.ID != b.ID {
		t.Errorf("the answer has two names: %s, %s", a.ID, b.ID)
	}
	if a, b := s.answer(noon), (Stop{ID: "y", Thread: "t"}).answer(noon); a.ID == b.ID {
		t.Errorf("two stops are answered by one message")
	}
}
