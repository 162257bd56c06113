package inbox_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

const bot = "telegram-1"

var noon = time.UnixMilli(1_900_000_000_000)

// world is an inbox over stores in memory with one paired owner, Ada, who is "7" on the bot.
type world struct {
	*testing.T
	*inbox.Inbox
	store *tabletest.Fake
	blobs blobtest.Fake
	sent  []queue.Message
	stops int // of the fault hook of the queue: how many sends are refused

	mu  sync.Mutex
	ada owner.Owner
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, store: new(tabletest.Fake)}
	ids := new(id.Source)
	w.Inbox = &inbox.Inbox{
		Table: w.store, IDs: ids, Book: &owner.Book{Table: w.store, IDs: ids},
		Queue: &queuetest.Fake{Fault: w.fault},
	}
	var err error
	if w.ada, err = w.Book.Add(t.Context(), "Ada", noon); err != nil {
		t.Fatal(err)
	}
	if err := w.Book.Link(t.Context(), w.ada, bot, "7", noon); err != nil {
		t.Fatal(err)
	}
	return w
}

// fault notes what is sent and refuses it while there are stops.
func (w *world) fault(c queuetest.Call) queuetest.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stops > 0 {
		w.stops--
		return queuetest.Refused
	}
	w.sent = append(w.sent, c.Message)
	return queuetest.None
}

// say is a message of the person with that ID, the update and the text being the same.
func say(sender, update string) inbox.Message {
	return inbox.Message{
		Update: update, Sender: sender, ExternalID: "x" + update, Sent: noon, Sequence: 1, Text: update,
		Route: channel.Route{Connection: bot, Conversation: sender},
	}
}

func (w *world) accept(m inbox.Message) inbox.Receipt {
	w.Helper()
	r, err := w.Accept(w.Context(), noon, m)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w *world) count(prefix string) (n int) {
	for _, item := range w.store.Items() {
		if strings.HasPrefix(item.Key.String(), prefix) {
			n++
		}
	}
	return n
}

func (w *world) replies() (texts []string) {
	for _, item := range w.store.Items() {
		if !strings.HasPrefix(item.Key.Partition, "conv#") {
			continue
		}
		var row struct{ Text string }
		if _, err := table.Decode(&item, &row); err != nil {
			w.Fatal(err)
		}
		texts = append(texts, row.Text)
	}
	return texts
}

func (w *world) marks() (marks []due.Mark) {
	w.Helper()
	for shard := range due.Shards {
		got, err := due.Scan(w.Context(), w.store, shard, noon.Add(time.Hour), 100)
		if err != nil {
			w.Fatal(err)
		}
		marks = append(marks, got...)
	}
	return marks
}

func (w *world) want(got inbox.Receipt, outcome inbox.Outcome) {
	w.Helper()
	if got.Outcome != outcome {
		w.Errorf("the outcome is %d, want %d", got.Outcome, outcome)
	}
}

