package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/live"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

func TestAnAnswerWithoutToolsEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("hi"))
	ending := w.turn("hello")
	want := turn.Ending{Status: turn.Succeeded, Text: "hi", From: thread.Agent, At: noon}
	if diff := cmp.Diff(want, ending); diff != "" || len(w.requests) != 1 {
		t.Errorf("%d requests; want (-), got (+):\n%s", len(w.requests), diff)
	}
	w.read("user: hello")
	if got := w.requests[0]; got.System != prompt.System || len(got.Tools) != 1 || got.Tools[0].Name != "echo" {
		t.Errorf("the request is %+v", got)
	}
}

func TestTheNextTurnRemembersAndRepeatsThePrefixByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("hi"), call("echo", `{"n":1}`), say("done"), say("bye"))
	w.turn("hello")
	w.turn("go")
	w.turn("thanks")
	w.read("user: hello", "assistant: hi", "user: go", `call echo {"n":1}`, `result call-0 heard {"n":1}`, "assistant: done", "user: thanks")
	encode := func(m []model.Message) string {
		b, err := json.Marshal(m)
		w.must(err)
		return strings.TrimSuffix(string(b), "]")
	}
	for i := 1; i < len(w.requests); i++ {
		before, after := encode(w.requests[i-1].Messages), encode(w.requests[i].Messages)
		if !strings.HasPrefix(after, before) {
			t.Errorf("request %d does not begin with request %d", i+1, i)
		}
	}
}

func TestToolsRunSideBySideAndTheirResultsGoBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, call("echo", `{"n":1}`, `{"n":2}`), say("done"))
		echo := w.Tools[0].Run
		w.Tools[0].Run = func(ctx context.Context, c tool.Call) (tool.Result, error) {
			time.Sleep(time.Second)
			return echo(ctx, c)
		}
		begun := time.Now()
		if ending := w.turn("go"); ending.Text != "done" || time.Since(begun) != time.Second {
			t.Errorf("got %+v after %v", ending, time.Since(begun))
		}
		w.read("user: go", `call echo {"n":1}`, `call echo {"n":2}`, `result call-0 heard {"n":1}`, `result call-1 heard {"n":2}`)
	})
}

func TestMessagesThatComeWhileAToolRunsReachTheNextRequestInOrderAfterTheResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, call("echo", `{"n":1}`, `{"n":2}`), call("echo", `{"n":3}`), say("all done"), say("bye"))
	var shown []live.Event
	w.Show = func(_ turn.Turn, e live.Event) { shown = append(shown, e) }
	w.Tools[0].Run = func(ctx context.Context, c tool.Call) (tool.Result, error) {
		switch string(c.Arguments) {
		case `{"n":1}`:
			w.queue(ctx, "also this")
			w.queue(ctx, "and that")
		case `{"n":3}`:
			w.queue(ctx, "one more")
		}
		return tool.Result{Text: "ok"}, nil
	}
	if ending := w.turn("go"); ending.Text != "all done" {
		t.Errorf("got %+v", ending)
	}
	w.read("user: go", `call echo {"n":1}`, `call echo {"n":2}`, "result call-0 ok", "result call-1 ok",
		"user: also this", "user: and that", `call echo {"n":3}`, "result call-0 ok", "user: one more")
	var want []live.Event
	for _, u := range []id.Turn{"u2", "u3", "u4"} {
		want = append(want, live.Event{Kind: live.Stored, Turn: u}, live.Event{Kind: live.Turned, Turn: u, Status: live.Ended})
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("shown: want (-), got (+):\n%s", diff)
	}
	w.turn("thanks")
	for _, r := range w.requests {
		alternates(t, r.Messages)
	}
	if view, err := w.desk.Look(t.Context(), "t", "t"); err != nil || view.Next != nil {
		t.Errorf("still queued: %+v, error %v", view.Next, err)
	}
}

