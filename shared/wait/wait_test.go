package wait_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

var noon = time.UnixMilli(1_900_000_000_000).UTC()

func confirmation(session id.Session, turn id.Turn) wait.Wait {
	return wait.Wait{
		Ask: wait.Ask{
			Kind: wait.Confirmation, Text: "Send it?",
			Action: &wait.Action{Key: "k", Tool: "send", Arguments: []byte(`{"to": "Ada"}`)},
		},
		Turn: turn, Owner: "o", Thread: "t", Session: session,
		Route: channel.Route{Connection: "telegram-1", Conversation: "7"}, Asked: noon,
		Place: thread.Place{Session: session, Conversation: "telegram-1:7", Order: "5", Generation: 2, Accepted: noon},
	}
}

func write(t *testing.T, store *tabletest.Fake, ops ...table.Op) error {
	t.Helper()
	return store.Write(t.Context(), table.Write{ID: fmt.Sprint("w", store.Calls().Write), Ops: ops})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open stores waits.
func open(t *testing.T, waits ...wait.Wait) *tabletest.Fake {
	t.Helper()
	store := new(tabletest.Fake)
	for _, w := range waits {
		must(t, write(t, store, w.Put()...))
	}
	return store
}

func TestAWaitIsFoundAsItWasPutUntilItIsClosed(t *testing.T) {
	t.Parallel()
	want := confirmation("s", "u")
	store := open(t, want)
	got, err := wait.Find(t.Context(), store, "t", "s", "u")
	must(t, err)
	want.Revision = "w0"
	// What was asked for is kept to the byte, but for the spaces between.
	want.Action.Arguments = []byte(`{"to":"Ada"}`)
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	must(t, write(t, store, got.Close()...))
	if again, err := wait.Find(t.Context(), store, "t", "s", "u"); again != nil || err != nil {
		t.Errorf("after it was closed: %+v, %v", again, err)
	}
	if left := store.Items(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOfTwoThatCloseAWaitOneDoes(t *testing.T) {
	t.Parallel()
	store := open(t, confirmation("s", "u"))
	w, err := wait.Find(t.Context(), store, "t", "s", "u")
	must(t, err)
	must(t, write(t, store, w.Close()...))
	if _, failed := errors.AsType[*table.ConditionError](write(t, store, w.Close()...)); !failed {
		t.Error("it was closed twice")
	}
	must(t, write(t, store, w.Drop()...)) // which does not ask
}

func TestATurnEndsWithOneWait(t *testing.T) {
	t.Parallel()
	store := open(t, confirmation("s", "u"))
	if _, failed := errors.AsType[*table.ConditionError](write(t, store, confirmation("s", "u").Put()...)); !failed {
		t.Error("a second one was put")
	}
}

func TestTheOpenWaitsAreThoseOfTheThreadOrOfOneSession(t *testing.T) {
	t.Parallel()
	other := confirmation("s", "elsewhere")
	other.Thread = "x"
	store := open(t, confirmation("s", "u2"), confirmation("s", "u1"), confirmation("s2", "u3"), other)
	for session, want := range map[id.Session][]id.Turn{"": {"u1", "u2", "u3"}, "s": {"u1", "u2"}, "s2": {"u3"}, "none": nil} {
		all, err := wait.Open(t.Context(), store, "t", session)
		var got []id.Turn
		for _, w := range all {
			got = append(got, w.Turn)
			if w.Revision == "" {
				t.Errorf("that of %s can't be closed", w.Turn)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("session %q: %v; want (-), got (+):\n%s", session, err, diff)
		}
	}
}

func TestAllPagesOfWaitsAreRead(t *testing.T) {
	t.Parallel()
	const waits = table.MaxScan + 5
	store := new(tabletest.Fake)
	for i := range waits {
		must(t, write(t, store, confirmation("s", id.Turn(fmt.Sprint(i))).Put()...))
	}
	if got, err := wait.Open(t.Context(), store, "t", ""); err != nil || len(got) != waits {
		t.Errorf("%d of %d, %v", len(got), waits, err)
	}
}

func TestWhatCanNotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	damaged := new(tabletest.Fake)
	must(t, write(t, damaged, table.Put(wait.Key("t", "s", "u"), []byte("{"), table.Absent())))
	away := &tabletest.Fake{Fault: func(tabletest.Call) tabletest.Fault { return tabletest.Fault{Kind: tabletest.Refused} }}
	for name, store := range map[string]table.Table{"damaged": damaged, "away": away} {
		if _, err := wait.Find(t.Context(), store, "t", "s", "u"); err == nil {
			t.Errorf("%s: one was found", name)
		}
		if _, err := wait.Open(t.Context(), store, "t", ""); err == nil {
			t.Errorf("%s: they were listed", name)
		}
	}
}

func TestEveryKindHasATermAtWhichItsMarkIsDue(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for kind, want := range map[wait.Kind]time.Duration{
		wait.Question: 30 * day, wait.Confirmation: day, wait.Form: day, wait.Payment: day,
	} {
		w := confirmation("s", "u")
		w.Kind = kind
		if got := w.Expires().Sub(noon); got != want {
			t.Errorf("a %s is open for %v, want %v", kind, got, want)
		}
		mark := fmt.Sprintf("%013d#expire#u", noon.Add(want).UnixMilli())
		if ops := w.Put(); len(ops) != 2 || ops[1].Key.Sort != mark {
			t.Errorf("a %s is put by %+v, want the mark %s", kind, ops, mark)
		}
	}
}

func TestANewerTurnOfTheSessionCloses(t *testing.T) {
	t.Parallel()
	for kind, want := range map[wait.Kind][2]bool{ // a turn of the owner's, one that continues
		wait.Question: {true, false}, wait.Payment: {true, false}, wait.Form: {true, true}, wait.Confirmation: {false, false},
	} {
		if got := [2]bool{kind.Closes(true), kind.Closes(false)}; got != want {
			t.Errorf("a %s: got %v, want %v", kind, got, want)
		}
	}
}

func TestPlainIsOneWordAndNothingElse(t *testing.T) {
	t.Parallel()
	for answer, words := range map[string]string{
		"yes":     "yes|Yes|YES!|  yes. |y|ok|OK|okay|confirm|👍|ja|Oui|sí|Sì|SI|да|ДА",
		"no":      "no|No.|n|NOPE!|cancel|👎|nein|non|нет",
		"neither": "|yes please|no thanks|yes and no|maybe|yesterday|not now|y e s|?|yes?|ok, but later",
	} {
		for text := range strings.SplitSeq(words, "|") {
			yes, plain := wait.Plain(text)
			if plain != (answer != "neither") || yes != (answer == "yes") {
				t.Errorf("%q is yes: %v, plain: %v; want %s", text, yes, plain, answer)
			}
		}
	}
}

// Records outlive releases.
func TestKeyAndValueStayAsTheyAre(t *testing.T) {
	t.Parallel()
	store := open(t, confirmation("s", "u"))
	var got []string
	for _, item := range store.Items() {
		if strings.HasPrefix(item.Key.Partition, "thread#") {
			got = append(got, item.Key.String()+" "+string(item.Value))
		}
	}
	want := []string{
		`thread#t/wait#s#u {"kind":"confirmation","text":"Send it?","action":{"key":"k","tool":"send","arguments":{"to":"Ada"}},` +
			`"turn":"u","owner":"o","thread":"t","session":"s","route":{"connection":"telegram-1","conversation":"7"},` +
			`"place":{"session":"s","conversation":"telegram-1:7","order":"5","generation":2,"accepted":"2030-03-17T17:46:40Z"},` +
			`"asked":"2030-03-17T17:46:40Z"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
