package capacity_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

// store writes ops as one write each.
func store(t *testing.T, ops ...table.Op) *tabletest.Fake {
	t.Helper()
	fake := new(tabletest.Fake)
	for i, op := range ops {
		if err := fake.Write(t.Context(), table.Write{ID: fmt.Sprint("w", i), Ops: []table.Op{op}}); err != nil {
			t.Fatal(err)
		}
	}
	return fake
}

func load(t *testing.T, from table.Table) capacity.State {
	t.Helper()
	s, err := capacity.Load(t.Context(), from, 3)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatWasPutIsLoadedInOrder(t *testing.T) {
	t.Parallel()
	want := capacity.State{
		Permits: 3,
		Slots: []capacity.Slot{
			{Number: 0, Turn: "t0", Session: "s0", Epoch: 4},
			{Number: 12, Turn: "t1", Session: "s1", Epoch: 9},
			{Number: 999, Turn: "t2", Session: "s2", Epoch: 1},
		},
		Waiters: []capacity.Waiter{
			{Since: noon.Add(-time.Hour), Turn: "t9", Session: "s9", Thread: "h"},
			{Since: noon, Turn: "t3", Session: "s3", Thread: "h", Background: true},
			{Since: noon, Turn: "t4", Session: "s4", Thread: "h"},
			{Since: noon.Add(time.Microsecond), Turn: "t2", Session: "s5", Thread: "i"},
		},
	}
	fake := store(t,
		want.Waiters[3].Join(), want.Slots[1].Take(), want.Waiters[1].Join(), want.Slots[2].Take(), want.Waiters[2].Join(),
		want.Slots[0].Take(), want.Waiters[0].Join(),
	)
	if diff := cmp.Diff(want, load(t, fake)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestWhatWasDeletedIsGoneAndDeletingItAgainIsAllowed(t *testing.T) {
	t.Parallel()
	w := waiter("om")
	slot := capacity.Slot{Number: 2, Turn: "t", Session: "s", Epoch: 1}
	fake := store(t, slot.Take(), w.Join(), w.Leave(), capacity.Free(2), w.Leave(), capacity.Free(2))
	if diff := cmp.Diff(capacity.State{Permits: 3}, load(t, fake)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestAWaiterAsLoadedLeaves(t *testing.T) {
	t.Parallel()
	w := waiter("om")
	w.Since = noon.Add(1234 * time.Nanosecond).In(time.FixedZone("east", 3600)) // finer than what is stored, and elsewhere
	fake := store(t, w.Join())
	loaded := load(t, fake).Waiters[0]
	err := fake.Write(t.Context(), table.Write{ID: "leave", Ops: []table.Op{loaded.Leave()}})
	if err != nil || len(fake.Items()) != 0 {
		t.Errorf("left behind %v, %v", fake.Items(), err)
	}
}

func TestOnlyOneTakesASlotAndASpareOneIsFree(t *testing.T) {
	t.Parallel()
	slot := capacity.Slot{Number: 2, Turn: "t", Session: "s", Epoch: 1}
	other := capacity.Slot{Number: 2, Turn: "u", Session: "v", Epoch: 7}
	fake := store(t, capacity.Spare(2), slot.Take())
	for name, op := range map[string]table.Op{"take": other.Take(), "spare": capacity.Spare(2)} {
		err := fake.Write(t.Context(), table.Write{ID: name, Ops: []table.Op{op}})
		if _, ok := errors.AsType[*table.ConditionError](err); !ok {
			t.Errorf("%s of a slot in use: got %v, want a condition that failed", name, err)
		}
	}
}

func TestAllPagesAreRead(t *testing.T) {
	t.Parallel()
	const waiters = table.MaxScan + 5
	var ops []table.Op
	for i := range waiters {
		ops = append(ops, capacity.Waiter{Since: noon, Turn: id.Turn(fmt.Sprintf("%04d", i)), Session: "s"}.Join())
	}
	if got := len(load(t, store(t, ops...)).Waiters); got != waiters {
		t.Errorf("%d waiters of %d", got, waiters)
	}
}

func TestWhatCanNotBeReadIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	for _, sort := range []string{"slot#x", "wait#x#t", "slot#001", "wait#0000000000000001#t", "else#1"} {
		t.Run(sort, func(t *testing.T) {
			t.Parallel()
			fake := store(t, table.Put(table.Key{Partition: "cap", Sort: sort}, []byte("{"), table.Absent()))
			if _, err := capacity.Load(t.Context(), fake, 3); err == nil || !strings.Contains(err.Error(), "cap/"+sort) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAStoreThatRefusesIsAnError(t *testing.T) {
	t.Parallel()
	fake := &tabletest.Fake{Fault: func(tabletest.Call) tabletest.Fault { return tabletest.Fault{Kind: tabletest.Refused} }}
	if _, err := capacity.Load(t.Context(), fake, 3); !errors.Is(err, table.ErrRefused) {
		t.Errorf("got %v", err)
	}
}

// Records outlive releases.
func TestKeysAndValuesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	fake := store(t, capacity.Slot{Number: 7, Turn: "t", Session: "s", Epoch: 3}.Take(), waiter("bm").Join())
	var got []string
	for _, item := range fake.Items() {
		got = append(got, item.Key.String()+" "+string(item.Value))
	}
	want := []string{
		`cap/slot#007 {"turn":"t","session":"s","epoch":3}`,
		`cap/wait#1900003600000000#turn of m {"session":"m","thread":"thread","background":true}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
