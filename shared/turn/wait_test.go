package turn_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// open lists the turns of the chat whose waits are open.
func (w *world) open() (turns []id.Turn) {
	w.Helper()
	all, err := wait.Open(w.Context(), w.store, w.in, w.session)
	w.must(err)
	for _, o := range all {
		turns = append(turns, o.Turn)
	}
	return turns
}

// isOpen compares what the chat waits for, and checks that there is a mark for each and none besides.
func (w *world) isOpen(want ...id.Turn) {
	w.Helper()
	if diff := cmp.Diff(want, w.open()); diff != "" {
		w.Errorf("waited for: want (-), got (+):\n%s", diff)
	}
	marks := 0
	for _, item := range w.store.Items() {
		if kind(item) == "expire" {
			marks++
		}
	}
	if marks != len(want) {
		w.Errorf("%d marks for %d that are waited for", marks, len(want))
	}
}

func TestAQuestionIsOpenFromTheWriteThatTellsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.claim(w.a, noon)
	var together, apart int
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		asks, tells := false, false
		for _, op := range c.Write.Ops {
			asks = asks || op.Key == wait.Key(w.in, w.session, run.Turn().ID)
			tells = tells || op.Key == (thread.Message{ID: turn.ReplyID(run.Turn().ID), At: noon.Add(time.Second)}).Key(w.in)
		}
		switch {
		case asks && tells:
			together++
		case asks || tells:
			apart++
		}
		return tabletest.Fault{}
	}
	w.must(run.End(t.Context(), waiting(wait.Question)))
	if together != 1 || apart != 0 {
		t.Errorf("they were written together %d times, apart %d times", together, apart)
	}
	if got := w.status(run.Turn().ID).Status; got != turn.Waiting || len(w.left()) != 0 {
		t.Errorf("the turn is %s, left %v", got, w.left())
	}
	w.isOpen(run.Turn().ID)
}

func TestANewerTurnOfASessionClosesWhatItsKindSays(t *testing.T) {
	t.Parallel()
	for _, kind := range []wait.Kind{wait.Question, wait.Confirmation, wait.Form, wait.Payment} {
		for _, source := range []turn.Source{turn.User, turn.Resume, turn.Task, turn.Event} {
			t.Run(string(kind)+" "+string(source), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				asked := w.ask(w.session, kind)
				w.enqueue(w.session, source)
				run := w.start(w.a, w.session)
				w.isOpen(asked) // nothing has been saved yet
				run.Log().Append(answer("a"))
				w.must(run.Checkpoint(t.Context(), noon))
				want := []id.Turn{asked}
				if kind.Closes(source == turn.User) {
					want = nil
				}
				w.isOpen(want...)
				w.must(run.End(t.Context(), turn.Ending{Status: turn.Succeeded, At: noon.Add(time.Hour)}))
				w.isOpen(want...)
				if got := w.status(asked).Status; got != turn.Waiting {
					t.Errorf("the turn that asked is %s", got)
				}
			})
		}
	}
}

func TestAWaitThatOneTurnLeavesOpenIsClosedByALaterOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.ask(w.session, wait.Question)
	w.enqueue(w.session, turn.Resume)
	run := w.start(w.a, w.session)
	w.must(run.Checkpoint(t.Context(), noon))
	w.must(run.Handover(t.Context(), noon))
	w.must(w.goOn(w.b).End(t.Context(), done("ok")))
	w.isOpen(asked)
	w.must(w.claim(w.a, noon).Checkpoint(t.Context(), noon))
	w.isOpen()
}

// However the newer turn saves for the first time, that is when it closes what is older.
func TestEverySaveOfATurnClosesWhatItCloses(t *testing.T) {
	t.Parallel()
	for name, save := range map[string]func(*world, *turn.Run) error{
		"checkpoint": func(w *world, run *turn.Run) error { return run.Checkpoint(w.Context(), noon) },
		"begin": func(w *world, run *turn.Run) error {
			_, err := run.Begin(w.Context(), noon, []string{"search"}, "")
			return err
		},
		"steer":         func(w *world, run *turn.Run) error { _, err := w.steer(run); return err },
		"take":          func(w *world, run *turn.Run) error { w.say("more"); _, err := w.steer(run); return err },
		"handover":      func(w *world, run *turn.Run) error { return run.Handover(w.Context(), noon) },
		"end":           func(w *world, run *turn.Run) error { return run.End(w.Context(), done("ok")) },
		"another asked": func(w *world, run *turn.Run) error { return run.End(w.Context(), waiting(wait.Confirmation)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			asked := w.ask(w.session, wait.Question)
			run := w.claim(w.a, noon)
			w.must(save(w, run))
			for _, o := range w.open() {
				if o == asked {
					t.Error("it is still open")
				}
			}
		})
	}
}

