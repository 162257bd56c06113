package e2e

import (
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// working is how long one invocation of the shortest runner works at most.
const working = 45 * time.Second

// longScript has the model take longer for its answers than one invocation of the runner may last.
const longScript = "wait 16s\ncall clock {}\nthen\nwait 16s\ncall clock {}\nthen\nwait 16s\nsay I took my time"

// longTurn is a turn that lasts longer than an invocation of the runner.
type longTurn struct {
	*person

	records table.Table
	begun   time.Time
}

func beginLongTurn(t *testing.T, w *deployed) *longTurn {
	t.Helper()
	l := &longTurn{person: owner(t, w), records: w.table(), begun: time.Now()}
	l.say(longScript)
	l.mind.wait(l.ctx, t, longScript, 1)
	return l
}

// isHandedOver expects one reply at the end of one transcript, in which every tool has been called once.
func (l *longTurn) isHandedOver(t *testing.T) {
	l.hears(t, "I took my time")
	if took := time.Since(l.begun); took < working {
		t.Errorf("the turn took %v: an invocation may work for %v, so it need not have been handed over", took, working)
	}
	l.asks(t, "say and the next", "and the next")
	l.heardAll(t)
	last := l.mind.wait(l.ctx, t, "say and the next", 1)
	if calls, results := count(last); calls != 2 || results != 2 {
		t.Errorf("the transcript has %d calls and %d results, want 2 of each", calls, results)
	}
	got := l.turn(t, l.records, longScript)
	if got.Status != turn.Succeeded || got.Steps != 3 || got.Epoch < 3 {
		t.Errorf("the turn is %+v, want it succeeded after 3 steps, in a second worker's hands", got)
	}
	t.Logf("the turn went through %d epochs", got.Epoch)
}

// turn is that of a message of the person's.
func (p *person) turn(t testing.TB, records table.Table, text string) turn.Turn {
	t.Helper()
	log, err := thread.Latest(p.ctx, records, p.thread(t, records), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range log.Messages {
		if m.From != thread.Owner || m.Text != text {
			continue
		}
		got, _, err := (&turn.Desk{Table: records}).Find(p.ctx, m.Turn)
		if err != nil || got == nil {
			t.Fatalf("reading the turn of %q: %v", text, err)
		}
		return *got
	}
	t.Fatalf("there is no message %q", text)
	return turn.Turn{}
}

// count tells how many calls and results a request's transcript has.
func count(r model.Request) (calls, results int) {
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if b.Call != nil {
				calls++
			}
			if b.Result != nil {
				results++
			}
		}
	}
	return calls, results
}
