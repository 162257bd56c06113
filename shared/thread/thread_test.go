package thread_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

var noon = time.UnixMicro(1_900_000_000_123_456)

func write(t *testing.T, store table.Table, name string, ops ...table.Op) error {
	t.Helper()
	return store.Write(t.Context(), table.Write{ID: name, Ops: ops})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheHeadIsReadAsItWasPut(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	want := thread.Head{
		ID: "t", Owner: "o", Status: thread.Active, Generation: 3,
		Stops: []thread.Stop{{Generation: 3, Conversation: "telegram-1:7", Order: "5", Pressed: noon.UTC()}},
	}
	must(t, write(t, store, "first", want.Put()))
	got, err := thread.Load(t.Context(), store, "t")
	want.Revision = "first"
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, want (-), got (+):\n%s", err, diff)
	}
}

func TestAHeadReadBeforeAChangeCanNeitherBeStoredNorReliedOn(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	must(t, write(t, store, "first", thread.Head{ID: "t", Status: thread.Active}.Put()))
	stale, err := thread.Load(t.Context(), store, "t")
	must(t, err)
	next := stale
	next.Generation++
	must(t, write(t, store, "second", next.Put()))
	for name, op := range map[string]table.Op{"put": stale.Put(), "unchanged": stale.Unchanged()} {
		if _, ok := errors.AsType[*table.ConditionError](write(t, store, name, op)); !ok {
			t.Errorf("%s of a stale head went through", name)
		}
	}
}

func TestAThreadThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := thread.Load(t.Context(), new(tabletest.Fake), "t"); !errors.Is(err, thread.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestASessionHasOneRunningTurn(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	must(t, write(t, store, "a", thread.PutRun("t", "s", "u1")))
	if _, ok := errors.AsType[*table.ConditionError](write(t, store, "b", thread.PutRun("t", "s", "u2"))); !ok {
		t.Error("a second running turn was recorded")
	}
	must(t, write(t, store, "c", thread.PutRun("t", "other", "u2")))
}

func TestTheSessionsThatRunAreListedOverAllPages(t *testing.T) {
	t.Parallel()
	store := conversation(t, 2) // beside one session that runs
	var want []id.Session
	for i := range table.MaxScan + 5 {
		s := id.Session(fmt.Sprintf("r%04d", i))
		must(t, write(t, store, string(s), thread.PutRun("t", s, "u")))
		want = append(want, s)
	}
	must(t, write(t, store, "elsewhere", thread.PutRun("other", "x", "u")))
	got, err := thread.Running(t.Context(), store, "t")
	if diff := cmp.Diff(append(want, "s"), got); err != nil || diff != "" {
		t.Errorf("%v; want (-), got (+):\n%s", err, diff)
	}
}

func TestAMessageIsFoundAsItWasPut(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	want := thread.Message{
		ID: "m", At: noon, From: thread.Agent, Text: "Hi <b>", Via: "telegram-1", Turn: "u", State: thread.Repeated,
		Error: "why", External: []string{"1", "2"},
	}
	must(t, write(t, store, "w", want.Put("t", table.Absent())))
	got, revision, err := thread.Find(t.Context(), store, "t", want.Key("t").Sort)
	if diff := cmp.Diff(&want, got); err != nil || revision != "w" || diff != "" {
		t.Errorf("revision %q, %v, want (-), got (+):\n%s", revision, err, diff)
	}
	if got, _, err := thread.Find(t.Context(), store, "t", "m#none"); got != nil || err != nil {
		t.Errorf("a message that is not there: got %v, %v", got, err)
	}
}

// conversation stores n messages, a microsecond apart, beside what else lives in the partition.
func conversation(t *testing.T, n int) table.Table {
	t.Helper()
	store := new(tabletest.Fake)
	must(t, write(t, store, "head", thread.Head{ID: "t", Status: thread.Active}.Put(), thread.PutRun("t", "s", "u")))
	for i := range n {
		m := thread.Message{ID: id.Message(fmt.Sprint("m", i)), At: noon.Add(time.Duration(i) * time.Microsecond)}
		must(t, write(t, store, fmt.Sprint("w", i), m.Put("t", table.Absent())))
	}
	return store
}

func names(log thread.Log) (out []id.Message) {
	for _, m := range log.Messages {
		out = append(out, m.ID)
	}
	return out
}

func TestTheLatestMessagesArePagedBackwardsAndReadForwards(t *testing.T) {
	t.Parallel()
	store := conversation(t, 5)
	before := ""
	for _, want := range []struct {
		names []id.Message
		more  bool
	}{{[]id.Message{"m3", "m4"}, true}, {[]id.Message{"m1", "m2"}, true}, {[]id.Message{"m0"}, false}} {
		log, err := thread.Latest(t.Context(), store, "t", before, 2)
		must(t, err)
		if diff := cmp.Diff(want.names, names(log)); diff != "" || log.More != want.more {
			t.Errorf("more is %v, want %v; want (-), got (+):\n%s", log.More, want.more, diff)
		}
		before = log.Cursor
	}
}

func TestNewMessagesFollowTheCursor(t *testing.T) {
	t.Parallel()
	store := conversation(t, 5)
	log, err := thread.After(t.Context(), store, "t", "", 3)
	must(t, err)
	if diff := cmp.Diff([]id.Message{"m0", "m1", "m2"}, names(log)); diff != "" || !log.More {
		t.Errorf("more is %v; want (-), got (+):\n%s", log.More, diff)
	}
	log, err = thread.After(t.Context(), store, "t", log.Cursor, 3)
	must(t, err)
	if diff := cmp.Diff([]id.Message{"m3", "m4"}, names(log)); diff != "" || log.More {
		t.Errorf("more is %v; want (-), got (+):\n%s", log.More, diff)
	}
	if log, err = thread.After(t.Context(), store, "t", log.Cursor, 3); err != nil || len(log.Messages) != 0 || log.Cursor != "" {
		t.Errorf("after the last one: got %+v, %v", log, err)
	}
}

func TestADamagedMessageIsAnError(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	must(t, write(t, store, "w", table.Put(table.Key{Partition: "thread#t", Sort: "m#x"}, []byte("{}"), table.Absent())))
	if _, err := thread.After(t.Context(), store, "t", "", 3); err == nil {
		t.Error("a key that names no time was read")
	}
}
