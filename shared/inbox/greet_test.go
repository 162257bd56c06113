package inbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

func (w *world) code() string {
	w.Helper()
	code, err := w.Book.NewCode(w.Context(), w.ada.ID, noon)
	if err != nil {
		w.Fatal(err)
	}
	return code
}

func (w *world) pair(m inbox.Message, code string) inbox.Receipt {
	w.Helper()
	r, err := w.Pair(w.Context(), noon, m, code)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func TestPairingServesTheSenderFromThenOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(w.accept(say("8", "1")), inbox.Stranger)
	w.want(w.pair(say("8", "2"), w.code()), inbox.Paired)
	w.want(w.accept(say("8", "3")), inbox.Accepted)
	if got := w.entry("3").Turn.Owner; got != w.ada.ID {
		t.Errorf("the turn is %s's", got)
	}
	if got := w.replies(); len(got) != 2 || !strings.HasPrefix(got[1], "Paired.") {
		t.Errorf("the replies are %q", got)
	}
}

func TestPairingDeliveredTwiceSaysSoOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code := w.code()
	w.want(w.pair(say("8", "1"), code), inbox.Paired)
	w.want(w.pair(say("8", "1"), code), inbox.Duplicate)
	if got := w.replies(); len(got) != 1 {
		t.Errorf("the replies are %q, want one", got)
	}
}

// The process may have died between storing an answer and asking for it to be sent.
func TestADuplicateAsksForItsAnswerToBeSentAgain(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(*world, inbox.Message, string) inbox.Receipt{
		"pair": (*world).pair,
		"tell": func(w *world, m inbox.Message, text string) inbox.Receipt { return w.tell(m, text) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			code := w.code()
			w.stops = 1
			act(w, say("7", "1"), code)
			w.want(act(w, say("7", "1"), code), inbox.Duplicate)
			want := wake.Conversation(say("7", "1").Route.Key()).Message("1")
			if len(w.sent) != 1 || w.sent[0] != want {
				t.Errorf("sent %v, want %v", w.sent, []queue.Message{want})
			}
		})
	}
}

func (w *world) tell(m inbox.Message, text string) inbox.Receipt {
	w.Helper()
	r, err := w.Tell(w.Context(), noon, m, text)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func TestAWrongCodeLeavesAStrangerAStrangerAndAnOwnerAnOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(w.pair(say("8", "1"), "2222-2222-2222"), inbox.Stranger)
	w.want(w.pair(say("8", "2"), "3333-3333-3333"), inbox.Stranger)
	w.want(w.pair(say("7", "3"), "2222-2222-2222"), inbox.Accepted)
	got := w.replies()
	if len(got) != 2 || !strings.Contains(got[0], "not valid any more") || !strings.Contains(got[1], "private") {
		t.Errorf("the replies are %q", got)
	}
	w.want(w.accept(say("8", "4")), inbox.Stranger)
	w.want(w.accept(say("7", "5")), inbox.Accepted)
}

func TestACodeThatHasEndedPairsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, err := w.Pair(t.Context(), noon.Add(owner.CodeTerm+time.Second), say("8", "1"), w.code())
	if err != nil {
		t.Fatal(err)
	}
	w.want(r, inbox.Stranger)
}

func TestPairingOnThePageStoresNoReply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := say("8", "1")
	m.Route.Connection = channel.Web
	w.want(w.pair(m, w.code()), inbox.Paired)
	log, err := thread.After(t.Context(), w.store, w.ada.Thread, "", 10)
	if err != nil || len(log.Messages) != 0 || len(w.sent) != 0 {
		t.Errorf("the thread holds %v, %v; %d wake-ups", log.Messages, err, len(w.sent))
	}
}

