package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

var (
	errBusy = fault.As(fault.Retry, errors.New("try again"))
	errGone = fault.As(fault.GiveUp, errors.New("the chat is gone"))
	errLost = fault.As(fault.Unknown, errors.New("no answer"))
)

// desk is a conversation with a channel that does as it is told and writes down what arrives.
type desk struct {
	*testing.T
	store *tabletest.Fake
	said  int

	mu      sync.Mutex
	arrived []string
	answers []error             // of the next sends; nil sends after them
	during  func(string)        // if set, called while a part is being sent
	ids     func(string) string // if set, the channel's ID of a part
}

var route = channel.Route{Connection: "telegram-1", Conversation: "7", ReplyTo: "42"}

func newDesk(t *testing.T) *desk { return &desk{T: t, store: new(tabletest.Fake)} }

func (d *desk) sender() *Sender {
	return &Sender{
		Table: d.store, IDs: new(id.Source), Holder: "here",
		Channel: func(connection string) (channel.Channel, bool) { return d, connection == route.Connection },
	}
}

// Render makes a part of each line.
func (d *desk) Render(text string) (parts []channel.Part) {
	for line := range strings.SplitSeq(text, "\n") {
		parts = append(parts, channel.Part{Plain: line})
	}
	return parts
}

// Send lets the part arrive, unless the answer is that it did not.
func (d *desk) Send(_ context.Context, _ channel.Route, part channel.Part) (string, error) {
	if d.during != nil {
		d.during(part.Plain)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var answer error
	if len(d.answers) > 0 {
		answer, d.answers = d.answers[0], d.answers[1:]
	}
	if answer == nil || fault.Of(answer).Action == fault.Unknown {
		d.arrived = append(d.arrived, part.Plain)
	}
	if answer != nil {
		return "", answer
	}
	if d.ids != nil {
		return d.ids(part.Plain), nil
	}
	return "x-" + part.Plain, nil
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// say puts messages into the outbox, one after the other.
func (d *desk) say(texts ...string) {
	d.Helper()
	for _, text := range texts {
		d.said++
		name := fmt.Sprint("m", d.said)
		at := time.Now().Add(time.Duration(d.said) * time.Microsecond)
		ops := Enqueue(Row{Thread: "t", Route: route, Session: "s", Turn: "u"}, thread.Message{
			ID: id.Message(name), At: at, From: thread.Agent, Text: text,
		})
		d.must(d.store.Write(d.Context(), table.Write{ID: "say " + name, Ops: ops}))
	}
}

func (d *desk) flush() Report {
	d.Helper()
	report, err := d.sender().Flush(d.Context(), route.Key())
	d.must(err)
	return report
}

// drain flushes until nothing is left, waiting as long as it is told to, and adds the reports up.
func (d *desk) drain() (total Report) {
	d.Helper()
	for {
		report := d.flush()
		total.Sent += report.Sent
		total.Repeated += report.Repeated
		total.Refused += report.Refused
		total.Lost += report.Lost
		if report.Again == 0 {
			return total
		}
		time.Sleep(report.Again)
	}
}

// states lists what became of the messages, oldest first.
func (d *desk) states() (states []thread.State) {
	d.Helper()
	log, err := thread.After(d.Context(), d.store, "t", "", 100)
	d.must(err)
	for _, m := range log.Messages {
		states = append(states, m.State)
	}
	return states
}

// left counts rows, heads and due marks.
func (d *desk) left() (keys []string) {
	for _, item := range d.store.Items() {
		if strings.HasPrefix(item.Key.Partition, "conv#") || strings.HasPrefix(item.Key.Partition, "due#") {
			keys = append(keys, item.Key.String())
		}
	}
	return keys
}

func (d *desk) want(arrived []string, states ...thread.State) {
	d.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(arrived, d.arrived); diff != "" {
		d.Errorf("arrived: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff(states, d.states()); diff != "" {
		d.Errorf("states: want (-), got (+):\n%s", diff)
	}
}

func (d *desk) clean() {
	d.Helper()
	if left := d.left(); len(left) > 0 {
		d.Errorf("left %v", left)
	}
}

// bubble runs a test in fake time.
func bubble(t *testing.T, do func(*desk)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { do(newDesk(t)) })
}

func TestMessagesAndTheirPartsArriveInOrderAndOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("a", "b1\nb2\nb3", "c", "d", "e", "f")
	report := d.flush()
	d.want(strings.Fields("a b1 b2 b3 c d e f"),
		thread.Sent, thread.Sent, thread.Sent, thread.Sent, thread.Sent, thread.Sent)
	if report != (Report{Sent: 6}) {
		t.Errorf("got %+v", report)
	}
	d.clean()
	if again := d.flush(); again != (Report{}) {
		t.Errorf("with nothing to send: %+v", again)
	}
}

func TestAReplyToAnyPartIsKnownToBelongToItsTurn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("b1\nb2")
	d.flush()
	for _, external := range []string{"x-b1", "x-b2"} {
		item, err := d.store.Get(t.Context(), refKey(route.Key(), external))
		d.must(err)
		var ref Ref
		if _, err := table.Decode(item, &ref); err != nil || ref != (Ref{"t", "s", "u"}) {
			t.Errorf("%s belongs to %+v, %v", external, ref, err)
		}
	}
}