func TestAcceptingMakesATurnItsEntryItsMessageAndTheRequestToRunIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := say("7", "hello")
	m.Quote = "forwarded"
	receipt := w.accept(m)
	w.want(receipt, inbox.Accepted)

	desk := &turn.Desk{Table: w.store, IDs: w.IDs}
	entry, err := desk.Next(t.Context(), id.Session(w.ada.Thread))
	if err != nil || entry == nil {
		t.Fatalf("the queue holds %v, %v", entry, err)
	}
	log, err := thread.After(t.Context(), w.store, w.ada.Thread, "", 10)
	if err != nil || len(log.Messages) != 1 {
		t.Fatalf("the thread holds %v, %v", log.Messages, err)
	}
	wantTurn := turn.Turn{
		ID: receipt.Turn, Owner: w.ada.ID, Thread: w.ada.Thread, Session: id.Session(w.ada.Thread), Source: turn.User,
		Status: turn.Queued, Route: m.Route, Message: log.Cursor, Created: noon, Order: turn.Order(noon, 1, 0),
	}
	wantEntry := turn.Entry{
		Turn: wantTurn, Text: "hello", Quote: "forwarded", WakeAt: noon.Add(10 * time.Second),
		Revision: entry.Revision,
	}
	if diff := cmp.Diff(&wantEntry, entry); diff != "" {
		t.Errorf("the entry: want (-), got (+):\n%s", diff)
	}
	wantMessage := thread.Message{
		ID: log.Messages[0].ID, At: noon, From: thread.Owner, Text: "hello", Via: bot, Turn: receipt.Turn, External: []string{"xhello"},
	}
	if diff := cmp.Diff(wantMessage, log.Messages[0]); diff != "" {
		t.Errorf("the message: want (-), got (+):\n%s", diff)
	}
	marks := w.marks()
	if diff := cmp.Diff([]due.Mark{entry.Mark()}, marks, cmpopts.IgnoreUnexported(due.Mark{})); diff != "" {
		t.Errorf("the due marks, against what a claim settles: want (-), got (+):\n%s", diff)
	}
	if m := entry.Mark(); m.Kind != due.Wake || m.Turn != receipt.Turn || m.Record != entry.Key().Sort || !m.At.Equal(entry.WakeAt) {
		t.Errorf("the due mark is %+v", m)
	}
	want := []queue.Message{wake.Session(wantTurn.Session, wantTurn.Thread).Message(string(receipt.Turn))}
	if diff := cmp.Diff(want, w.sent); diff != "" {
		t.Errorf("the wake-ups: want (-), got (+):\n%s", diff)
	}
}

func TestAcceptingTakesAtMostThreeCallsOnceTheSenderIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(say("7", "1"))
	before := w.store.Calls()
	w.accept(say("7", "2"))
	if calls := w.store.Calls().Sub(before); calls.Sum() != 1 || len(w.sent) != 2 {
		t.Errorf("it took %+v and %d wake-ups, want one write and one wake-up", calls, len(w.sent)-1)
	}
}

func TestADeliveryRepeatedTwentyTimesAtOnceMakesOneTurn(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]time.Duration{"fast store": 0, "writes that collide": 3 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.store.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Slow(slow) }
				outcomes := make(chan inbox.Outcome, 20)
				for range cap(outcomes) {
					go func() {
						r, err := w.Accept(t.Context(), time.Now(), say("7", "same"))
						if err != nil {
							r.Outcome = 0 // refused: the channel delivers again
						}
						outcomes <- r.Outcome
					}()
				}
				got := map[inbox.Outcome]int{}
				for range cap(outcomes) {
					got[<-outcomes]++
				}
				if got[inbox.Accepted] != 1 || slow == 0 && got[inbox.Duplicate] != 19 {
					t.Errorf("outcomes %v, want one accepted and the others duplicates", got)
				}
				if n := w.count("turn#"); n != 1 {
					t.Errorf("there are %d turns", n)
				}
				if n := w.count("session#" + string(w.ada.Thread) + "/" + turn.QueuePrefix); n != 1 {
					t.Errorf("%d turns are queued", n)
				}
			})
		})
	}
}

func TestADuplicateWakesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stops = 1 // the first wake-up is lost
	first, second := w.accept(say("7", "hello")), w.accept(say("7", "hello"))
	w.want(first, inbox.Accepted)
	w.want(second, inbox.Duplicate)
	if first.Turn != second.Turn || len(w.sent) != 1 {
		t.Errorf("turns %s and %s, %d wake-ups; want one of each", first.Turn, second.Turn, len(w.sent))
	}
}

