package turn

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

func queuedEntry() Entry {
	return Entry{
		Turn: Turn{
			ID: "u", Owner: "o", Thread: "t", Session: "s", Source: User, Status: Queued, Message: "m#1", Created: noon,
			Route: channel.Route{Connection: "telegram-1", Conversation: "7"}, Order: Order(noon, 1, 0), Generation: 2,
		},
		Text: "hello", WakeAt: noon.Add(10 * time.Second), Revision: "entry",
	}
}

// queuedKey is where queuedEntry is queued, within its session.
var queuedKey = "q#" + queuedEntry().Turn.Order + "#u"

// brief lists operations as lines: what, where, under which condition.
func brief(ops []table.Op) (lines []string) {
	for _, op := range ops {
		kind := map[table.OpKind]string{
			table.OpPut: "put", table.OpDelete: "delete", table.OpCheck: "check", table.OpAdd: "add",
		}[op.Kind]
		cond := "at " + string(op.If.Revision())
		switch {
		case op.Kind == table.OpAdd && op.HasMax:
			cond = fmt.Sprintf("%+d up to %d", op.Delta, op.Max)
		case op.Kind == table.OpAdd:
			cond = fmt.Sprintf("%+d", op.Delta)
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

// claims is what every claim of queuedEntry does.
var claims = []string{
	"put session/fence at fence", "delete session/" + queuedKey + " at entry", "put turn/head at entry",
	"delete due/1900000010000#wake#u blind", "add session/depth -1", "put session/lease absent", "put thread/run#s absent",
	"check thread/head at thread", "put due/1900000020000#lease#u#5 absent",
}

func claimable() View {
	entry := queuedEntry()
	return View{
		Thread: thread.Head{ID: "t", Status: thread.Active, Revision: "thread"},
		Fence:  Fence{Epoch: 4, Revision: "fence"}, Next: &entry,
	}
}

func TestClaimMovesEverythingOfTheTurnInOneWrite(t *testing.T) {
	t.Parallel()
	ops, got, fence, lease := claim(claimable(), "worker", noon)
	if diff := cmp.Diff(claims, brief(ops)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	want := queuedEntry().Turn
	want.Status, want.Started, want.Held, want.Epoch = Running, noon, noon, 5
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

func TestAClaimTakesThePermitThatTheTurnWasGranted(t *testing.T) {
	t.Parallel()
	leaves := "delete cap/wait#1899999940000000#u blind"
	for name, tc := range map[string]struct {
		room   *capacity.State
		source Source
		joined bool
		want   []string // beside what every claim does
		slot   int      // -1 for none
	}{
		"an owner's":                   {room(3, 1, 0), User, false, []string{"put cap/slot#001 absent"}, 1},
		"of the background":            {room(3, 1, 0), Event, false, []string{"put cap/slot#001 absent", "check cap/slot#002 absent"}, 1},
		"of one that stood in line":    {room(3, 2, 0), User, true, []string{leaves, "put cap/slot#002 absent"}, 2},
		"of one that may not run":      {room(3, 3, capacity.MaxWaiting), User, false, nil, -1},
		"of one behind others":         {room(3, 1, 1), User, false, []string{"put cap/slot#002 absent"}, 2},
		"where there is no cap at all": {nil, User, false, nil, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := claimable()
			v.Room, v.Next.Turn.Source = tc.room, tc.source
			if tc.joined {
				v.Next.Joined = noon.Add(-time.Minute)
				v.Room.Waiters = append(v.Room.Waiters, v.Next.waiter())
			}
			ops, got, _, _ := claim(v, "worker", noon)
			var beside []string
			for _, line := range brief(ops) {
				if !strings.Contains(strings.Join(claims, "\n"), line) {
					beside = append(beside, line)
				}
			}
			if diff := cmp.Diff(tc.want, beside); diff != "" || len(ops) != len(claims)+len(tc.want) {
				t.Errorf("beside what every claim does: want (-), got (+):\n%s", diff)
			}
			stored := put[Turn](t, ops, HeadKey("u"))
			if diff := cmp.Diff(got, stored); diff != "" {
				t.Errorf("returned (-), stored (+):\n%s", diff)
			}
			if tc.slot < 0 && got.Slot != nil || tc.slot >= 0 && (got.Slot == nil || *got.Slot != tc.slot) {
				t.Errorf("the turn's slot is %v, want %d", got.Slot, tc.slot)
			}
		})
	}
}

func TestASlotNamesTheTurnAndTheEpochThatHoldIt(t *testing.T) {
	t.Parallel()
	v := claimable()
	v.Room = room(1, 0, 0)
	ops, _, _, _ := claim(v, "worker", noon)
	got := put[capacity.Slot](t, ops, table.Key{Partition: "cap", Sort: "slot#000"})
	if diff := cmp.Diff(capacity.Slot{Turn: "u", Session: "s", Epoch: 5}, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestTheFirstClaimOfAConversationsOwnSessionSeesToItsRest(t *testing.T) {
	t.Parallel()
	for rests, want := range map[bool]bool{false: true, true: false} {
		v := claimable()
		v.Next.Turn.Session = ConversationSession("t", v.Next.Turn.Route)
		v.Fence.Rests = rests
		ops, _, fence, _ := claim(v, "worker", noon)
		last := brief(ops)[len(ops)-1]
		mark := fmt.Sprintf("put due/%d#rest#%s absent", noon.Add(RestTerm).UnixMilli(), v.Next.Turn.Session)
		if (last == mark) != want || !fence.Rests {
			t.Errorf("with the fence saying %v: the last operation is %q, the fence %+v", rests, last, fence)
		}
	}
}

func TestATurnJoinsTheLineWithItsEntryAndItsRecordAtOneRevision(t *testing.T) {
	t.Parallel()
	v := claimable()
	ops := join(v, noon.Add(1234*time.Nanosecond))
	if diff := cmp.Diff([]string{
		"put session/" + queuedKey + " at entry", "put turn/head at entry", "put cap/wait#1900000000000001#u absent",
	}, brief(ops)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	want := queuedEntry()
	want.Joined, want.Revision = noon.Add(time.Microsecond), ""
	if diff := cmp.Diff(want, put[Entry](t, ops, want.Key())); diff != "" {
		t.Errorf("the entry: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff(want.Turn, put[Turn](t, ops, HeadKey("u"))); diff != "" {
		t.Errorf("the turn: want (-), got (+):\n%s", diff)
	}
}

func TestGoingOnWithATurnMovesTheFenceAndKeepsWhatTheTurnHas(t *testing.T) {
	t.Parallel()
	slot := 2
	handed := held().Turn
	handed.Epoch, handed.Held, handed.Slot = 6, noon, &slot
	handed.Steps, handed.Usage = 9, model.Usage{Input: 3}
	later := noon.Add(time.Minute)
	ops, got, fence, lease := resume(View{
		Thread: thread.Head{ID: "t", Revision: "thread"},
		Fence:  Fence{Epoch: 6, Turn: "u", Continuing: true, Rests: true, Revision: "fence"},
		Turn:   &handed, Revision: "turn", Room: room(3, 3, 5),
	}, "worker", later)
	if diff := cmp.Diff([]string{
		"put session/fence at fence", "put turn/head at turn", "put session/lease absent", "check thread/head at thread",
		"delete due/1900000020000#lease#u#6 blind", "put due/1900000080000#lease#u#7 absent",
	}, brief(ops)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	want := handed
	want.Epoch, want.Held = 7, later
	for name, diff := range map[string]string{
		"turn":         cmp.Diff(want, got),
		"stored turn":  cmp.Diff(want, put[Turn](t, ops, HeadKey("u"))),
		"fence":        cmp.Diff(Fence{Epoch: 7, Turn: "u", Rests: true}, fence),
		"stored fence": cmp.Diff(fence, put[Fence](t, ops, FenceKey("s"))),
		"lease":        cmp.Diff(Lease{Epoch: 7, Until: later.Add(LeaseTerm), Holder: "worker"}, lease),
		"stored lease": cmp.Diff(lease, put[Lease](t, ops, LeaseKey("s"))),
	} {
		if diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
	}
}