func TestAPartThatWasNotTakenIsSentAgainWhereItStopped(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a1\na2\na3", "b")
		d.answers = []error{nil, fault.RetryAfter(30*time.Second, errBusy)}
		begun := time.Now()
		if report := d.flush(); report.Again != 30*time.Second || report.Sent != 0 {
			d.Errorf("got %+v, want it to come again in 30 s", report)
		}
		d.want([]string{"a1"}, thread.Pending, thread.Pending)
		time.Sleep(29 * time.Second)
		if report := d.flush(); report.Again != time.Second {
			d.Errorf("too early: %+v", report)
		}
		d.want([]string{"a1"}, thread.Pending, thread.Pending)
		time.Sleep(time.Second)
		d.flush()
		d.want(strings.Fields("a1 a2 a3 b"), thread.Sent, thread.Sent)
		if got := time.Since(begun); got != 30*time.Second {
			d.Errorf("it took %v", got)
		}
		d.clean()
	})
}

func TestAChannelThatNamesNoWaitIsAskedAgainEverLaterAndForADay(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a")
		begun := time.Now()
		var waits []time.Duration
		for {
			d.answers = []error{errBusy}
			report := d.flush()
			if d.states()[0] == thread.Refused { // the rest is the notice's
				break
			}
			waits = append(waits, report.Again)
			time.Sleep(report.Again)
		}
		if waits[0] != time.Second || waits[1] != 2*time.Second || waits[len(waits)-1] != longestPause {
			d.Errorf("waits begin with %v and end with %v", waits[:2], waits[len(waits)-1])
		}
		if got := time.Since(begun); got < patience || got > patience+longestPause {
			d.Errorf("it was given up after %v", got)
		}
		d.answers = nil
		d.drain()
		d.want([]string{MissedNotice}, thread.Refused, thread.Sent)
		d.clean()
	})
}

func TestAPartOfWhichNothingIsKnownIsSentOnceMoreAndSaysSo(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a1\na2", "b")
		d.answers = []error{nil, errLost}
		report := d.drain()
		d.want([]string{"a1", "a2", doubtLine, "a2", "b"}, thread.Repeated, thread.Sent)
		if report.Repeated != 1 {
			d.Errorf("got %+v, want one repeat counted", report)
		}
		d.clean()
	})
}

func TestAPartOfWhichNothingIsKnownTwiceIsGivenUpOpenly(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a1\na2", "b")
		d.answers = []error{errLost, nil, errLost}
		report := d.drain()
		d.want([]string{"a1", doubtLine, "a1", "b", MissedNotice}, thread.Lost, thread.Sent, thread.Sent)
		if report.Lost != 1 {
			d.Errorf("got %+v, want one loss counted", report)
		}
		d.clean()
	})
}

// What the owner reads about a message must not deny that it may have arrived.
func TestARefusalOfARepeatLeavesTheDoubt(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a")
		d.answers = []error{errLost, errGone, errGone}
		d.drain()
		d.want([]string{"a"}, thread.Lost, thread.Refused) // the notice was refused too
		d.clean()
	})
}