// alternates expects messages of the user and the assistant by turns, every call answered by the message after it.
func alternates(t *testing.T, messages []model.Message) {
	t.Helper()
	var open []string
	for i, m := range messages {
		if want := []model.Role{model.User, model.Assistant}[i%2]; m.Role != want {
			t.Errorf("message %d is the %s's, want the %s's", i, m.Role, want)
		}
		var called, answered []string
		for _, b := range m.Blocks {
			switch {
			case b.Call != nil:
				called = append(called, b.Call.ID)
			case b.Result != nil:
				answered = append(answered, b.Result.CallID)
			}
		}
		if diff := cmp.Diff(open, answered); diff != "" {
			t.Errorf("message %d answers: want (-), got (+):\n%s", i, diff)
		}
		open = called
	}
}

func TestWhatGoesWrongWithAToolGoesBackToTheModel(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer answer
		run    func(context.Context, tool.Call) (tool.Result, error)
		want   string
	}{
		"unknown tool":      {call("none", `{}`), nil, "There is no tool"},
		"invalid arguments": {call("echo", `{"_invalid":"{"}`), nil, "not valid JSON"},
		"panic":             {call("echo", `{}`), func(context.Context, tool.Call) (tool.Result, error) { panic("oops") }, "The tool broke: oops"},
		"timeout": {call("echo", `{}`), func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}, "did not answer within 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tc.answer, say("I see"))
				if tc.run != nil {
					w.Tools[0].Run = tc.run
				}
				if ending := w.turn("go"); ending.Status != turn.Succeeded || ending.Text != "I see" {
					t.Errorf("got %+v", ending)
				}
				if got := w.last(); !strings.Contains(got[len(got)-1], tc.want) {
					t.Errorf("the model reads %q, want it to say %q", got, tc.want)
				}
			})
		})
	}
}

func TestCallsAreSavedBeforeTheyAreMadeAndTheirResultsBeforeTheNextRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, call("echo", `{}`), say("done"))
	saved := func() int {
		item, err := w.store.Get(t.Context(), turn.SessionKey("t"))
		w.must(err)
		var h turn.Head
		_, err = table.Decode(item, &h)
		w.must(err)
		return h.Manifest.Entries()
	}
	var before, between int
	w.Tools[0].Run = func(context.Context, tool.Call) (tool.Result, error) {
		before = saved()
		return tool.Result{}, nil
	}
	w.answers[1] = func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
		between = saved()
		return say("done")(ctx, show)
	}
	w.turn("go")
	if before != 2 || between != 3 || saved() != 4 {
		t.Errorf("saved are %d, %d, %d entries; want the question and the calls, the results, the reply", before, between, saved())
	}
}

func TestAFencedTurnMakesNoCallsAndNoFurtherRequest(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]int{"before the calls": 0, "after them": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, say("done"))
			w.desk.Gone = func(string) bool { return true }
			made := 0
			w.Tools[0].Run = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				if made++; at == 1 {
					w.bury(ctx)
				}
				return tool.Result{}, nil
			}
			w.answers[0] = func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
				if at == 0 {
					w.bury(ctx)
				}
				return call("echo", `{}`)(ctx, show)
			}
			if _, err := w.Work(t.Context(), w.claim("go")); !errors.Is(err, turn.ErrFenced) {
				t.Errorf("got %v, want ErrFenced", err)
			}
			if made != at || len(w.requests) != 1 {
				t.Errorf("%d calls and %d requests were made, want %d and 1", made, len(w.requests), at)
			}
		})
	}
}

func TestTheOwnerReadsTheProvidersOwnWords(t *testing.T) {
	t.Parallel()
	overloaded := &model.Error{Provider: "acme", Kind: model.ErrorTemporary, Status: 529, Message: "Overloaded"}
	forbidden := &model.Error{Provider: "acme", Kind: model.ErrorAuth, Status: 401, Message: "invalid key"}
	unknown := &model.Error{Provider: "acme", Kind: model.ErrorName, Status: 404, Message: "no model x"}
	for name, tc := range map[string]struct {
		err  error
		want []string
	}{
		"an unknown model":      {unknown, []string{"acme: no model x (HTTP 404)\n\nCheck the model's name (BOBBIN_MODEL), and its server's address if one is set (BOBBIN_MODEL_URL)."}},
		"a provider's error":    {fmt.Errorf("asking: %w", overloaded), []string{"I could not finish this: acme: Overloaded (HTTP 529)"}},
		"a key that is refused": {forbidden, []string{"acme: invalid key (HTTP 401)", "in Bobbin's settings"}},
		"anything else":         {errors.New("nil pointer in /src/x.go"), []string{turn.GenericNotice}},
	} {
		w := newWorld(t, fail(tc.err))
		ending := w.turn("hello")
		for _, want := range tc.want {
			if !strings.Contains(ending.Text, want) {
				t.Errorf("%s: the owner reads %q, want %q", name, ending.Text, want)
			}
		}
		if ending.Status != turn.Failed || ending.From != thread.Notice || ending.Error != tc.err.Error() || ending.Interrupted {
			t.Errorf("%s: got %+v", name, ending)
		}
	}
}

