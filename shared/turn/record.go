package turn

import (
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// Source says what started a turn.
type Source string

// The sources.
const (
	User     Source = "user"
	Task     Source = "task"
	Schedule Source = "schedule"
	Event    Source = "event"
	Resume   Source = "resume"
)

// Turn is one run of the agent.
type Turn struct {
	ID      id.Turn       `json:"id"`
	Owner   id.Owner      `json:"owner"`
	Thread  id.Thread     `json:"thread"`
	Session id.Session    `json:"session"`
	Source  Source        `json:"source"`
	Status  Status        `json:"status"`
	Route   channel.Route `json:"route"`             // where its replies go; fixed when it is created
	Message string        `json:"message,omitempty"` // the sort key of the owner's message in the thread
	Created time.Time     `json:"created"`           // when it was accepted
	// Order is its place in its session's queue, Generation the thread's when it was accepted: together with Created, what
	// a stop is measured against.
	Order      string      `json:"order,omitempty"`
	Generation int64       `json:"generation,omitempty"`
	Continues  id.Turn     `json:"continues,omitempty"` // the waiting turn that it goes on from; of a resume turn
	Apart      bool        `json:"apart,omitempty"`     // no running turn takes its message, but one of its group
	Group      string      `json:"group,omitempty"`     // what its message was sent together with; "" for nothing
	Sole       bool        `json:"sole,omitempty"`      // while it is queued or runs, its connection's messages are refused
	Started    time.Time   `json:"started,omitzero"`
	Held       time.Time   `json:"held,omitzero"` // since when its present worker, or handover, has it
	Ended      time.Time   `json:"ended,omitzero"`
	Epoch      int64       `json:"epoch,omitempty"` // under which it runs or ran last
	Slot       *int        `json:"slot,omitempty"`  // the permit that it holds while it runs; nil where there is no cap
	Steps      int         `json:"steps,omitempty"` // model requests answered
	Usage      model.Usage `json:"usage,omitzero"`
	ClosedBy   id.Turn     `json:"closed_by,omitempty"` // the turn that took its message; its cancellation is none to the owner
	Error      string      `json:"error,omitempty"`     // as raised, secrets cut out; of a failed turn
}

// Background reports whether nobody waits for the turn: it was not started by its owner, nor does it continue what was.
func (t Turn) Background() bool { return t.Source == Schedule || t.Source == Event }

// place is where the turn stands for a stop.
func (t Turn) place() thread.Place {
	return thread.Place{
		Session: t.Session, Conversation: t.Route.Key(), Order: t.Order, Generation: t.Generation, Accepted: t.Created,
	}
}

// HeadKey addresses a turn.
func HeadKey(turn id.Turn) table.Key {
	return table.Key{Partition: "turn#" + string(turn), Sort: "head"}
}

// Put stores the turn under a condition.
func (t Turn) Put(c table.Cond) table.Op { return table.Put(HeadKey(t.ID), table.Encode(t), c) }

// Fence says which turn a session runs and under which epoch. It changes only at claim, handover, stop and end, and when
// the session is dropped.
type Fence struct {
	Epoch int64   `json:"epoch"`          // grows with every claim, handover and drop
	Turn  id.Turn `json:"turn,omitempty"` // the running turn; "" when the session is idle
	// Continuing says that no worker has the turn: one has handed it over, and the next wake-up goes on with it.
	Continuing bool `json:"continuing,omitempty"`
	Rests      bool `json:"rests,omitempty"` // there is a due mark that drops the session when it has been idle for long

	Revision table.Revision `json:"-"` // as read; "" if there was none
}

// FenceKey addresses a session's fence.
func FenceKey(session id.Session) table.Key { return sessionKey(session, "fence") }

func (f Fence) put(session id.Session, c table.Cond) table.Op {
	return table.Put(FenceKey(session), table.Encode(f), c)
}

// Lease shows that the worker of a running turn is alive. It is never what makes a write safe.
type Lease struct {
	Epoch  int64     `json:"epoch"`
	Until  time.Time `json:"until"`
	Holder string    `json:"holder"` // the worker's process

	Revision table.Revision `json:"-"`
}

// LeaseKey addresses a session's lease.
func LeaseKey(session id.Session) table.Key { return sessionKey(session, "lease") }

func (l Lease) put(session id.Session, c table.Cond) table.Op {
	return table.Put(LeaseKey(session), table.Encode(l), c)
}

// Head is a session's mutable head, changed by its running turn alone.
type Head struct {
	Thread   id.Thread           `json:"thread"`
	Manifest transcript.Manifest `json:"manifest,omitzero"`
	Previous *Failure            `json:"previous,omitempty"` // how the last turn failed; until a turn has seen and saved it
	Told     time.Time           `json:"told,omitzero"`      // of the last message to the owner, or that a turn took; the next one stands after it
	// Conversation is where that message went, as a route's key; "" if it had not to be sent.
	Conversation string `json:"conversation,omitempty"`
	// Route is the conversation whose own the session is, so that what comes unasked finds its way; nil for any other.
	Route *channel.Route `json:"route,omitempty"`
	Ended time.Time      `json:"ended,omitzero"`  // of its last turn
	Waits []id.Turn      `json:"waits,omitempty"` // turns that ended as waiting, whose waits may still be open
	Work  *Work          `json:"work,omitempty"`  // of the turn that runs or ran last
	// Taken is where the running turn stands with what it took: a stop pressed before all of that does not end the turn.
	Taken *Taken `json:"taken,omitempty"`

	Revision table.Revision `json:"-"`
}

// Taken is where a turn stands with the messages that it took.
type Taken struct {
	By id.Turn `json:"by"`
	thread.Place
}

// Failure is what a session's next turn is told about the one that failed.
type Failure struct {
	Turn        id.Turn `json:"turn"`
	Error       string  `json:"error"`
	Interrupted bool    `json:"interrupted,omitempty"` // its worker died; what it was doing is unknown
	Stopped     bool    `json:"stopped,omitempty"`     // it did not fail: its owner stopped it
	Message     string  `json:"message,omitempty"`     // the sort key of the owner's message that it should have answered
	// Earlier is the failure before, which this turn was to be told of and had not saved when it failed.
	Earlier *Failure `json:"earlier,omitempty"`
}

// maxFailures is how many failures in a row a session remembers until a turn has seen them.
const maxFailures = 10

// newest is the failure with at most n before it; nil for none.
func (f *Failure) newest(n int) *Failure {
	if f == nil || n == 0 {
		return nil
	}
	c := *f
	c.Earlier = f.Earlier.newest(n - 1)
	return &c
}

// SessionKey addresses a session's head.
func SessionKey(session id.Session) table.Key { return sessionKey(session, "head") }

func (h Head) put(session id.Session) table.Op {
	return table.Put(SessionKey(session), table.Encode(h), table.AtOrAbsent(h.Revision))
}

// Entry is a queued turn: all that a claim needs, so that nothing else has to be read first.
type Entry struct {
	Turn   Turn      `json:"turn"`
	Text   string    `json:"text"`
	Quote  string    `json:"quote,omitempty"` // untrusted
	WakeAt time.Time `json:"wake_at"`         // of its due mark
	// Ready is until when more messages are waited for, which then become one turn with it; zero if it may start at once.
	Ready  time.Time   `json:"ready,omitzero"`
	Joined time.Time   `json:"joined,omitzero"`  // since when it waits for a permit; zero if it does not
	Resume *Resumption `json:"resume,omitempty"` // of a resume turn

	Revision table.Revision `json:"-"` // also that of its turn's head: both are always put by the same write
}

// Resumption is what a resume turn goes on with.
type Resumption struct {
	Yes    bool         `json:"yes"`              // the owner agreed
	Action *wait.Action `json:"action,omitempty"` // what was agreed to, or declined
}

// QueuePrefix begins the sort keys of queued turns.
const QueuePrefix = "q#"

// Key addresses the entry.
func (e Entry) Key() table.Key {
	return e.Turn.entryKey()
}

func (t Turn) entryKey() table.Key {
	return sessionKey(t.Session, QueuePrefix+t.Order+"#"+string(t.ID))
}

func (e Entry) put(c table.Cond) table.Op { return table.Put(e.Key(), table.Encode(e), c) }

// Order is the place of a message in its session's queue: by the second it was sent, then by the channel's own
// sequence, then by its place within one delivery.
func Order(sent time.Time, sequence int64, place int) string {
	return fmt.Sprintf("%011d.%019d.%03d", max(sent.Unix(), 0), max(sequence, 0), place)
}

// SessionPartition holds all records of a session.
func SessionPartition(session id.Session) string { return "session#" + string(session) }

func sessionKey(session id.Session, sort string) table.Key {
	return table.Key{Partition: SessionPartition(session), Sort: sort}
}