func TestARepeatThatIsPutOffStillSaysSo(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a")
		d.answers = []error{errLost, errBusy}
		d.drain()
		d.want([]string{"a", doubtLine, "a"}, thread.Repeated)
		d.clean()
	})
}

func TestWhatTheChannelRefusesIsSaidAndHoldsNothingUp(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("a1\na2", "b")
	d.answers = []error{nil, errGone}
	var changed []thread.State
	s := d.sender()
	s.Changed = func(_ id.Thread, m thread.Message) { changed = append(changed, m.State) }
	report, err := s.Flush(t.Context(), route.Key())
	d.must(err)
	d.want([]string{"a1", "b"}, thread.Refused, thread.Sent)
	log, err := thread.After(t.Context(), d.store, "t", "", 1)
	d.must(err)
	if got := log.Messages[0].Error; got != "the chat is gone" || report.Refused != 1 {
		t.Errorf("the owner reads %q; %+v", got, report)
	}
	if diff := cmp.Diff([]thread.State{thread.Refused, thread.Sent}, changed); diff != "" {
		t.Errorf("told of changes: want (-), got (+):\n%s", diff)
	}
	d.clean()
}

func TestAStartWithoutTheChannelPutsOffWhatWaitsForIt(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a")
		s := d.sender()
		s.Channel = func(string) (channel.Channel, bool) { return nil, false }
		report, err := s.Flush(d.Context(), route.Key())
		d.must(err)
		if report != (Report{Again: setupPause}) {
			d.Errorf("got %+v, want it to come again in %v", report, setupPause)
		}
		d.want(nil, thread.Pending)
		time.Sleep(report.Again)
		d.flush() // by a process that has it
		d.want([]string{"a"}, thread.Sent)
		d.clean()
	})
}

func TestAConnectionThatStaysAwayIsGivenUpAfterADay(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a")
		s, begun := d.sender(), time.Now()
		s.Channel = func(string) (channel.Channel, bool) { return nil, false }
		for d.states()[0] == thread.Pending {
			report, err := s.Flush(d.Context(), route.Key())
			d.must(err)
			time.Sleep(report.Again)
		}
		if got := time.Since(begun); got < patience || got > patience+2*setupPause {
			d.Errorf("it was given up after %v", got)
		}
		d.drain()
		d.want([]string{MissedNotice}, thread.Refused, thread.Sent)
		d.clean()
	})
}

// firstOnly is a table that stops looking after the first condition that does not hold.
type firstOnly struct{ table.Table }

func (t firstOnly) Write(ctx context.Context, w table.Write) error {
	err := t.Table.Write(ctx, w)
	if failed, ok := errors.AsType[*table.ConditionError](err); ok {
		failed.Failed = failed.Failed[:1]
	}
	return err
}

func TestAChannelThatGivesAnIDTwiceDoesNotMakeAMessageComeTwice(t *testing.T) {
	t.Parallel()
	for name, see := range map[string]func(table.Table) table.Table{
		"a store that names every clash":   func(t table.Table) table.Table { return t },
		"a store that names one at a time": func(t table.Table) table.Table { return firstOnly{t} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.ids = func(part string) string { return part[1:] } // the same for each message
			d.say("a1\na2\na3", "b1\nb2\nb3")
			s := d.sender()
			s.Table = see(d.store)
			_, err := s.Flush(t.Context(), route.Key())
			d.must(err)
			d.want(strings.Fields("a1 a2 a3 b1 b2 b3"), thread.Sent, thread.Sent)
			d.clean()
		})
	}
}

func TestSendersAtOnceSendEachPartOnce(t *testing.T) {
	bubble(t, func(d *desk) {
		d.during = func(string) { time.Sleep(time.Second) }
		d.say("a1\na2", "b", "c")
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				if _, err := d.sender().Flush(d.Context(), route.Key()); err != nil {
					d.Error(err)
				}
			})
		}
		group.Wait()
		d.want(strings.Fields("a1 a2 b c"), thread.Sent, thread.Sent, thread.Sent)
		d.clean()
	})
}

