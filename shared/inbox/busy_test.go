package inbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

const (
	busy = "Still working on your previous message — please wait."
	full = "20 messages of yours are waiting already, and I have not taken this one. " +
		"Please send it again when some are done, or send /stop to clear them."
)

// steered is how many messages a running turn takes.
func (w *world) steered(run *turn.Run) int {
	w.Helper()
	taken, err := run.Steer(w.Context(), noon, func(turn.Entry) []model.Block { return nil })
	w.must(err)
	return len(taken)
}

func TestMessagesSteerUnlessTheyAreToQueue(t *testing.T) {
	t.Parallel()
	for rule, want := range map[inbox.Busy]int{"": 2, inbox.Steer: 2, inbox.QueueUp: 0} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.rule(inbox.Rules{Busy: rule})
			w.accept(on(1, "first"))
			run := w.claim(w.chat())
			w.accept(on(2, "second"))
			w.accept(on(3, "third"))
			if got := w.steered(run); got != want {
				t.Errorf("the running turn took %d messages, want %d", got, want)
			}
			if got := len(w.queued(w.chat())); got != 2-want {
				t.Errorf("%d messages are queued, want %d", got, 2-want)
			}
		})
	}
}

func TestAMessageThatIsToQueueGetsATurnOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule(inbox.Rules{Busy: inbox.QueueUp})
	w.accept(on(1, "first"))
	w.accept(on(2, "second"))
	w.end(w.claim(w.chat()))
	run := w.claim(w.chat())
	if got := run.Input().Text; got != "second" {
		t.Errorf("the next turn is that of %q", got)
	}
}

// working says in what ways a session is busy.
var working = map[string]func(*world){
	"queued":  func(*world) {},
	"running": func(w *world) { w.claim(w.chat()) },
	"waiting for a permit": func(w *world) {
		desk := w.desk()
		desk.Permits = 1
		w.inSession("task")
		view, err := desk.Look(w.Context(), "task", w.ada.Thread)
		w.must(err)
		_, err = desk.Claim(w.Context(), view, noon)
		w.must(err)
		view, err = desk.Look(w.Context(), w.chat(), w.ada.Thread)
		w.must(err)
		if step := turn.Decide(view, noon); step != turn.Join {
			w.Fatalf("step %d is to be done, want %d: there should be no permit", step, turn.Join)
		}
		w.must(desk.Join(w.Context(), view, noon))
	},
}

func TestAMessageIsRefusedWhileItsSessionWorks(t *testing.T) {
	t.Parallel()
	for name, begin := range working {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.rule(inbox.Rules{Busy: inbox.Refuse})
			first := on(1, "first")
			taken := w.accept(first)
			w.want(taken, inbox.Accepted)
			begin(w)
			before := w.count("turn#")
			w.wantTold(w.accept(on(2, "second")), inbox.Refused, busy)
			w.want(w.accept(on(2, "second")), inbox.Duplicate)
			w.want(w.accept(first), inbox.Duplicate)
			w.wantTexts("told", []string{busy}, w.notices())
			w.wantTexts("sent", []string{busy}, w.replies())
			if n := w.count("turn#"); n != before || slices.Contains(w.queued(w.chat()), "second") {
				t.Errorf("%d turns were made; nothing is buffered", n-before)
			}
			w.wantTexts("the thread", []string{"first"}, w.said())
		})
	}
}

// said are the owner's messages in Ada's thread.
func (w *world) said() (texts []string) {
	w.Helper()
	notices := w.notices()
	return slices.DeleteFunc(w.texts(w.ada.Thread), func(text string) bool { return slices.Contains(notices, text) })
}

func TestMessagesAreTakenAgainWhenTheTurnHasEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, inbox.Receipt){
		"done":      func(w *world, _ inbox.Receipt) { w.end(w.claim(w.chat())) },
		"asking":    func(w *world, _ inbox.Receipt) { w.asks(w.chat(), wait.Question) },
		"stopped":   func(w *world, _ inbox.Receipt) { w.claim(w.chat()); w.halt(on(5, "/stop")) },
		"withdrawn": func(w *world, r inbox.Receipt) { w.withdraw(say("7", "cancel"), r.Turn) },
		"stopped before it began": func(w *world, _ inbox.Receipt) {
			w.halt(on(5, "/stop"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.rule(inbox.Rules{Busy: inbox.Refuse})
			end(w, w.accept(on(1, "first")))
			w.want(w.accept(on(6, "second")), inbox.Accepted)
			w.wantTold(w.accept(on(7, "third")), inbox.Refused, busy)
		})
	}
}

