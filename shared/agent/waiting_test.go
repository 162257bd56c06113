package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/tool/ask"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// payments adds a tool "pay" that has to be confirmed, and returns the calls of it that were made.
func (w *world) payments() *[]tool.Call {
	made := new([]tool.Call)
	w.Tools = append(w.Tools, tool.Tool{
		Name:    "pay",
		Confirm: func(c tool.Call) string { return "Pay " + string(c.Arguments) + "?" },
		Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			*made = append(*made, c)
			return tool.Result{Text: "paid"}, nil
		},
	})
	return made
}

// open is what the session waits for; nil if it is nothing, or more than one thing.
func (w *world) open() *wait.Wait {
	w.Helper()
	all, err := wait.Open(w.Context(), w.store, "t", "t")
	w.must(err)
	if len(all) != 1 {
		return nil
	}
	return &all[0]
}

// confirm has the owner answer what the session waits for, and claims the turn that goes on from there.
func (w *world) confirm(yes bool) *turn.Run {
	w.Helper()
	asked := w.open()
	w.must(w.store.Write(w.Context(), table.Write{ID: w.desk.IDs.New(noon), Ops: asked.Close()}))
	w.put(w.Context(), turn.Entry{
		Turn: turn.Turn{Continues: asked.Turn}, Text: "my answer", Resume: &turn.Resumption{Yes: yes, Action: asked.Action},
	})
	return w.next()
}

func TestAQuestionEndsTheTurnAsWaitingAfterWhatTheModelWrote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, remark("I found two.", "ask_user", `{"question":"Which one?","options":["red","blue"]}`), say("blue it is"))
	w.Tools = append(w.Tools, ask.Tool())
	ending := w.turn("order it")
	want := turn.Ending{
		Status: turn.Waiting, At: noon, From: thread.Agent, Text: "I found two.\n\nWhich one?\n\n- red\n- blue",
		Ask: &wait.Ask{Kind: wait.Question, Text: "Which one?\n\n- red\n- blue"},
	}
	if diff := cmp.Diff(want, ending); diff != "" || len(w.requests) != 1 {
		t.Errorf("after %d requests; want (-), got (+):\n%s", len(w.requests), diff)
	}
	if asked := w.open(); asked == nil || asked.Turn != "u1" || asked.Kind != wait.Question {
		t.Errorf("open is %+v", asked)
	}
	w.turn("blue")
	got := w.last()
	if len(got) != 5 || !strings.Contains(got[3], "has been asked") || got[4] != "user: blue" {
		t.Errorf("the model reads %q, want the answer after the question", got)
	}
	if asked := w.open(); asked != nil {
		t.Errorf("the question that was answered is open: %+v", asked)
	}
}

// The model may take long to go on from an answer. Nobody is to be told meanwhile that it is waited for.
func TestAnAnsweredQuestionIsClosedBeforeTheModelIsAsked(t *testing.T) {
	t.Parallel()
	var w *world
	later := func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
		if asked := w.open(); asked != nil { //nolint:contextcheck // it reads with the test's own
			t.Errorf("while the model answers, open is %+v", asked)
		}
		return say("blue it is")(ctx, show)
	}
	w = newWorld(t, remark("", "ask_user", `{"question":"Which one?"}`), later)
	w.Tools = append(w.Tools, ask.Tool())
	w.turn("order it")
	if ending := w.turn("blue"); ending.Status != turn.Succeeded {
		t.Errorf("got %+v", ending)
	}
}

func TestTheOthersOfAStepAreAnsweredBeforeTheOwnerIsAsked(t *testing.T) {
	t.Parallel()
	both := func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
		r, err := call("echo", `{"n":1}`)(ctx, show)
		q, _ := call("ask_user", `{"question":"Sure?"}`)(ctx, show)
		q.Blocks[0].Call.ID = "question"
		r.Blocks = append(r.Blocks, q.Blocks...)
		return r, err
	}
	w := newWorld(t, both, say("ok"))
	w.Tools = append(w.Tools, ask.Tool())
	if ending := w.turn("go"); ending.Text != "Sure?" {
		t.Errorf("got %+v", ending)
	}
	w.turn("yes, sure")
	if got := w.last(); len(got) != 6 || got[3] != `result call-0 heard {"n":1}` {
		t.Errorf("the model reads %q", got)
	}
	alternates(t, w.requests[len(w.requests)-1].Messages)
}

func TestAConfirmedActionIsMadeAsItWasAskedForOnceUnderItsOwnKey(t *testing.T) {
	t.Parallel()
	const arguments = `{"to":"Ann","amount":1.50,"account":9007199254740993}`
	w := newWorld(t, remark("That will be 1.50.", "pay", arguments), say("done"), say("bye"))
	made := w.payments()
	if ending := w.turn("pay Ann"); ending.Text != "That will be 1.50.\n\nPay "+arguments+"?\n\nYes or no?" || ending.Status != turn.Waiting {
		t.Errorf("got %+v", ending)
	}
	key := w.open().Action.Key
	if len(*made) != 0 || key == "" {
		t.Fatalf("before the owner's yes %+v were made, the key is %q", *made, key)
	}
	if ending := w.end(w.confirm(true)); ending.Text != "done" || ending.Status != turn.Succeeded {
		t.Errorf("got %+v", ending)
	}
	w.turn("thanks")
	want := []tool.Call{{Key: key, Turn: "u2", Arguments: []byte(arguments)}}
	if diff := cmp.Diff(want, *made); diff != "" {
		t.Errorf("made: want (-), got (+):\n%s", diff)
	}
	got := strings.Join(flat(w.requests[1].Messages), "\n")
	if !strings.Contains(got, "[The owner confirmed pay "+arguments+". It has been done; its result is:]\nuser: paid") {
		t.Errorf("the model reads\n%s", got)
	}
	if got := w.stored("u2"); got.Continues != "u1" || got.Source != turn.Resume {
		t.Errorf("the turn is %+v", got)
	}
}

func TestADeclinedActionIsNotMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, call("pay", `{"n":1}`), say("as you like"))
	made := w.payments()
	w.turn("pay Ann")
	w.end(w.confirm(false))
	if got := strings.Join(w.last(), "\n"); len(*made) != 0 || !strings.Contains(got, `[The owner declined pay {"n":1}. It has not been done.]`) {
		t.Errorf("%d payments; the model reads\n%s", len(*made), got)
	}
}

func TestOneYesIsForOneAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, call("pay", `{"n":1}`), call("pay", `{"n":2}`), say("done"))
	made := w.payments()
	w.turn("pay twice")
	if ending := w.end(w.confirm(true)); ending.Status != turn.Waiting || len(*made) != 1 {
		t.Errorf("got %+v after %d payments, want the second one asked for", ending, len(*made))
	}
	if asked := w.open(); asked == nil || string(asked.Action.Arguments) != `{"n":2}` {
		t.Errorf("open is %+v", asked)
	}
}

// The same call of another turn is another action.
func TestTheKeysOfActionsDiffer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, call("pay", `{"n":1}`), call("pay", `{"n":1}`), say("done"))
	w.payments()
	w.turn("pay")
	first := w.open().Action.Key
	w.end(w.confirm(true))
	if second := w.open().Action.Key; first == second {
		t.Errorf("both have the key %s", first)
	}
}

func TestAConfirmedActionThatWasInterruptedIsUnknownAndNotMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, call("pay", `{"n":1}`), say("I will look"))
	w.desk.Gone = func(string) bool { return true }
	made := w.payments()
	w.turn("pay")
	ctx, cancel := context.WithCancel(t.Context())
	pay := &w.Tools[1]
	run := pay.Run
	pay.Run = func(ctx context.Context, c tool.Call) (tool.Result, error) {
		defer cancel()
		return run(ctx, c)
	}
	if _, err := w.Work(ctx, w.confirm(true)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the end of the context", err)
	}
	w.bury(t.Context())
	w.turn("did you?")
	if got := strings.Join(w.last(), "\n"); len(*made) != 1 || !strings.Contains(got, "check before doing it again") || !strings.Contains(got, "my answer") {
		t.Errorf("made %d times; the model reads\n%s", len(*made), got)
	}
}

func TestAConfirmedActionIsBegunBeforeItIsMadeAndSavedBeforeTheNextRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, call("pay", `{"n":1}`), nil)
	w.payments()
	w.turn("pay")
	run := w.confirm(true)
	var during, after turn.Work
	pay := w.Tools[1].Run
	w.Tools[1].Run = func(ctx context.Context, c tool.Call) (tool.Result, error) {
		during = w.work(ctx)
		return pay(ctx, c)
	}
	w.answers = []answer{func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
		after = w.work(ctx)
		return say("done")(ctx, show)
	}}
	w.end(run)
	if diff := cmp.Diff(turn.Work{Turn: "u2", Open: []string{"pay"}}, during); diff != "" {
		t.Errorf("while it is made: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff(turn.Work{Turn: "u2", Done: map[string]int{"pay": 1}}, after); diff != "" {
		t.Errorf("once it is made: want (-), got (+):\n%s", diff)
	}
}

// work is what the session's turn has done, as stored.
func (w *world) work(ctx context.Context) turn.Work {
	w.Helper()
	item, err := w.store.Get(ctx, turn.SessionKey("t"))
	w.must(err)
	var h turn.Head
	_, err = table.Decode(item, &h)
	w.must(err)
	return *h.Work
}

func TestAConfirmedActionThatTookTheWorkersTimeLeavesTheRestToTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, call("pay", `{"n":1}`), say("done"))
		made := w.payments()
		pay := w.Tools[1].Run
		w.Tools[1].Limit = time.Hour
		w.Tools[1].Run = func(ctx context.Context, c tool.Call) (tool.Result, error) {
			time.Sleep(9 * time.Minute)
			return pay(ctx, c)
		}
		w.turn("pay")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		run := w.confirm(true)
		if ending, err := w.Work(ctx, run); !errors.Is(err, turn.ErrHandover) {
			t.Fatalf("got %+v, %v; want the turn handed over", ending, err)
		}
		w.must(run.Handover(ctx, noon))
		if ending := w.end(w.next()); ending.Text != "done" || len(*made) != 1 {
			t.Errorf("got %+v after %d payments", ending, len(*made))
		}
	})
}
