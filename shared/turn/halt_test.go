package turn_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// A process that dies between two writes of the stop leaves it to whoever goes on. All the places where that can happen
// are tried: the first writes are heard of, then one is refused or applied unheard, and then there is silence.
func TestAStopThatWasBrokenOffAnywhereIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []tabletest.Kind{tabletest.Refused, tabletest.Unheard} {
		for n, whole := 1, false; !whole; n++ {
			t.Run(fmt.Sprintf("kind %d in write %d", kind, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBusy(t)
					b.dieAfter(n, kind)
					_, err := b.a.Halt(t.Context(), b.in, b.stop.Record())
					whole = err == nil
					b.store.Fault = nil
					b.halt(b.b, b.stop)
					b.complete()
				})
			})
			if n > 20 {
				t.Fatal("it never ends")
			}
		}
	}
}

// dieAfter lets n-1 writes through; of the next one kind becomes, and all that follow are refused.
func (w *world) dieAfter(n int, kind tabletest.Kind) {
	seen := map[string]bool{}
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.Method != tabletest.MethodWrite {
			return tabletest.Fault{}
		}
		again := seen[c.Write.ID]
		seen[c.Write.ID] = true
		switch {
		case len(seen) < n:
			return tabletest.Fault{}
		case len(seen) == n && !again:
			return tabletest.Fault{Kind: kind}
		}
		return tabletest.Fault{Kind: tabletest.Refused}
	}
}

func TestAStopThatSeveralCarryOutAtOnceIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]time.Duration{"in step": time.Millisecond, "at once": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBusy(t)
				if slow > 0 {
					b.store.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Slow(slow) }
				}
				var group sync.WaitGroup
				for _, d := range []*turn.Desk{b.a, b.b, b.a} {
					group.Go(func() {
						if _, err := d.Halt(t.Context(), b.in, b.stop.Record()); err != nil {
							t.Errorf("got %v", err)
						}
					})
				}
				group.Wait()
				b.store.Fault = nil
				b.complete()
			})
		})
	}
}

// Each of the two would tell the owner at a time of its own.
func TestAStopThatAnotherHasJustAnsweredIsNotAnsweredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := turn.Stop{ID: "stop", Thread: w.in, Route: route, Raised: time.Now()}
		w.write(s.Press()...)
		answers := func(write table.Write) bool {
			return slices.ContainsFunc(write.Ops, func(op table.Op) bool {
				return op.Kind == table.OpDelete && op.Key.Sort == s.Record()
			})
		}
		w.beforeWrite(answers, func() {
			time.Sleep(time.Second)
			w.halt(w.b, s)
		})
		if again := w.halt(w.a, s); again != nil {
			t.Errorf("the first carried out %+v", again)
		}
		if diff := cmp.Diff([]string{"There was nothing to stop."}, w.told()); diff != "" {
			t.Errorf("told: want (-), got (+):\n%s", diff)
		}
	})
}

func TestAStopLooksAgainWhenWhatItEndsHasChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(*world, *turn.Run)
		want      string
	}{
		"the running turn has ended": {
			func(w *world, run *turn.Run) { w.must(run.End(w.Context(), done("ok"))) },
			"Stopped. Not started: 2 messages that waited.",
		},
		"the running turn has taken the others": {
			func(w *world, run *turn.Run) { _, err := w.steer(run); w.must(err) },
			"Stopped. No action had been begun.",
		},
		"a message was withdrawn": {
			func(w *world, _ *turn.Run) { w.withdraw(w.queued()[0]) },
			"Stopped. No action had been begun. Not started: 1 message that waited.",
		},
		"the turn was handed over": {
			func(w *world, run *turn.Run) { w.must(run.Handover(w.Context(), noon)) },
			"Stopped. No action had been begun. Not started: 2 messages that waited.",
		},
		"another turn has begun": {
			func(w *world, run *turn.Run) {
				w.must(run.End(w.Context(), done("ok")))
				w.start(w.b, w.session)
			},
			"Stopped. No action had been begun. Not started: 1 message that waited.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := w.claim(w.a, noon)
			w.say("one")
			w.say("two")
			s := w.pressIn(w.session)
			w.beforeWrite(func(table.Write) bool { return true }, func() { c.meanwhile(w, run) })
			w.halt(w.b, s)
			told := w.told()
			if diff := cmp.Diff(c.want, told[len(told)-1]); diff != "" || len(w.left()) != 0 {
				t.Errorf("left %v; told: want (-), got (+):\n%s", w.left(), diff)
			}
			w.countsAreRight()
		})
	}
}
