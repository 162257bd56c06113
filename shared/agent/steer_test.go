package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/live"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// interrupted is a world in which the owner writes "this too" while the call {"n":1} runs.
func interrupted(t *testing.T, answers ...answer) *world {
	t.Helper()
	w := newWorld(t, answers...)
	w.Tools[0].Run = func(ctx context.Context, c tool.Call) (tool.Result, error) {
		if string(c.Arguments) == `{"n":1}` {
			w.queue(ctx, "this too")
		}
		return tool.Result{Text: "ok"}, nil
	}
	return w
}

func TestTheFirstWordsAfterATakeArePostedAndNoOthers(t *testing.T) {
	t.Parallel()
	chat := channel.Route{Connection: "telegram-1", Conversation: "7"}
	for name, tc := range map[string]struct {
		route  channel.Route
		posted int // how often somebody is asked to send
	}{"to be sent": {chat, 1}, "stored": {channel.Route{Connection: channel.Web}, 0}} {
		w := interrupted(t, remark("Let me see.", "echo", `{"n":1}`), call("echo", `{"n":2}`), remark("That too, then.", "echo", `{"n":3}`),
			remark("Nearly there.", "echo", `{"n":4}`), say("all done"))
		w.route = tc.route
		var posted []id.Turn
		var shown []live.Event
		w.Posted = func(_ context.Context, t turn.Turn) { posted = append(posted, t.ID) }
		w.Show = func(_ turn.Turn, e live.Event) { shown = append(shown, e) }
		w.turn("go")
		if diff := cmp.Diff([]string{"That too, then.", "all done"}, w.told()); diff != "" {
			t.Errorf("%s: the owner reads: want (-), got (+):\n%s", name, diff)
		}
		want := append(live.Ending("u2"), live.Event{Kind: live.Stored, Turn: "u1"})
		if diff := cmp.Diff(want, shown); diff != "" || len(posted) != tc.posted {
			t.Errorf("%s: posted %v; shown: want (-), got (+):\n%s", name, posted, diff)
		}
	}
}

func TestATurnThatAnswersATakeAtOncePostsItsReplyOnly(t *testing.T) {
	t.Parallel()
	w := interrupted(t, call("echo", `{"n":1}`), say("both done"))
	w.turn("go")
	if diff := cmp.Diff([]string{"both done"}, w.told()); diff != "" {
		t.Errorf("the owner reads: want (-), got (+):\n%s", diff)
	}
}

// The worker that took the message has no words for it; the next one has.
func TestTheFirstWordsAfterATakeArePostedAlsoByTheNextWorker(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]answer{
		"before its next step": remark("That too, then.", "echo", `{"n":2}`),
		"after one more step":  call("echo", `{"n":2}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := interrupted(t, slowly(70*time.Second, call("echo", `{"n":1}`)), second, slowly(70*time.Second, remark("That too, then.", "echo", `{"n":3}`)),
					remark("Nearly there.", "echo", `{"n":4}`), say("all done"))
				w.Tools[0].Limit = time.Second
				run, ended := w.claim("go"), false
				for _, ended = w.within(100*time.Second, run); !ended; _, ended = w.within(100*time.Second, run) {
					run = w.next()
				}
				if got := w.stored("u1"); got.Epoch < 3 {
					t.Errorf("epoch %d: it was never handed over", got.Epoch)
				}
				if diff := cmp.Diff([]string{"That too, then.", "all done"}, w.told()); diff != "" {
					t.Errorf("the owner reads: want (-), got (+):\n%s", diff)
				}
			})
		})
	}
}

// Words written beside calls that the next worker begins are posted by it.
func TestWordsBesideCallsThatTheNextWorkerBeginsArePosted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := interrupted(t, call("echo", `{"n":1}`), slowly(30*time.Second, remark("That too, then.", "echo", `{"n":2}`)), say("all done"))
		w.Tools[0].Limit = 80 * time.Second
		if _, ended := w.within(100*time.Second, w.claim("go")); ended || len(w.told()) != 0 {
			t.Fatalf("ended is %v, the owner reads %q", ended, w.told())
		}
		w.within(100*time.Second, w.next())
		if diff := cmp.Diff([]string{"That too, then.", "all done"}, w.told()); diff != "" {
			t.Errorf("the owner reads: want (-), got (+):\n%s", diff)
		}
	})
}

func TestMessagesOfOneBurstBecomeOneTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("all at once"))
	w.put(t.Context(), turn.Entry{Text: "one", Ready: noon})
	w.put(t.Context(), turn.Entry{Text: "two", Ready: noon.Add(time.Second)})
	w.put(t.Context(), turn.Entry{Text: "three", Ready: noon.Add(2 * time.Second)})
	w.end(w.next())
	w.read("user: one", "user: two", "user: three")
	if diff := cmp.Diff([]string{"all at once"}, w.told()); diff != "" || len(w.requests) != 1 {
		t.Errorf("after %d requests the owner reads: want (-), got (+):\n%s", len(w.requests), diff)
	}
	for _, u := range []id.Turn{"u2", "u3"} {
		if got := w.stored(u); got.Status != turn.Cancelled || got.ClosedBy != "u1" {
			t.Errorf("turn %s is %+v", u, got)
		}
	}
}

// What came within the window and may not join another turn, or came by another way, has a turn of its own.
func TestABurstTakesNothingThatMayNotJoinIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("one alone"), say("two alone"))
	w.put(t.Context(), turn.Entry{Text: "one", Ready: noon})
	w.route = channel.Route{Connection: "telegram-1", Conversation: "7"}
	w.queue(t.Context(), "two")
	w.end(w.next())
	w.read("user: one")
	w.end(w.next())
	w.read("user: one", "assistant: one alone", "user: two")
}

func TestWhatComesDuringTheLastRequestIsATurnOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, say("hi"))
	w.answers[0] = func(ctx context.Context, show func(model.Delta)) (model.Response, error) {
		w.queue(ctx, "while it thinks")
		return say("hello")(ctx, show)
	}
	w.turn("go")
	if got := w.stored("u2"); got.Status != turn.Queued {
		t.Errorf("what came during the last request is %s; it must be a turn of its own", got.Status)
	}
	w.end(w.next())
	w.read("user: go", "assistant: hello", "user: while it thinks")
}