func TestOnlyTheOperatorReadsTheDetailOfAnError(t *testing.T) {
	t.Parallel()
	const detail = "read tcp 10.1.2.3:33030->10.1.2.4:443: connection reset by peer"
	broke := &model.Error{Provider: "acme", Kind: model.ErrorTemporary, Message: "the connection broke off", Detail: detail}
	ending := newWorld(t, fail(broke)).turn("hello")
	if ending.Cause == nil || !errors.Is(ending.Cause, broke) || !strings.Contains(ending.Cause.Error(), detail) {
		t.Errorf("the operator reads %v, want the detail too", ending.Cause)
	}
	if strings.Contains(ending.Text+ending.Error, "10.1.2.3") {
		t.Errorf("owner or model read an address: %+v", ending)
	}
}

func TestTheNextTurnIsToldOfAFailureOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fail(errors.New("broken")), say("sorry"), say("fine"))
	w.turn("first")
	w.turn("second")
	w.read("user: first", "user: [Your previous turn failed: broken.]", "user: second")
	w.turn("third")
	w.read("user: first", "user: [Your previous turn failed: broken.]", "user: second", "assistant: sorry", "user: third")
}

func TestAMessageThatADeadWorkerNeverSavedIsHeardOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("hi"))
	w.desk.Gone = func(string) bool { return true }
	for _, text := range []string{"first", "second"} {
		w.claim(text)
		w.bury(t.Context())
	}
	const failed = "user: [Your previous turn failed: the worker was interrupted. " +
		"What it had begun may have been done outside: check before doing it again.]"
	w.turn("third")
	w.read("user: first", failed, "user: second", failed, "user: third")
	w.turn("fourth")
	w.read("user: first", failed, "user: second", failed, "user: third", "assistant: hi", "user: fourth")
}

func TestCallsOfADeadWorkerAreAnsweredAsInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, call("echo", `{"n":1}`, `{"n":2}`), say("I will look"))
	w.desk.Gone = func(string) bool { return true }
	w.Tools[0].Run = func(context.Context, tool.Call) (tool.Result, error) { panic("must not be made again") }
	run := w.claim("go")
	ctx, cancel := context.WithCancel(t.Context())
	w.Tools[0].Run = func(context.Context, tool.Call) (tool.Result, error) {
		cancel()
		return tool.Result{}, nil
	}
	if _, err := w.Work(ctx, run); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the end of the context", err)
	}
	w.bury(t.Context())
	w.turn("and?")
	got := w.last()
	want := []string{
		"user: go", `call echo {"n":1}`, `call echo {"n":2}`, "result call-0 " + transcript.Interrupted, "result call-1 " + transcript.Interrupted,
	}
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" || got[len(got)-1] != "user: and?" {
		t.Errorf("at the end %q; want (-), got (+):\n%s", got[len(got)-1], diff)
	}
}

func TestATranscriptThatIsDamagedStartsCleanAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("hi"))
	w.turn("before")
	page, err := w.blobs.List(t.Context(), "", "")
	w.must(err)
	for _, o := range page.Objects {
		w.must(w.blobs.Delete(t.Context(), o.Name))
	}
	w.turn("after")
	w.read("user: "+prompt.Restarted, "user: after")
	w.turn("again")
	w.read("user: "+prompt.Restarted, "user: after", "assistant: hi", "user: again")
}