func TestADeliveryIsKnownAgainWhenItsRecordHasExpired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(say("7", "hello"))
	err := w.store.Write(t.Context(), table.Write{ID: "expire", Ops: []table.Op{
		table.DeleteBlind(table.Key{Partition: "inbound#" + bot + "#hello", Sort: "-"}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.want(w.accept(say("7", "hello")), inbox.Duplicate)
}

func TestAnAcceptanceOfWhichNobodyHeardIsNotADuplicateOfItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	faults := 2
	w.store.Fault = func(c tabletest.Call) tabletest.Fault {
		if c.Method == tabletest.MethodWrite && faults > 0 {
			faults--
			return tabletest.Fault{Kind: tabletest.Unheard}
		}
		return tabletest.Fault{}
	}
	stored := 0
	w.Stored = func(thread.Message, id.Thread, id.Turn) { stored++ }
	w.want(w.accept(say("7", "hello")), inbox.Accepted)
	if stored != 1 || w.count("turn#") != 1 {
		t.Errorf("told of %d messages, %d turns; want one of each", stored, w.count("turn#"))
	}
}

func TestAStoreThatStaysAwayIsAnErrorAndNothingIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.store.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Fault{Kind: tabletest.Refused} }
		if _, err := w.Accept(t.Context(), time.Now(), say("7", "hello")); !errors.Is(err, table.ErrRefused) {
			t.Errorf("got %v, want ErrRefused", err)
		}
		if len(w.sent) != 0 || w.count("turn#") != 0 {
			t.Error("something was sent or stored")
		}
	})
}

// stop raises the thread's generation, as a stop does.
func (w *world) stop() {
	w.Helper()
	w.change(func(h *thread.Head) { h.Generation++ })
}

func (w *world) change(do func(*thread.Head)) {
	w.Helper()
	head, err := thread.Load(w.Context(), w.store, w.ada.Thread)
	if err != nil {
		w.Fatal(err)
	}
	do(&head)
	if err := w.store.Write(w.Context(), table.Write{ID: w.IDs.New(noon), Ops: []table.Op{head.Put()}}); err != nil {
		w.Fatal(err)
	}
}

func TestAStaleThreadIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(say("7", "before"))
	w.stop()
	w.want(w.accept(say("7", "after")), inbox.Accepted)
	entry := w.entry("after")
	if entry.Turn.Generation != 1 {
		t.Errorf("accepted under generation %d, want the one after the stop", entry.Turn.Generation)
	}
}

func (w *world) entry(text string) turn.Entry {
	w.Helper()
	for _, item := range w.store.Items() {
		var e turn.Entry
		if !strings.HasPrefix(item.Key.Sort, turn.QueuePrefix) {
			continue
		}
		if _, err := table.Decode(&item, &e); err != nil {
			w.Fatal(err)
		}
		if e.Text == text {
			return e
		}
	}
	w.Fatalf("%q is not queued", text)
	return turn.Entry{}
}

func TestAStaleIdentityIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(say("7", "before"))
	bea, err := w.Book.Add(t.Context(), "Bea", noon)
	if err != nil {
		t.Fatal(err)
	}
	w.give(bea)
	w.want(w.accept(say("7", "after")), inbox.Accepted)
	if got := w.entry("after").Turn; got.Owner != bea.ID || got.Thread != bea.Thread {
		t.Errorf("the turn is %+v, want it to be Bea's", got)
	}
}

// give makes "7" on the bot another owner's, behind the back of this process.
func (w *world) give(to owner.Owner) {
	w.Helper()
	before, err := w.Book.Identify(w.Context(), bot, "7")
	if err != nil {
		w.Fatal(err)
	}
	who := owner.Identity{Owner: to.ID, Thread: to.Thread}
	err = w.store.Write(w.Context(), table.Write{ID: w.IDs.New(noon), Ops: []table.Op{
		table.Put(owner.IdentityKey(bot, "7"), table.Encode(who), table.At(before.Revision)),
	}})
	if err != nil {
		w.Fatal(err)
	}
}

func TestAMessageGoesToTheActiveThreadOfItsOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(say("7", "before"))
	w.change(func(h *thread.Head) { h.Status = thread.Archived })
	newThread := thread.Head{ID: "newer", Owner: w.ada.ID, Status: thread.Active}
	ops := []table.Op{newThread.Put(), w.activate("newer")}
	if err := w.store.Write(t.Context(), table.Write{ID: "reset", Ops: ops}); err != nil {
		t.Fatal(err)
	}
	w.want(w.accept(say("7", "after")), inbox.Accepted)
	if got := w.entry("after").Turn; got.Thread != "newer" || got.Session != "newer" {
		t.Errorf("the turn is %+v, want it to be of the new thread", got)
	}
}

