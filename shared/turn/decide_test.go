package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
)

var noon = time.UnixMilli(1_900_000_000_000).UTC()

func TestATurnTakesTheStepsOfItsLifeAndNoOthers(t *testing.T) {
	t.Parallel()
	all := []Status{Queued, Running, Waiting, Succeeded, Failed, Cancelled}
	steps := map[Status][]Status{
		Queued:  {Running, Cancelled},
		Running: {Waiting, Succeeded, Failed, Cancelled},
		Waiting: {Cancelled},
	}
	for _, from := range append(all, "") {
		for _, to := range append(all, "") {
			want := false
			for _, s := range steps[from] {
				want = want || s == to
			}
			got, err := from.Become(to)
			if e, refused := errors.AsType[*StatusError](err); refused == want || want && got != to ||
				refused && (got != from || e.From != from || e.To != to) {
				t.Errorf("%q → %q: got %q, %v; allowed is %v", from, to, got, err, want)
			}
		}
	}
}

func TestTheEndsAreEnds(t *testing.T) {
	t.Parallel()
	for s, want := range map[Status]bool{
		Queued: false, Running: false, "": false, Waiting: true, Succeeded: true, Failed: true, Cancelled: true,
	} {
		if s.Ended() != want {
			t.Errorf("%q is an end: %v, want %v", s, s.Ended(), want)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	active := thread.Head{Status: thread.Active, Generation: 2}
	queued := &Entry{Generation: 2}
	running := Fence{Epoch: 5, Turn: "u"}
	lease := func(epoch int64, until time.Duration) *Lease { return &Lease{Epoch: epoch, Until: noon.Add(until)} }
	for name, tc := range map[string]struct {
		view View
		want Step
	}{
		"nothing at all":                        {View{Thread: active}, Idle},
		"nothing queued after a turn":           {View{Thread: active, Fence: Fence{Epoch: 5}}, Idle},
		"queued":                                {View{Thread: active, Next: queued}, Claim},
		"queued after a turn":                   {View{Thread: active, Fence: Fence{Epoch: 5}, Next: queued}, Claim},
		"queued, a lease left over":             {View{Thread: active, Next: queued, Lease: lease(5, time.Hour)}, Claim},
		"queued before the stop":                {View{Thread: active, Next: &Entry{Generation: 1}}, Strike},
		"queued on an archived thread":          {View{Thread: thread.Head{Status: thread.Archived, Generation: 2}, Next: queued}, Strike},
		"nothing queued on an archived thread":  {View{Thread: thread.Head{Status: thread.Archived}}, Idle},
		"running and alive":                     {View{Thread: active, Fence: running, Next: queued, Lease: lease(5, time.Millisecond)}, Busy},
		"running and alive, stopped":            {View{Thread: active, Fence: running, Next: &Entry{}, Lease: lease(5, 1)}, Busy},
		"running, the lease just over":          {View{Thread: active, Fence: running, Next: queued, Lease: lease(5, 0)}, Bury},
		"running, the lease over, none queued":  {View{Thread: active, Fence: running, Lease: lease(5, -time.Hour)}, Bury},
		"running without a lease":               {View{Thread: active, Fence: running, Next: queued}, Bury},
		"running, the lease of an older epoch":  {View{Thread: active, Fence: running, Lease: lease(4, time.Hour)}, Bury},
		"running and dead, thread archived":     {View{Thread: thread.Head{Status: thread.Archived}, Fence: running, Next: queued}, Bury},
		"running and alive, nothing is queued ": {View{Thread: active, Fence: running, Lease: lease(5, time.Second)}, Busy},
	} {
		if got := Decide(tc.view, noon); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

func TestRemainingIsNeverNegative(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lease *Lease
		want  time.Duration
	}{{nil, 0}, {&Lease{Until: noon.Add(time.Second)}, time.Second}, {&Lease{Until: noon.Add(-time.Second)}, 0}, {&Lease{}, 0}} {
		if got := (View{Lease: tc.lease}).Remaining(noon); got != tc.want {
			t.Errorf("%+v: got %v, want %v", tc.lease, got, tc.want)
		}
	}
}

func queuedEntry() Entry {
	return Entry{
		Turn: Turn{
			ID: "u", Owner: "o", Thread: "t", Session: "s", Source: User, Status: Queued, Message: "m#1", Created: noon,
			Route: channel.Route{Connection: "telegram-1", Conversation: "7"},
		},
		Text: "hello", Order: Order(noon, 1, 0), Generation: 2, WakeAt: noon.Add(10 * time.Second), Revision: "entry",
	}
}

// brief lists operations as lines: what, where, under which condition.
func brief(ops []table.Op) (lines []string) {
	for _, op := range ops {
		kind := map[table.OpKind]string{table.OpPut: "put", table.OpDelete: "delete", table.OpCheck: "check"}[op.Kind]
		cond := "at " + string(op.If.Revision())
		switch {
		case op.If.WantsAbsent():
			cond = "absent"
		case op.If.Blind():
			cond = "blind"
		}
		partition, _, _ := strings.Cut(op.Key.Partition, "#")
		lines = append(lines, fmt.Sprintf("%s %s/%s %s", kind, partition, op.Key.Sort, cond))
	}
	return lines
}

// put decodes what the operations put there.
func put[T any](t *testing.T, ops []table.Op, key table.Key) (v T) {
	t.Helper()
	for _, op := range ops {
		if op.Kind == table.OpPut && op.Key == key {
			if err := json.Unmarshal(op.Value, &v); err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("nothing is put under %s", key)
	return v
}

func TestClaimMovesEverythingOfTheTurnInOneWrite(t *testing.T) {
	t.Parallel()
	entry := queuedEntry()
	view := View{
		Thread: thread.Head{ID: "t", Status: thread.Active, Revision: "thread"},
		Fence:  Fence{Epoch: 4, Revision: "fence"}, Next: &entry,
	}
	ops, got, fence, lease := claim(view, "worker", noon)
	q := "q#" + entry.Order + "#u"
	if diff := cmp.Diff([]string{
		"put session/fence at fence", "delete session/" + q + " at entry", "put turn/head at entry", "put session/lease absent",
		"put thread/run#s absent", "check thread/head at thread", "delete due/1900000010000#wake#u blind",
		"put due/1900000020000#lease#u#5 absent",
	}, brief(ops)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	want := entry.Turn
	want.Status, want.Started, want.Epoch = Running, noon, 5
	for name, diff := range map[string]string{
		"turn":         cmp.Diff(want, got),
		"stored turn":  cmp.Diff(want, put[Turn](t, ops, HeadKey("u"))),
		"fence":        cmp.Diff(Fence{Epoch: 5, Turn: "u"}, fence),
		"stored fence": cmp.Diff(fence, put[Fence](t, ops, FenceKey("s"))),
		"lease":        cmp.Diff(Lease{Epoch: 5, Until: noon.Add(LeaseTerm), Holder: "worker"}, lease),
		"stored lease": cmp.Diff(lease, put[Lease](t, ops, LeaseKey("s"))),
	} {
		if diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
	}
}

func TestTheFirstClaimOfASessionDemandsThatItHasNoFence(t *testing.T) {
	t.Parallel()
	entry := queuedEntry()
	ops, _, fence, _ := claim(View{Next: &entry}, "worker", noon)
	if got := brief(ops)[0]; got != "put session/fence absent" || fence.Epoch != 1 {
		t.Errorf("got %q, epoch %d", got, fence.Epoch)
	}
}

func TestStrikeCancelsTheEntryAndLeavesTheFence(t *testing.T) {
	t.Parallel()
	entry := queuedEntry()
	ops := strike(View{Thread: thread.Head{ID: "t", Revision: "thread"}, Next: &entry}, noon)
	if diff := cmp.Diff([]string{
		"delete session/q#" + entry.Order + "#u at entry", "put turn/head at entry", "check thread/head at thread",
		"delete due/1900000010000#wake#u blind",
	}, brief(ops)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if got := put[Turn](t, ops, HeadKey("u")); got.Status != Cancelled || !got.Ended.Equal(noon) {
		t.Errorf("the turn is %+v", got)
	}
}

func held() Held {
	t := queuedEntry().Turn
	t.Status, t.Started, t.Epoch = Running, noon, 5
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
	wantHead := Head{Thread: "t", Manifest: held().Head.Manifest, Told: at, Conversation: "telegram-1:7"}
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

func TestOnlyAFailureIsToldToTheNextTurn(t *testing.T) {
	t.Parallel()
	for _, status := range []Status{Succeeded, Waiting, Cancelled, Failed} {
		h := held()
		h.Head.Previous = nil
		ops, err := End(h, Ending{Status: status, At: noon, Error: "why", Interrupted: true})
		if err != nil {
			t.Fatal(err)
		}
		var want *Failure
		if status == Failed {
			want = &Failure{Turn: "u", Error: "why", Interrupted: true, Message: "m#1"}
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

func TestOrderIsFixedWidthAndOrdersBySecondSequencePlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type at struct {
			second, sequence int64
			place            int
		}
		draw := func(name string) (at, string) {
			a := at{
				rapid.Int64Range(0, 99_999_999_999).Draw(t, name+" second"), rapid.Int64Min(0).Draw(t, name+" sequence"),
				rapid.IntRange(0, 999).Draw(t, name+" place"),
			}
			if rapid.Bool().Draw(t, name+" is near") {
				a.second, a.sequence = a.second%2, a.sequence%2
			}
			return a, Order(time.Unix(a.second, 999), a.sequence, a.place)
		}
		a, x := draw("a")
		b, y := draw("b")
		less := a.second < b.second || a.second == b.second && (a.sequence < b.sequence || a.sequence == b.sequence && a.place < b.place)
		if len(x) != len(y) || less != (x < y) || (a == b) != (x == y) {
			t.Fatalf("%+v is %q, %+v is %q", a, x, b, y)
		}
	})
}

func TestOrderTakesWhatAChannelShouldNotSend(t *testing.T) {
	t.Parallel()
	want := Order(time.Unix(0, 0), 0, 0)
	if got := Order(time.Time{}, -5, 0); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