// Whoever stores a message and finds another at work leaves it to that one.
func TestAMessageStoredWhileAnotherIsAtWorkIsSentByThatOne(t *testing.T) {
	for name, part := range map[string]string{"while a part is sent": "a1", "while the last part is sent": "a2"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(d *desk) {
				d.say("a1\na2")
				d.during = func(at string) {
					if at != part {
						return
					}
					d.say("b")
					if report := d.flush(); report.Sent != 0 {
						d.Errorf("the second sender did %+v", report)
					}
				}
				d.flush()
				d.want(strings.Fields("a1 a2 b"), thread.Sent, thread.Sent)
				d.clean()
			})
		})
	}
}

func TestAMessageStoredWhileTheOtherSenderLetsGoIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("a")
	writes := 0
	d.store.Fault = func(c tabletest.Call) tabletest.Fault {
		if c.Method != tabletest.MethodWrite || strings.HasPrefix(c.Write.ID, "say") {
			return tabletest.Fault{}
		}
		if writes++; writes != 2 { // the second settles the message and lets go
			return tabletest.Fault{}
		}
		return tabletest.Fault{While: func() {
			d.say("b")
			d.flush() // finds the other one at work
		}}
	}
	d.flush()
	d.want([]string{"a", "b"}, thread.Sent, thread.Sent)
	d.clean()
}

func TestWhoeverComesAfterADeadSenderWaitsUntilItCountsAsDead(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a", "b")
		d.die("a")
		if report := d.flush(); report.Sent != 0 {
			d.Errorf("at once: %+v", report)
		}
		time.Sleep(holdTerm)
		d.flush()
		d.want([]string{"a", doubtLine, "a", "b"}, thread.Repeated, thread.Sent)
		d.clean()
	})
}

// die is a sender that dies when the part has arrived and before it could say so.
func (d *desk) die(part string) {
	d.Helper()
	d.store.Fault = func(c tabletest.Call) tabletest.Fault {
		d.mu.Lock()
		defer d.mu.Unlock()
		if c.Method == tabletest.MethodWrite && len(d.arrived) > 0 && d.arrived[len(d.arrived)-1] == part {
			return tabletest.Fault{Kind: tabletest.Refused}
		}
		return tabletest.Fault{}
	}
	if _, err := d.sender().Flush(d.Context(), route.Key()); !errors.Is(err, table.ErrRefused) {
		d.Fatalf("got %v, want the sender to be cut off", err)
	}
	d.store.Fault = nil
}

func TestTheMessagesOfASenderThatIsKnownToBeGoneNeedNotWait(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a")
		d.die("a")
		s := d.sender()
		s.Gone = func(holder string) bool { return holder == "here" }
		_, err := s.Flush(d.Context(), route.Key())
		d.must(err)
		d.want([]string{"a", doubtLine, "a"}, thread.Repeated)
		d.clean()
	})
}

func TestAStopBetweenPartsLeavesTheRestToTheNextSenderWithoutDoubt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("a1\na2", "b")
	ctx, cancel := context.WithCancel(t.Context())
	d.during = func(string) { cancel() }
	if _, err := d.sender().Flush(ctx, route.Key()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it to end with its context", err)
	}
	d.want([]string{"a1"}, thread.Pending, thread.Pending)
	d.during = nil
	d.flush() // at once: nothing is in doubt, and nobody holds the conversation
	d.want([]string{"a1", "a2", "b"}, thread.Sent, thread.Sent)
	d.clean()
}

func TestWritesOfWhichNobodyHearsMakeNoRepeat(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a1\na2", "b")
		n := 0
		d.store.Fault = func(c tabletest.Call) tabletest.Fault {
			if n++; c.Method == tabletest.MethodWrite && n%2 == 0 {
				return tabletest.Fault{Kind: tabletest.Unheard}
			}
			return tabletest.Fault{}
		}
		d.flush()
		d.want(strings.Fields("a1 a2 b"), thread.Sent, thread.Sent)
		d.clean()
	})
}