func TestAStoreThatDoesNotAnswerIsNoReasonToStartClean(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("hi"))
	w.turn("before")
	run := w.claim("after")
	w.blobs.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Refused} }
	if _, err := w.Work(t.Context(), run); err == nil || len(w.requests) != 1 {
		t.Errorf("got %v after %d requests, want an error and no request", err, len(w.requests))
	}
}

func TestAnAnswerThatSaysNothingIsNotSilence(t *testing.T) {
	t.Parallel()
	respond := func(stop model.StopReason, texts ...string) answer {
		return func(context.Context, func(model.Delta)) (model.Response, error) {
			r := model.Response{Stop: stop}
			for _, text := range texts {
				r.Blocks = append(r.Blocks, model.Block{Text: text})
			}
			return r, nil
		}
	}
	for name, tc := range map[string]struct {
		answer answer
		want   string
	}{
		"empty":     {respond(model.StopEnd, " \n"), "The model gave an empty answer. Please try again."},
		"refused":   {respond(model.StopRefused), "The model declined to answer this."},
		"cut off":   {respond(model.StopLength, "half of"), "half of\n\n_(The answer was cut off"},
		"all cut":   {respond(model.StopLength), "_(The answer was cut off"},
		"two parts": {respond(model.StopEnd, "one", " ", "two"), "one\n\ntwo"},
	} {
		if got := newWorld(t, tc.answer).turn("hello").Text; !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: the owner reads %q, want %q", name, got, tc.want)
		}
	}
}

func TestNothingOfAnAnswerThatWasCutOffIsRun(t *testing.T) {
	t.Parallel()
	for stop, want := range map[model.StopReason]string{
		model.StopLength: "The answer was cut off", model.StopRefused: "The model declined",
	} {
		w := newWorld(t, nil, say("hi"))
		w.answers[0] = func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
			r, err := call("echo", `{"n":1}`, `{"_invalid":"{\"n\":"}`)(ctx, show)
			r.Stop = stop
			return r, err
		}
		w.Tools[0].Run = func(context.Context, tool.Call) (tool.Result, error) {
			t.Errorf("%s: a call was made", stop)
			return tool.Result{}, nil
		}
		if ending := w.turn("go"); len(w.requests) != 1 || !strings.Contains(ending.Text, want) {
			t.Errorf("%s: after %d requests the owner reads %q, want %q", stop, len(w.requests), ending.Text, want)
		}
		w.turn("and?")
		const not = "Not started: the answer that asked for this was cut off, and nothing of it was run."
		w.read("user: go", `call echo {"n":1}`, `call echo {"_invalid":"{\"n\":"}`, "result call-0 "+not, "result call-1 "+not, "user: and?")
	}
}

func TestWhatTheModelWritesIsShownAsItWritesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
		show(model.Delta{Kind: model.DeltaThinking, Text: "hm"})
		show(model.Delta{Kind: model.DeltaText, Text: "ha"})
		show(model.Delta{Kind: model.DeltaRestart})
		show(model.Delta{Kind: model.DeltaText, Text: "hi"})
		return say("hi")(ctx, show)
	})
	var got []live.Event
	w.Show = func(_ turn.Turn, e live.Event) { got = append(got, e) }
	w.turn("hello")
	want := []live.Event{
		{Kind: live.Text, Turn: "u1", Text: "ha"}, {Kind: live.Restart, Turn: "u1"}, {Kind: live.Text, Turn: "u1", Text: "hi"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestWhatRequestsUseIsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("hi"))
	run := w.claim("hello")
	if _, err := w.Work(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if got := run.Turn(); got.Steps != 1 || got.Usage != (model.Usage{Input: 2, Output: 1}) {
		t.Errorf("got %d steps, %+v", got.Steps, got.Usage)
	}
}

func TestTheEndOfTheContextIsNoEndOfTheTurn(t *testing.T) {
	t.Parallel()
	cause := errors.New("the worker stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := newWorld(t, func(context.Context, func(model.Delta)) (model.Response, error) {
		cancel(cause)
		return model.Response{}, context.Canceled
	})
	if ending, err := w.Work(ctx, w.claim("hello")); !errors.Is(err, cause) {
		t.Errorf("got %+v, %v; want the reason why the context ended", ending, err)
	}
}
