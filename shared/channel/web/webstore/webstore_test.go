package webstore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/channel/web/webstore"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

var noon = time.UnixMilli(1_900_000_000_000)

// A message that was taken is never shown as cancelled: it is as far as the turn that took it.
func TestAMessageIsAsFarAsTheTurnThatAnswersIt(t *testing.T) {
	t.Parallel()
	for status, want := range map[turn.Status]web.State{
		turn.Queued: web.Queued, turn.Running: web.Running, turn.Succeeded: web.Done, turn.Waiting: web.Done,
		turn.Failed: web.Failed, turn.Cancelled: web.Cancelled,
	} {
		store := new(tabletest.Fake)
		put := func(u turn.Turn, text string, at time.Time) {
			m := thread.Message{ID: id.Message("m-" + u.ID), At: at, From: thread.Owner, Text: text, Turn: u.ID}
			w := table.Write{ID: string(u.ID), Ops: []table.Op{u.Put(table.Absent()), m.Put("t", table.Absent())}}
			if err := store.Write(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		put(turn.Turn{ID: "own", Status: status}, "first", noon)
		put(turn.Turn{ID: "closed", Status: turn.Cancelled, ClosedBy: "own"}, "taken", noon.Add(time.Second))
		page, err := webstore.Conversation{Table: store}.After(t.Context(), "t", "", 10)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]web.State{}
		for _, m := range page.Messages {
			got[m.Text] = m.State
		}
		if diff := cmp.Diff(map[string]web.State{"first": want, "taken": want}, got); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", status, diff)
		}
	}
}

func TestWaitsAreThoseOfTheThreadInAllItsSessions(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	open := func(in id.Thread, session id.Session, of id.Turn, ask wait.Ask) {
		w := wait.Wait{Ask: ask, Turn: of, Owner: "o", Thread: in, Session: session, Asked: noon}
		if err := store.Write(t.Context(), table.Write{ID: string(of), Ops: w.Put()}); err != nil {
			t.Fatal(err)
		}
	}
	action := &wait.Action{Key: "k", Tool: "send", Arguments: []byte(`{"to":"secret"}`)}
	open("t", "t", "1", wait.Ask{Kind: wait.Confirmation, Text: "Send it?", Action: action})
	open("t", "task", "2", wait.Ask{Kind: wait.Question, Text: "Which colour?"})
	open("other", "other", "3", wait.Ask{Kind: wait.Question, Text: "Not yours"})
	got, err := webstore.Conversation{Table: store}.Waits(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Asked = got[i].Asked.UTC()
	}
	want := []web.Wait{
		{Turn: "1", Kind: wait.Confirmation, Text: "Send it?", Asked: noon.UTC()},
		{Turn: "2", Kind: wait.Question, Text: "Which colour?", Asked: noon.UTC()},
	}
	byTurn := cmpopts.SortSlices(func(a, b web.Wait) bool { return a.Turn < b.Turn })
	if diff := cmp.Diff(want, got, byTurn); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