// Both look before either has written.
func TestOfTwoMessagesAtOnceOneIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule(inbox.Rules{Busy: inbox.Refuse})
	var first inbox.Receipt
	w.beforeWrite(func() { first = w.accept(on(1, "first")) })
	w.wantTold(w.accept(on(2, "second")), inbox.Refused, busy)
	w.want(first, inbox.Accepted)
	w.wantTexts("queued", []string{"first"}, w.queued(w.chat()))
}

func TestOfManyMessagesAtOnceOneIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.rule(inbox.Rules{Busy: inbox.Refuse})
		w.store.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Slow(time.Millisecond) }
		outcomes := make(chan inbox.Outcome, 10)
		for n := range cap(outcomes) {
			go func() {
				r, err := w.Accept(t.Context(), time.Now(), on(int64(n), strings.Repeat("x", n+1)))
				if err != nil {
					r.Outcome = 0 // the store gave up; the channel delivers again
				}
				outcomes <- r.Outcome
			}()
		}
		got := map[inbox.Outcome]int{}
		for range cap(outcomes) {
			got[<-outcomes]++
		}
		if got[inbox.Accepted] != 1 || len(w.queued(w.chat())) != 1 {
			t.Errorf("outcomes %v, queued %q; want one accepted", got, w.queued(w.chat()))
		}
	})
}

func TestARefusedMessageOnThePageMayBeSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.Book.Link(t.Context(), w.ada, channel.Web, "page", noon))
	w.rule(inbox.Rules{Busy: inbox.Refuse})
	m := func(update string) inbox.Message {
		m := say("page", update)
		m.Route = channel.Route{Connection: channel.Web, Conversation: string(w.ada.Thread)}
		return m
	}
	first := w.accept(m("first"))
	before := w.store.Items()
	w.wantTold(w.accept(m("second")), inbox.Refused, busy)
	if after := w.store.Items(); len(after) != len(before) {
		t.Errorf("%d records were stored with a refused message", len(after)-len(before))
	}
	again := w.accept(m("first"))
	w.want(again, inbox.Duplicate)
	if again.Turn != first.Turn {
		t.Errorf("delivered again it is turn %q, want %q", again.Turn, first.Turn)
	}
	w.end(w.claim(w.chat()))
	w.want(w.accept(m("second")), inbox.Accepted)
}

func TestTheMessageAfterTheLastThatTheQueueHoldsIsToldSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	one := on(30, "one too many")
	before := w.count("turn#")
	w.wantTold(w.accept(one), inbox.Refused, full)
	w.want(w.accept(one), inbox.Duplicate)
	w.wantTexts("told", []string{full}, w.notices())
	w.wantTexts("sent", []string{full}, w.replies())
	if n := len(w.queued(w.chat())); n != turn.MaxQueued || w.count("turn#") != before {
		t.Errorf("%d turns are queued, %d were made", n, w.count("turn#")-before)
	}
	if slices.Contains(w.said(), one.Text) {
		t.Error("the thread has a message that was not taken")
	}
	w.want(w.accept(on(1, w.queued(w.chat())[0])), inbox.Duplicate) // of what was taken
	w.claim(w.chat())
	w.want(w.accept(on(31, "there is room again")), inbox.Accepted)
	w.wantTold(w.accept(on(32, "but for one")), inbox.Refused, full)
}

func TestAFullQueueOnThePageIsSaidByTheReceiptAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.Book.Link(t.Context(), w.ada, channel.Web, "page", noon))
	w.fill()
	m := say("page", "one too many")
	m.Route = channel.Route{Connection: channel.Web, Conversation: string(w.ada.Thread)}
	before := len(w.store.Items())
	for range 2 {
		w.wantTold(w.accept(m), inbox.Refused, full)
	}
	if after := len(w.store.Items()); after != before {
		t.Errorf("%d records were stored", after-before)
	}
	w.claim(w.chat())
	w.want(w.accept(m), inbox.Accepted)
}

func TestAStopMakesRoomInTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	w.halt(on(30, "/stop"))
	w.wantTexts("told", []string{"Stopped. Not started: 20 messages that waited."}, w.notices())
	for n := range int64(turn.MaxQueued) {
		w.want(w.accept(on(40+n, strings.Repeat("x", int(n)+1))), inbox.Accepted)
	}
}

func TestOneSessionsQueueIsNotAnothers(t *testing.T) {
	t.Parallel()
	w := newWorldOfTwo(t)
	w.rule(inbox.Rules{Scope: inbox.ConversationScope})
	w.fill()
	w.want(w.accept(on(30, "one too many")), inbox.Refused)
	w.want(w.accept(elsewhere("another conversation's")), inbox.Accepted)
}

func TestAMessageWaitsForThoseThatComeRightAfterIt(t *testing.T) {
	t.Parallel()
	const window = 1500 * time.Millisecond
	w := newWorld(t)
	w.rule(inbox.Rules{Debounce: window})
	w.accept(on(1, "first"))
	w.accept(on(2, "second"))
	e := w.entry("first")
	ready := noon.Add(window)
	if !e.Ready.Equal(ready) || !e.WakeAt.Equal(ready.Add(10*time.Second)) {
		t.Errorf("ready at %v, woken at %v; want %v, and that ten seconds later", e.Ready, e.WakeAt, ready)
	}
	if marks := w.marks(); len(marks) != 2 || marks[0].Kind != due.Wake || !marks[0].At.Equal(e.WakeAt) {
		t.Errorf("the due marks are %+v", marks)
	}
	view := w.view()
	if step := turn.Decide(view, ready.Add(-1)); step != turn.Gather {
		t.Errorf("within the window step %d is to be done, want %d", step, turn.Gather)
	}
	if step := turn.Decide(view, ready); step != turn.Claim {
		t.Errorf("after the window step %d is to be done, want %d", step, turn.Claim)
	}
	run, err := w.desk().Claim(t.Context(), view, ready)
	w.must(err)
	w.must(run.Open(t.Context(), &w.blobs))
	if got := w.steered(run); got != 1 {
		t.Errorf("the turn took %d more messages, want 1", got)
	}
}

func TestTheRulesAreThoseOfTheConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Rules = func(connection string) inbox.Rules {
		if connection == bot {
			return inbox.Rules{Busy: inbox.Refuse}
		}
		return inbox.Rules{}
	}
	w.must(w.Book.Link(t.Context(), w.ada, channel.Web, "page", noon))
	page := say("page", "on the page")
	page.Route = channel.Route{Connection: channel.Web, Conversation: string(w.ada.Thread)}
	w.accept(on(1, "first"))
	w.want(w.accept(page), inbox.Accepted)
	w.want(w.accept(on(2, "second")), inbox.Refused)
	w.end(w.claim(w.chat()))
	w.want(w.accept(on(3, "while the page's is queued")), inbox.Refused)
	if key := turn.SoleKey(w.chat()); w.has(key) {
		t.Errorf("%s is there though no turn of the bot's is under way", key)
	}
}

func (w *world) has(key table.Key) bool {
	w.Helper()
	item, err := w.store.Get(w.Context(), key)
	w.must(err)
	return item != nil
}

// album is a part of something that is sent as one.
func album(place int64, name string) inbox.Message {
	m := on(place, fmt.Sprint("picture ", place))
	m.Group = name
	return m
}

func TestWhatIsSentTogetherIsTakenAndWaitedForWhateverTheRule(t *testing.T) {
	t.Parallel()
	for rule, other := range map[inbox.Busy]inbox.Outcome{
		inbox.Steer: inbox.Accepted, inbox.QueueUp: inbox.Accepted, inbox.Refuse: inbox.Refused,
	} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.rule(inbox.Rules{Busy: rule})
			w.want(w.accept(album(1, "trip")), inbox.Accepted)
			w.want(w.accept(album(2, "trip")), inbox.Accepted)
			w.want(w.accept(album(3, "another")), other)
			queued, err := w.desk().Queued(t.Context(), w.chat(), 2)
			if err != nil || len(queued) != 2 {
				t.Fatalf("%d are queued, %v", len(queued), err)
			}
			for _, e := range queued {
				if e.Turn.Group != "trip" || !e.Ready.Equal(noon.Add(2*time.Second)) || !e.WakeAt.After(e.Ready) {
					t.Errorf("queued is %+v, want it to wait for the rest of its group", e)
				}
			}
		})
	}
}