func TestEveryRowHasADueMarkUntilItIsSettled(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a", "b")
		d.answers = []error{nil, errBusy}
		d.flush()
		var marks []due.Mark
		for shard := range due.Shards {
			got, err := due.Scan(d.Context(), d.store, shard, time.Now().Add(time.Hour), 10)
			d.must(err)
			marks = append(marks, got...)
		}
		if len(marks) != 1 || marks[0].Kind != due.Send || marks[0].Subject != "m2" || marks[0].Conversation != route.Key() {
			d.Errorf("the marks are %+v, want the second message's", marks)
		}
	})
}

// A record that something else put there, or that was damaged, must not end the process.
func TestARowWhoseKeyIsDamagedIsAnError(t *testing.T) {
	t.Parallel()
	for _, sort := range []string{"o#", "o#x#m", "o#12#m", "p#0000000000000012#m", "o#0000000000000012"} {
		d := newDesk(t)
		key := table.Key{Partition: Partition(route.Key()), Sort: sort}
		d.must(d.store.Write(t.Context(), table.Write{ID: "w", Ops: []table.Op{
			table.Put(key, table.Encode(Row{Route: route, Text: "a"}), table.Absent()),
		}}))
		if _, err := d.sender().Flush(t.Context(), route.Key()); err == nil || !strings.Contains(err.Error(), "decoding the key") {
			t.Errorf("%s: got %v", sort, err)
		}
	}
}

func TestAStopBetweenMessagesLetsGoOfTheConversation(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("a", "b")
	ctx, cancel := context.WithCancel(t.Context())
	d.during = func(string) { cancel() }
	if _, err := d.sender().Flush(ctx, route.Key()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it to end with its context", err)
	}
	d.during = nil
	d.flush()
	d.want([]string{"a", "b"}, thread.Sent, thread.Sent)
	d.clean()
}

// A messenger that answers 5xx for a moment would take the repeat as badly if it came at once.
func TestARepeatWaitsForTheTroubleToPass(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a")
		d.answers = []error{errLost}
		report := d.flush()
		if report.Again != doubtPause || doubtPause < 5*time.Second {
			d.Errorf("got %+v, want it to come again in %v", report, doubtPause)
		}
		time.Sleep(report.Again - time.Millisecond)
		d.flush()
		d.want([]string{"a"}, thread.Pending)
		d.drain()
		d.want([]string{"a", doubtLine, "a"}, thread.Repeated)
		d.clean()
	})
}

func TestANoticeThatMayNotHaveArrivedMakesNoOther(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a")
		d.answers = []error{errLost, errLost, errLost, errLost}
		report := d.drain()
		d.want([]string{"a", doubtLine, MissedNotice, doubtLine}, thread.Lost, thread.Lost)
		if report.Lost != 2 {
			d.Errorf("got %+v, want two lost", report)
		}
		d.clean()
	})
}

// Storing a mark may take as long as the store is away. What is left of the hold then must be enough for the call.
func TestNothingIsSentWhenTheHoldHasAllButRunOut(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a")
		slow := true
		d.store.Fault = func(c tabletest.Call) tabletest.Fault {
			if c.Method != tabletest.MethodWrite || !slow {
				return tabletest.Fault{}
			}
			slow = false
			return tabletest.Slow(holdTerm - holdMargin - leastCall + time.Second)
		}
		if report := d.flush(); report.Again != firstPause {
			d.Errorf("got %+v, want it to come again in %v", report, firstPause)
		}
		d.want(nil, thread.Pending)
		d.drain()
		d.want([]string{"a"}, thread.Sent)
		d.clean()
	})
}

func TestASenderThatLosesEveryRaceGivesUp(t *testing.T) {
	bubble(t, func(d *desk) {
		d.say("a")
		races := 0
		s := d.sender()
		s.Table = racing{d.store, &races}
		if _, err := s.Flush(d.Context(), route.Key()); !errors.Is(err, errRaced) || races != maxRaces+1 {
			d.Errorf("got %v after %d races, want it to give up after %d", err, races, maxRaces+1)
		}
		d.want(nil, thread.Pending)
	})
}

// racing is a table in which someone else is always quicker.
type racing struct {
	table.Table
	races *int
}

func (t racing) Write(context.Context, table.Write) error {
	*t.races++
	return &table.ConditionError{Failed: []table.Failed{{Index: 0}}}
}
