package turn_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// drop has a session forget.
func (w *world) drop(session id.Session) {
	w.Helper()
	ops, err := w.a.Drop(w.Context(), w.in, session, noon)
	w.must(err)
	w.write(ops...)
}

// fence reads a session's fence.
func (w *world) fence(session id.Session) (f turn.Fence) {
	w.Helper()
	item, err := w.store.Get(w.Context(), turn.FenceKey(session))
	w.must(err)
	_, err = table.Decode(item, &f)
	w.must(err)
	return f
}

func TestASessionThatIsDroppedForgetsAllAndKeepsItsPlaceInTheConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.ask(w.session, wait.Confirmation)
	run := w.claim(w.a, noon)
	run.Log().Append(answer("secret"))
	w.must(run.End(t.Context(), turn.Unexpected(errors.New("broken"), noon.Add(time.Minute))))
	w.drop(w.session)
	w.isOpen()
	if got := w.status(asked).Status; got != turn.Cancelled {
		t.Errorf("what it waited for is %s", got)
	}
	if got := w.fence(w.session).Epoch; got != 3 {
		t.Errorf("the epoch is %d, want one more than two turns make", got)
	}
	next := w.claim(w.a, noon)
	if len(next.Log().Entries()) != 0 || len(next.Previous()) != 0 {
		t.Errorf("it remembers %+v, %+v", next.Log().Entries(), next.Previous())
	}
	w.must(next.End(t.Context(), done("anew"))) // by a clock that is behind
	told := w.told()
	if diff := cmp.Diff([]string{"Well?", turn.GenericNotice, "anew"}, told); diff != "" {
		t.Errorf("told: want (-), got (+):\n%s", diff)
	}
	if c, err := w.a.Conversation(t.Context(), w.session); c != route.Key() || err != nil {
		t.Errorf("its conversation is %q, %v", c, err)
	}
}

func TestASessionIsNotDroppedWhileATurnRuns(t *testing.T) {
	t.Parallel()
	for name, hand := range map[string]bool{"by a worker": false, "handed over": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := w.claim(w.a, noon)
			if hand {
				w.must(run.Handover(t.Context(), noon))
			}
			if ops, err := w.b.Drop(t.Context(), w.in, w.session, noon); !errors.Is(err, turn.ErrRuns) || len(ops) != 0 {
				t.Errorf("got %v, %v", ops, err)
			}
		})
	}
}

func TestADropAndAClaimCannotBothSucceed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.claim(w.a, noon).End(t.Context(), done("ok")))
	w.say("more")
	v := w.look(w.b)
	ops, err := w.a.Drop(t.Context(), w.in, w.session, noon)
	w.must(err)
	w.drop(w.session)
	if _, err := w.b.Claim(t.Context(), v, noon); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("a claim after the drop: %v, want ErrRaced", err)
	}
	w.claimNext(w.b, noon)
	err = w.store.Write(t.Context(), table.Write{ID: "late", Ops: ops})
	if _, failed := errors.AsType[*table.ConditionError](err); !failed {
		t.Errorf("a drop after the claim: %v, want a condition that failed", err)
	}
}

func TestASessionThatNeverRanHasNothingToDrop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("hello")
	if ops, err := w.a.Drop(t.Context(), w.in, w.session, noon); len(ops) != 0 || err != nil {
		t.Errorf("got %v, %v", ops, err)
	}
	if again, err := w.a.Rest(t.Context(), w.in, w.session, noon); !again.IsZero() || err != nil {
		t.Errorf("to rest: got %v, %v", again, err)
	}
}

// rested is a world with a conversation that has a session of its own, in which a turn has ended a second after noon.
func rested(t *testing.T) (*world, id.Session) {
	t.Helper()
	w := newWorld(t)
	own := turn.ConversationSession(w.in, route)
	w.enqueue(own, turn.User)
	run := w.start(w.a, own)
	run.Log().Append(answer("a"))
	w.must(run.End(t.Context(), done("ok")))
	return w, own
}

func (w *world) restMarks() (marks int) {
	for _, item := range w.store.Items() {
		if kind(item) == "rest" {
			marks++
		}
	}
	return marks
}

func TestAConversationsOwnSessionHasOneMarkForItsRest(t *testing.T) {
	t.Parallel()
	w, own := rested(t)
	w.enqueue(own, turn.User)
	w.must(w.start(w.a, own).Handover(t.Context(), noon))
	v, err := w.b.Look(t.Context(), own, w.in)
	w.must(err)
	run, err := w.b.Continue(t.Context(), v, noon)
	w.must(err)
	w.must(run.Abandon(t.Context(), turn.Interruption(noon)))
	w.drop(own)
	w.enqueue(own, turn.User)
	w.start(w.a, own)
	if got := w.restMarks(); got != 1 || !w.fence(own).Rests {
		t.Errorf("there are %d, the fence is %+v", got, w.fence(own))
	}
	w.claim(w.a, noon) // in the chat, which has none
	if got := w.restMarks(); got != 1 {
		t.Errorf("with the chat's there are %d", got)
	}
}

func TestASessionRestsWhenItHasBeenIdleForAWeek(t *testing.T) {
	t.Parallel()
	w, own := rested(t)
	end := noon.Add(time.Second)
	for name, c := range map[string]struct{ now, want time.Time }{
		"at once":            {end, end.Add(turn.RestTerm)},
		"a moment too early": {end.Add(turn.RestTerm - time.Millisecond), end.Add(turn.RestTerm)},
	} {
		if again, err := w.a.Rest(t.Context(), w.in, own, c.now); err != nil || !again.Equal(c.want) {
			t.Errorf("%s: look again at %v, %v, want %v", name, again, err, c.want)
		}
	}
	if got := w.fence(own); got.Epoch != 1 || !got.Rests {
		t.Fatalf("the fence is %+v before it rests", got)
	}
	again, err := w.a.Rest(t.Context(), w.in, own, end.Add(turn.RestTerm))
	if got := w.fence(own); err != nil || !again.IsZero() || got.Epoch != 2 || got.Rests {
		t.Errorf("the fence is %+v, look again at %v, %v", got, again, err)
	}
	w.enqueue(own, turn.User)
	if next := w.startAt(w.a, own, noon.Add(time.Hour)); len(next.Log().Entries()) != 0 || !w.fence(own).Rests {
		t.Errorf("it remembers %+v; the fence is %+v", next.Log().Entries(), w.fence(own))
	}
}

func TestASessionDoesNotRestWhileATurnRuns(t *testing.T) {
	t.Parallel()
	w, own := rested(t)
	w.enqueue(own, turn.User)
	w.start(w.a, own)
	now := noon.Add(2 * turn.RestTerm)
	if again, err := w.b.Rest(t.Context(), w.in, own, now); err != nil || !again.After(now) {
		t.Errorf("look again at %v, %v", again, err)
	}
}

func TestOfARestAndAClaimOneSucceeds(t *testing.T) {
	t.Parallel()
	w, own := rested(t)
	w.enqueue(own, turn.User)
	w.beforeWrite(func(table.Write) bool { return true }, func() { w.start(w.a, own) })
	if _, err := w.b.Rest(t.Context(), w.in, own, noon.Add(2*turn.RestTerm)); !errors.Is(err, turn.ErrRaced) {
		t.Errorf("got %v, want ErrRaced", err)
	}
}
