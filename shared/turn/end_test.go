package turn

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

func held() Held {
	t := queuedEntry().Turn
	t.Status, t.Started, t.Held, t.Epoch = Running, noon, noon, 5
	return Held{
		Turn: t, Revision: "turn", Fence: Fence{Epoch: 5, Turn: "u", Revision: "fence"},
		Head: Head{
			Manifest: transcript.Manifest{Parts: []transcript.Ref{{Epoch: 5, Hash: "x", Entries: 1, Bytes: 2}}}, Revision: "head",
		},
	}
}

var ends = []string{
	"put session/fence at fence", "put turn/head at turn", "put session/head at head", "delete session/lease blind",
	"delete thread/run#s blind", "delete due/1900000020000#lease#u#5 blind",
}

func TestEndMovesTheFenceAndTellsTheOwnerInOneWrite(t *testing.T) {
	t.Parallel()
	at := noon.Add(time.Minute)
	ops, err := End(held(), Ending{Status: Succeeded, At: at, Text: "hi", From: thread.Agent})
	if err != nil {
		t.Fatal(err)
	}
	reply := fmt.Sprintf("%016d#%s", at.UnixMicro(), ReplyID("u"))
	if diff := cmp.Diff(append(slices.Clip(ends),
		"put conv/o#"+reply+" absent", fmt.Sprintf("put due/%013d#send#%s absent", at.Add(30*time.Second).UnixMilli(), ReplyID("u")),
		"put thread/m#"+reply+" absent",
	), brief(ops)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	wantTurn := held().Turn
	wantTurn.Status, wantTurn.Ended = Succeeded, at
	wantHead := Head{Thread: "t", Manifest: held().Head.Manifest, Told: at, Conversation: "telegram-1:7", Ended: at}
	for name, diff := range map[string]string{
		"fence": cmp.Diff(Fence{Epoch: 5}, put[Fence](t, ops, FenceKey("s"))),
		"turn":  cmp.Diff(wantTurn, put[Turn](t, ops, HeadKey("u"))),
		"head":  cmp.Diff(wantHead, put[Head](t, ops, SessionKey("s"))),
	} {
		if diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
	}
}

func TestEndWithNothingToSayStoresNoMessage(t *testing.T) {
	t.Parallel()
	ops, err := End(held(), Ending{Status: Succeeded, At: noon})
	if diff := cmp.Diff(ends, brief(ops)); err != nil || diff != "" {
		t.Errorf("%v; want (-), got (+):\n%s", err, diff)
	}
}

func TestEndOnThePageIsDeliveredByBeingStored(t *testing.T) {
	t.Parallel()
	h := held()
	h.Turn.Route.Connection = channel.Web
	ops, err := End(h, Ending{Status: Succeeded, At: noon.Add(time.Second), Text: "hi"})
	if got := brief(ops[len(ends):]); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "put thread/m#") {
		t.Errorf("beside the ends: %v, %v; want the message alone", got, err)
	}
}

func TestTheNextTurnIsToldOfAFailureAndOfAStop(t *testing.T) {
	t.Parallel()
	for _, status := range []Status{Succeeded, Waiting, Cancelled, Failed} {
		h := held()
		h.Head.Previous = nil
		ops, err := End(h, Ending{Status: status, At: noon, Error: "why", Interrupted: true})
		if err != nil {
			t.Fatal(err)
		}
		var want *Failure
		switch status { //nolint:exhaustive // the others are no ends, or tell the next turn nothing
		case Failed:
			want = &Failure{Turn: "u", Error: "why", Interrupted: true, Message: "m#1"}
		case Cancelled: // its message was answered by the stop
			want = &Failure{Turn: "u", Error: "why", Interrupted: true, Stopped: true}
		}
		if diff := cmp.Diff(want, put[Head](t, ops, SessionKey("s")).Previous); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", status, diff)
		}
	}
}

func TestFailuresThatNoTurnHasSavedAreKept(t *testing.T) {
	t.Parallel()
	h := held()
	for i := range 15 {
		h.Turn.Message = fmt.Sprint(i)
		ops, err := End(h, Interruption(noon))
		if err != nil {
			t.Fatal(err)
		}
		h.Head = put[Head](t, ops, SessionKey("s"))
	}
	var got []string
	for _, f := range (&Run{held: h}).Previous() {
		got = append(got, f.Message)
	}
	if want := "5 6 7 8 9 10 11 12 13 14"; strings.Join(got, " ") != want {
		t.Errorf("the messages are %v, want the newest ten, oldest first", got)
	}
}

func TestATurnThatHasEndedCannotEndAgain(t *testing.T) {
	t.Parallel()
	for _, from := range []Status{Queued, Waiting, Succeeded, Failed, Cancelled} {
		h := held()
		h.Turn.Status = from
		if ops, err := End(h, Ending{Status: Succeeded, At: noon}); err == nil {
			t.Errorf("a %s turn ends by %v", from, brief(ops))
		}
	}
	for _, to := range []Status{Queued, Running, ""} {
		if _, err := End(held(), Ending{Status: to, At: noon}); err == nil {
			t.Errorf("a turn ends as %q", to)
		}
	}
}