func TestTellingStoresBothSidesAndMakesNoTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(w.tell(say("7", "/help"), "This is how."), inbox.Accepted)
	w.want(w.tell(say("7", "/help"), "This is how."), inbox.Duplicate)
	log, err := thread.After(t.Context(), w.store, w.ada.Thread, "", 10)
	if err != nil || len(log.Messages) != 2 || w.count("turn#") != 0 {
		t.Fatalf("the thread holds %v, %v; %d turns", log.Messages, err, w.count("turn#"))
	}
	said, told := log.Messages[0], log.Messages[1]
	if said.From != thread.Owner || said.Text != "/help" || told.From != thread.Notice || told.Text != "This is how." ||
		told.State != thread.Pending {
		t.Errorf("got %+v and %+v", said, told)
	}
}

func TestAStrangerWhoAsksForHelpIsGreeted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(w.tell(say("8", "/help"), "This is how."), inbox.Stranger)
	if got := w.replies(); len(got) != 1 || !strings.Contains(got[0], "private") {
		t.Errorf("the replies are %q", got)
	}
}

// texts are the messages of a thread.
func (w *world) texts(in id.Thread) (texts []string) {
	w.Helper()
	log, err := thread.After(w.Context(), w.store, in, "", 100)
	if err != nil {
		w.Fatal(err)
	}
	for _, m := range log.Messages {
		texts = append(texts, m.Text)
	}
	return texts
}

// A process that is warm remembers whose a sender was, and the thread as it was.
func TestNothingIsToldIntoAThreadThatIsNotTheSendersAnyMore(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world) id.Thread{
		"a former owner's": func(w *world) id.Thread {
			bea, err := w.Book.Add(w.Context(), "Bea", noon)
			if err != nil {
				w.Fatal(err)
			}
			w.give(bea)
			return bea.Thread
		},
		"an archived one": func(w *world) id.Thread {
			w.change(func(h *thread.Head) { h.Status = thread.Archived })
			ops := []table.Op{thread.Head{ID: "newer", Owner: w.ada.ID, Status: thread.Active}.Put(), w.activate("newer")}
			if err := w.store.Write(w.Context(), table.Write{ID: "reset", Ops: ops}); err != nil {
				w.Fatal(err)
			}
			return "newer"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.want(w.tell(say("7", "before"), "one"), inbox.Accepted)
			now := change(w)
			w.want(w.tell(say("7", "after"), "two"), inbox.Accepted)
			if diff := cmp.Diff([]string{"before", "one"}, w.texts(w.ada.Thread)); diff != "" {
				t.Errorf("the thread that was: want (-), got (+):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"after", "two"}, w.texts(now)); diff != "" {
				t.Errorf("the thread that is: want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestAnotherOwnersCodeLeavesAChatAsItIsAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bea, err := w.Book.Add(t.Context(), "Bea", noon)
	if err != nil {
		t.Fatal(err)
	}
	code, err := w.Book.NewCode(t.Context(), bea.ID, noon)
	if err != nil {
		t.Fatal(err)
	}
	w.want(w.pair(say("7", "1"), code), inbox.Accepted)
	if got := w.replies(); len(got) != 1 || !strings.Contains(got[0], "paired already, with another owner") {
		t.Errorf("the replies are %q", got)
	}
	w.want(w.accept(say("7", "2")), inbox.Accepted)
	if got := w.entry("2").Turn.Owner; got != w.ada.ID {
		t.Errorf("the turn is %s's, want it to be Ada's", got)
	}
	w.want(w.pair(say("8", "3"), code), inbox.Paired)
}

// Someone else may change the identity between look and write; the code is as good as before.
func TestALostRaceForTheIdentityIsNotToldAsABadCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code, raced := w.code(), false
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		if raced || c.Method != tabletest.MethodGet || c.Key.Partition != "owner#"+string(w.ada.ID) { // read after the identity
			return tabletest.Fault{}
		}
		raced = true
		return tabletest.Fault{While: func() { w.give(w.ada) }}
	}
	w.want(w.pair(say("7", "1"), code), inbox.Paired)
	if got := w.replies(); len(got) != 1 || !strings.HasPrefix(got[0], "Paired.") {
		t.Errorf("the replies are %q", got)
	}
}