// What the owner said is kept for the next turn, which closes what this one should have.
func TestATurnThatIsAbandonedClosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.ask(w.session, wait.Question)
	w.must(w.claim(w.a, noon).Abandon(t.Context(), turn.Interruption(noon)))
	w.isOpen(asked)
	w.must(w.claim(w.a, noon).End(t.Context(), done("ok")))
	w.isOpen()
}

func TestANewerQuestionClosesTheOlderOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	older := w.ask(w.session, wait.Question)
	confirmation := w.ask(w.session, wait.Confirmation) // of the owner's message, which answers the question
	w.isOpen(confirmation)
	first := w.resume(wait.Question)
	w.isOpen(confirmation, first)
	second := w.resume(wait.Question)
	w.isOpen(confirmation, second)
	third := w.resume(wait.Form)
	w.isOpen(confirmation, second, third)
	for _, u := range []id.Turn{older, confirmation, first, second, third} {
		if got := w.status(u).Status; got != turn.Waiting {
			t.Errorf("%s is %s", u, got)
		}
	}
}

// resume runs a turn that goes on from something and ends as waiting.
func (w *world) resume(kind wait.Kind) id.Turn {
	w.Helper()
	w.enqueue(w.session, turn.Resume)
	run := w.start(w.a, w.session)
	e := waiting(kind)
	w.must(run.End(w.Context(), e))
	return run.Turn().ID
}

// expire has the second desk close what a turn waits for, whose term has passed.
func (w *world) expire(asked id.Turn, now time.Time) {
	w.Helper()
	again, err := w.b.Expire(w.Context(), w.in, w.session, asked, now)
	w.must(err)
	if !again.IsZero() {
		w.Errorf("it is to be looked at again at %v", again)
	}
}

func TestWhatIsNotAnsweredInTimeIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked, other := w.ask(w.session, wait.Confirmation), w.ask(w.session, wait.Form)
	late := noon.Add(time.Second).Add(wait.Confirmation.Term()) // it was asked a second after noon
	again, err := w.b.Expire(t.Context(), w.in, w.session, asked, noon.Add(24*time.Hour))
	if w.isOpen(asked, other); err != nil || !again.Equal(late) {
		t.Errorf("within its term: look again at %v, %v", again, err)
	}
	w.expire(asked, late)
	w.isOpen(other)
	if got := w.status(asked); got.Status != turn.Cancelled || !got.Ended.Equal(late) {
		t.Errorf("the turn is %+v", got)
	}
	w.expire(asked, late) // which is done already
	if got := w.status(other).Status; got != turn.Waiting {
		t.Errorf("the other is %s", got)
	}
}

// Each of these closes a wait while somebody else is about to, who has read it and not yet its turn.
func TestOfTwoThatReleaseAWaitingTurnTheSecondHasLostARace(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(*world, id.Turn) error{
		"expire": func(w *world, asked id.Turn) error {
			_, err := w.a.Expire(w.Context(), w.in, w.session, asked, noon.Add(48*time.Hour))
			return err
		},
		"drop": func(w *world, _ id.Turn) error {
			_, err := w.a.Drop(w.Context(), w.in, w.session, noon)
			return err
		},
		"rest": func(w *world, _ id.Turn) error {
			_, err := w.a.Rest(w.Context(), w.in, w.session, noon.Add(turn.RestTerm+time.Hour))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			asked := w.ask(w.session, wait.Confirmation)
			w.beforeRead(turn.HeadKey(asked), func() { w.expire(asked, noon.Add(48*time.Hour)) })
			if err := release(w, asked); !errors.Is(err, turn.ErrRaced) {
				t.Errorf("got %v, want ErrRaced", err)
			}
		})
	}
}

func TestAStopThatFindsItsWaitBeingClosedLooksAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.ask(w.session, wait.Confirmation)
	s := w.press()
	w.beforeRead(turn.HeadKey(asked), func() { w.expire(asked, noon.Add(48*time.Hour)) })
	if done := w.halt(w.a, s); done.Tally.Waiting != 0 {
		t.Errorf("ended %+v", done.Tally)
	}
	if diff := cmp.Diff([]string{"Well?", "There was nothing to stop."}, w.told()); diff != "" {
		t.Errorf("told: want (-), got (+):\n%s", diff)
	}
}

// beforeRead has something happen once, just before a record is read.
func (w *world) beforeRead(key table.Key, do func()) {
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		if c.Method == tabletest.MethodGet && c.Key == key && do != nil {
			now := do
			do = nil
			now()
		}
		return tabletest.Fault{}
	}
}
