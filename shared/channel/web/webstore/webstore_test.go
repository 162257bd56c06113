package webstore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/channel/web/webstore"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
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