// The clocks of two workers differ.
func TestAReplyComesAfterWhatItAnswers(t *testing.T) {
	t.Parallel()
	ops, err := End(held(), Ending{Status: Succeeded, At: noon.Add(-time.Minute), Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	question := thread.Message{At: noon, ID: "zzz"}.Key("t").Sort
	for _, op := range ops {
		if strings.HasPrefix(op.Key.Sort, "m#") && op.Key.Sort <= question {
			t.Errorf("the reply's key %q does not come after %q", op.Key.Sort, question)
		}
	}
}

func TestEveryEndFreesWhatTheTurnHeld(t *testing.T) {
	t.Parallel()
	slot := 2
	h := held()
	h.Turn.Slot, h.Turn.Sole, h.Fence.Rests = &slot, true, true
	for name, e := range map[string]Ending{
		"done": {Status: Succeeded, At: noon}, "waiting": {Status: Waiting, At: noon}, "stopped": {Status: Cancelled, At: noon},
		"dead": {Status: Failed, At: noon}, "sent away": {Status: Failed, At: noon},
	} {
		ops, err := End(h, e)
		want := append(slices.Clip(ends), "delete cap/slot#002 blind", "delete session/sole blind")
		if diff := cmp.Diff(want, brief(ops)); err != nil || diff != "" {
			t.Errorf("%s: %v; want (-), got (+):\n%s", name, err, diff)
		}
		if got := put[Fence](t, ops, FenceKey("s")); got != (Fence{Epoch: 5, Rests: true}) {
			t.Errorf("%s: the fence is %+v", name, got)
		}
	}
}

func TestWhatIsWaitedForOpensWithTheMessageThatAsks(t *testing.T) {
	t.Parallel()
	at := noon.Add(time.Minute)
	h := held()
	h.Head.Waits = []id.Turn{"older"}
	ask := wait.Ask{Kind: wait.Confirmation, Text: "Send it?", Action: &wait.Action{Key: "k", Tool: "send", Arguments: []byte(`{"to":1}`)}}
	ops, err := End(h, Ending{Status: Waiting, At: at, Text: "Send it?", From: thread.Agent, Ask: &ask})
	if err != nil {
		t.Fatal(err)
	}
	want := wait.Wait{
		Ask: ask, Turn: "u", Owner: "o", Thread: "t", Session: "s", Route: h.Turn.Route, Place: h.Turn.place(), Asked: at,
	}
	if diff := cmp.Diff(want, put[wait.Wait](t, ops, wait.Key("t", "s", "u"))); diff != "" {
		t.Errorf("the wait: want (-), got (+):\n%s", diff)
	}
	lines := strings.Join(brief(ops), "\n")
	for _, part := range []string{
		fmt.Sprintf("put due/%d#expire#u absent", at.Add(wait.Confirmation.Term()).UnixMilli()), "put thread/m#", "put conv/o#",
	} {
		if !strings.Contains(lines, part) {
			t.Errorf("there is no %q among\n%s", part, lines)
		}
	}
	head := put[Head](t, ops, SessionKey("s"))
	if diff := cmp.Diff([]id.Turn{"older", "u"}, head.Waits); diff != "" || head.Previous != nil {
		t.Errorf("previous %+v; what the session waits for: want (-), got (+):\n%s", head.Previous, diff)
	}
}

// What no owner started ends silently: its error stands in the turn.
func TestAFailureOfTheBackgroundIsToldToNobody(t *testing.T) {
	t.Parallel()
	for source, told := range map[Source]bool{User: true, Task: true, Resume: true, Schedule: false, Event: false} {
		h := held()
		h.Turn.Source = source
		ops, err := End(h, Interruption(noon))
		if err != nil || (len(ops) > len(ends)) != told || put[Turn](t, ops, HeadKey("u")).Error == "" {
			t.Errorf("%s: %v, %v; want a notice: %v", source, err, brief(ops), told)
		}
		if ops, err = End(h, Ending{Status: Succeeded, At: noon, Text: "news", From: thread.Agent}); err != nil || len(ops) == len(ends) {
			t.Errorf("%s: what it was to tell is not told: %v, %v", source, err, brief(ops))
		}
	}
}

func TestTheWorkOfATurnStandsInItsSessionsHeadAfterItsEnd(t *testing.T) {
	t.Parallel()
	h := held()
	h.Head.Work = &Work{Turn: "u", Done: map[string]int{"a": 2}, Open: []string{"b"}}
	h.Head.Taken = &Taken{By: "u"}
	ops, err := End(h, Interruption(noon))
	if err != nil {
		t.Fatal(err)
	}
	head := put[Head](t, ops, SessionKey("s"))
	if diff := cmp.Diff(h.Head.Work, head.Work); diff != "" || head.Taken != nil {
		t.Errorf("taken is %+v; the work: want (-), got (+):\n%s", head.Taken, diff)
	}
}
