package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// working is how long one invocation of the shortest runner works at most.
const working = 45 * time.Second

// The model takes longer for its answers than one invocation of the runner may last.
func longTurnIsHandedOver(t testing.TB, w world) {
	p := owner(t, w)
	const script = "wait 16s\ncall clock {}\nthen\nwait 16s\ncall clock {}\nthen\nwait 16s\nsay I took my time"
	begun := time.Now()
	p.say(script)
	p.hears(t, "I took my time")
	if took := time.Since(begun); took < working {
		t.Errorf("the turn took %v: an invocation may work for %v, so it need not have been handed over", took, working)
	}
	p.asks(t, "say and the next", "and the next")
	p.heardAll(t)
	last := p.mind.wait(p.ctx, t, "say and the next", 1)
	if calls, results := count(last); calls != 2 || results != 2 {
		t.Errorf("the transcript has %d calls and %d results, want 2 of each", calls, results)
	}
	got := p.turn(t, w.(*deployed).table(), script)
	if got.Status != turn.Succeeded || got.Steps != 3 || got.Epoch < 3 {
		t.Errorf("the turn is %+v, want it succeeded after 3 steps, in a second worker's hands", got)
	}
	t.Logf("the turn went through %d epochs", got.Epoch)
}

// turn is that of a message of the person's.
func (p *person) turn(t testing.TB, records table.Table, text string) (found turn.Turn) {
	t.Helper()
	log, err := thread.Latest(p.ctx, records, p.thread(t, records), "", 100)
	for _, m := range log.Messages {
		if m.From == thread.Owner && m.Text == text {
			var got *turn.Turn
			got, _, err = (&turn.Desk{Table: records}).Find(p.ctx, m.Turn)
			found = *got
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// count tells how many calls and results a request's transcript has.
func count(r model.Request) (calls, results int) {
	for _, b := range slices.Concat(blocksOf(r)...) {
		if b.Call != nil {
			calls++
		}
		if b.Result != nil {
			results++
		}
	}
	return calls, results
}

func blocksOf(r model.Request) (blocks [][]model.Block) {
	for _, m := range r.Messages {
		blocks = append(blocks, m.Blocks)
	}
	return blocks
}