func (w *world) activate(in id.Thread) table.Op {
	w.Helper()
	key := table.Key{Partition: "owner#" + string(w.ada.ID), Sort: "thread"}
	item, err := w.store.Get(w.Context(), key)
	if err != nil {
		w.Fatal(err)
	}
	return table.Put(key, fmt.Appendf(nil, `{"thread":%q}`, in), table.At(item.Revision))
}

// A message that was accepted into an archived thread would be cancelled silently, and its sender has had an answer.
func TestNoMessageIsAcceptedIntoAnArchivedThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(func(h *thread.Head) { h.Status = thread.Archived }) // and the reset is still under way
	_, err := w.Accept(t.Context(), noon, say("7", "hello"))
	if !errors.Is(err, inbox.ErrStale) || fault.Of(err).Action != fault.Retry || w.count("turn#") != 0 {
		t.Errorf("got %v, %d turns; want ErrStale to be tried again", err, w.count("turn#"))
	}
}

func TestAStrangerGetsOneReplyInAllTimeAndNoTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, update := range []string{"1", "2", "2", "3"} {
		w.want(w.accept(say("stranger", update)), inbox.Stranger)
	}
	if got := w.replies(); len(got) != 1 || !strings.Contains(got[0], "private") {
		t.Errorf("the replies are %q, want one", got)
	}
	if n := w.count("turn#") + w.count("inbound#"); n != 0 || len(w.sent) != 1 {
		t.Errorf("%d records and %d wake-ups beside the reply's", n, len(w.sent)-1)
	}
}

func TestAStrangerOnThePageLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := len(w.store.Items())
	m := say("stranger", "1")
	m.Route.Connection = channel.Web
	w.want(w.accept(m), inbox.Stranger)
	if got := len(w.store.Items()); got != before || len(w.sent) != 0 {
		t.Errorf("%d records and %d wake-ups more", got-before, len(w.sent))
	}
}

// Each kind of character takes another number of bytes when it is stored; none of them may make a message that nobody
// can store, which its channel would deliver again and again.
func TestAMessageOfTheLargestSizeIsAcceptedWhateverItsCharacters(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{
		"letters": "x", "markup": "<", "quotes": `"`, "controls": "\x01", "lines": "\n", "bytes that are no text": "\xff",
		"line separators": "\u2028", "emoji": "🙂", "NUL": "\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := say("7", "1")
			m.Text = strings.Repeat(piece, inbox.MaxTextBytes/len(piece))
			m.Quote = strings.Repeat(piece, 3*inbox.MaxTextBytes/len(piece))
			w.want(w.accept(m), inbox.Accepted)
		})
	}
}

func TestALongerTextIsRefusedForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := say("7", "1")
	m.Text = strings.Repeat("x", inbox.MaxTextBytes+1)
	if _, err := w.Accept(t.Context(), noon, m); err == nil || fault.Of(err).Action != fault.GiveUp {
		t.Errorf("got %v, want an error that is not to be tried again", err)
	}
}

func TestABurstIsQueuedInTheOrderOfSending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, n := range []int64{3, 1, 5, 2, 4} {
		m := say("7", fmt.Sprint("update ", n))
		m.Sequence = n
		w.accept(m)
	}
	var got []string
	for _, item := range w.store.Items() {
		var e turn.Entry
		if strings.HasPrefix(item.Key.Sort, turn.QueuePrefix) {
			if _, err := table.Decode(&item, &e); err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Text)
		}
	}
	if want := "update 1,update 2,update 3,update 4,update 5"; strings.Join(got, ",") != want {
		t.Errorf("queued as %q", got)
	}
}
