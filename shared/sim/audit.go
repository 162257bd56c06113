package sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// audit follows the records by the writes that were applied, in their order, and says when one should not have been:
// by what the records are, not by what the write demanded.
type audit struct {
	world    *world
	writes   map[string]bool // IDs of those applied: one sent again is applied once
	sessions map[string]*sessionState
	turns    map[id.Turn]*turnState
	threads  map[string]int64 // their generations
	stops    []*raised
	slots    map[string]bool         // permits in use
	looked   map[string]int          // when a lane last read the queue of a session
	left     map[table.Key]time.Time // records that must be gone at the end; of due marks, when they are due
	marks    int
	handing  string // the lane that handed a turn over last
}

// sessionState is a session as its records say.
type sessionState struct {
	fence  turn.Fence
	lease  *turn.Lease
	holder string                // the lane that claimed the running turn
	queued map[string]queuedTurn // by sort key
	claims []id.Turn             // in order
	drops  []int                 // when it was dropped, counted in writes
}

// queuedTurn is a queued turn as its record says.
type queuedTurn struct {
	turn.Turn
	put int // when, counted in writes
}

// turnState is a turn as its record says.
type turnState struct {
	turn.Turn
	puts   int // how often it was put as queued
	claims int
	begun  int       // when, counted in writes
	ended  int       // when, counted in writes
	put    int       // when it was queued, counted in writes
	hands  int       // how often it was handed over
	waited bool      // it has ended as waiting
	took   []id.Turn // whose messages it took, in order
}

func (a *audit) start(w *world) {
	a.world = w
	a.writes = map[string]bool{}
	a.sessions, a.turns = map[string]*sessionState{}, map[id.Turn]*turnState{}
	a.threads, a.slots = map[string]int64{}, map[string]bool{}
	a.looked, a.left = map[string]int{}, map[table.Key]time.Time{}
}

// change is what one write does to the records of a session.
type change struct {
	lane    string
	session string
	fence   *turn.Fence
	lease   *turn.Lease
	head    bool
	turns   []*turn.Turn
	gone    []string // the sort keys of queued turns that leave the queue
}

// applied takes note of a write.
func (a *audit) applied(lane string, w table.Write) {
	if a.writes[w.ID] {
		return
	}
	a.writes[w.ID] = true
	c := change{lane: lane}
	for i := range w.Ops {
		a.op(&c, &w.Ops[i])
	}
	for _, t := range c.turns {
		a.status(c, t)
	}
	if n := len(a.slots); n > a.world.manners.permits {
		a.world.violate("%d permits are in use, of %d", n, a.world.manners.permits)
	}
	if c.session != "" {
		a.session(c)
	}
}

// op reads one operation into the change.
func (a *audit) op(c *change, op *table.Op) {
	if op.Kind == table.OpCheck {
		return
	}
	a.keep(op)
	space, name, _ := strings.Cut(op.Key.Partition, "#")
	put := op.Kind == table.OpPut
	switch {
	case space == "turn" && put:
		t := &turn.Turn{}
		a.read(op, t)
		c.turns = append(c.turns, t)
		if t.Status == turn.Queued || t.ClosedBy != "" {
			c.session = string(t.Session)
		}
	case space == "thread" && op.Key.Sort == "head" && put:
		var head struct{ Generation int64 }
		a.read(op, &head)
		a.threads[name] = head.Generation
	case space == "thread" && strings.HasPrefix(op.Key.Sort, "stop#") && put:
		a.raise(name, op)
	case space == "cap" && strings.HasPrefix(op.Key.Sort, "slot#"):
		if put && a.slots[op.Key.Sort] {
			a.world.violate("%s took %s, which is in use", c.lane, op.Key)
		}
		if a.slots[op.Key.Sort] = put; !put {
			delete(a.slots, op.Key.Sort)
		}
	case space != "session":
	case strings.HasPrefix(op.Key.Sort, turn.QueuePrefix):
		c.session = name
		if put {
			a.queue(name, op)
		} else {
			c.gone = append(c.gone, op.Key.Sort)
		}
	case op.Key.Sort == "fence" && put:
		c.session, c.fence = name, &turn.Fence{}
		a.read(op, c.fence)
	case op.Key.Sort == "lease" && put:
		c.session, c.lease = name, &turn.Lease{}
		a.read(op, c.lease)
	case op.Key.Sort == "head" && put:
		c.session, c.head = name, true
	}
}

// queue follows a turn that is queued, which must be of the thread's generation. One that joins the line for a permit is
// put once more.
func (a *audit) queue(session string, op *table.Op) {
	var e turn.Entry
	a.read(op, &e)
	queued := a.of(session).queued
	if _, again := queued[op.Key.Sort]; again {
		a.world.cover.count("waited for a permit")
		return
	}
	queued[op.Key.Sort] = queuedTurn{e.Turn, len(a.writes)}
	if now := a.threads[string(e.Turn.Thread)]; e.Turn.Generation != now {
		a.world.violate("%s was queued for generation %d, which is %d", op.Key, e.Turn.Generation, now)
	}
}

func (a *audit) read(op *table.Op, v any) {
	if _, err := table.Decode(&table.Item{Key: op.Key, Value: op.Value}, v); err != nil {
		a.world.violate("%v", err)
	}
}

// keep follows the records that must be gone when the world is at rest.
func (a *audit) keep(op *table.Op) {
	space, _, _ := strings.Cut(op.Key.Partition, "#")
	sort, _, _ := strings.Cut(op.Key.Sort, "#")
	mark := space == "due"
	switch {
	case mark:
		if k := strings.SplitN(op.Key.Sort, "#", 3)[1]; k == string(due.Expire) || k == string(due.Rest) {
			return // of days to come
		}
	case space == "conv", space == "cap":
	case space == "session" && (sort == "q" || sort == "lease" || sort == "sole"):
	case space == "thread" && (sort == "run" || sort == "stop"):
	default:
		return
	}
	_, there := a.left[op.Key]
	if op.Kind != table.OpPut {
		delete(a.left, op.Key)
	} else {
		a.left[op.Key] = dueAt(op.Key)
	}
	if mark && there != (op.Kind == table.OpPut) {
		a.marks += map[bool]int{true: 1, false: -1}[op.Kind == table.OpPut]
	}
}

func dueAt(k table.Key) time.Time {
	ms, err := strconv.ParseInt(strings.SplitN(k.Sort, "#", 2)[0], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// dues counts the due marks; dueBefore asks whether one is due by then.
func (a *audit) dues() int { return a.marks }

func (a *audit) dueBefore(at time.Time) bool {
	for k, due := range a.left {
		if strings.HasPrefix(k.Partition, "due#") && due.Before(at) {
			return true
		}
	}
	return false
}

func (a *audit) of(session string) *sessionState {
	s := a.sessions[session]
	if s == nil {
		s = &sessionState{queued: map[string]queuedTurn{}}
		a.sessions[session] = s
	}
	return s
}

// status follows a turn's status, which takes only the steps there are, and no turn is queued twice.
func (a *audit) status(c change, t *turn.Turn) {
	s := a.turns[t.ID]
	if s == nil {
		s = &turnState{}
		a.turns[t.ID] = s
	}
	before := s.Turn
	s.Turn = *t
	switch {
	case t.Status == turn.Queued && before.Status == turn.Queued: // it joins the line for a permit
	case t.Status == turn.Running && before.Status == turn.Running: // it changes hands
	case t.Status == turn.Queued:
		s.put = len(a.writes)
		if s.puts++; s.puts > 1 {
			a.world.violate("turn %s was queued %d times", t.ID, s.puts)
		}
	case before.ID == "":
		a.world.violate("turn %s began as %s", t.ID, t.Status)
	default:
		if _, err := before.Status.Become(t.Status); err != nil {
			a.world.violate("turn %s: %v", t.ID, err)
		}
	}
	if t.Status.Ended() {
		s.ended = len(a.writes)
	}
	if t.Status == turn.Waiting {
		s.waited = true
		a.world.cover.count("turn waits")
		a.world.confirm(t)
	}
	if t.Status == turn.Cancelled && t.ClosedBy == "" {
		a.cancelled(c, s, before)
	}
}

// session checks what a write does to a session, and then follows it.
func (a *audit) session(c change) {
	s := a.of(c.session)
	switch {
	case c.fence != nil && c.fence.Turn != "" && c.fence.Turn == s.fence.Turn:
		a.change(s, c)
	case c.fence != nil && c.fence.Turn != "":
		a.claim(s, c)
	case c.fence != nil && s.fence.Turn == "" && (len(c.turns) == 0 || c.fence.Epoch == s.fence.Epoch+1):
		s.drops = append(s.drops, len(a.writes))
		a.world.cover.count("session dropped")
	case c.fence != nil:
		a.end(s, c)
	case c.head && (s.fence.Turn == "" || s.holder != c.lane):
		a.world.violate("%s changed the head of session %s, whose running turn is %q, of %s", c.lane, c.session, s.fence.Turn, s.holder)
	case c.lease != nil && (s.fence.Turn == "" || s.holder != c.lane || c.lease.Epoch != s.fence.Epoch):
		a.world.violate("%s renewed the lease of session %s, whose running turn is %q, of %s", c.lane, c.session, s.fence.Turn, s.holder)
	}
	if slices.ContainsFunc(c.turns, isClosed) {
		a.take(s, c)
	}
	for _, key := range c.gone {
		delete(s.queued, key)
	}
	if c.fence != nil {
		s.fence = *c.fence
		s.lease = nil
	}
	if c.lease != nil {
		s.lease = c.lease
	}
}

// change checks that a turn is handed over by its worker, and then taken up once.
func (a *audit) change(s *sessionState, c change) {
	t := a.turns[c.fence.Turn]
	switch {
	case c.fence.Epoch != s.fence.Epoch+1:
		a.world.violate("epoch %d follows epoch %d", c.fence.Epoch, s.fence.Epoch)
	case c.fence.Continuing == s.fence.Continuing:
		a.world.violate("%s took %s from %s, who had not handed it over", c.lane, c.fence.Turn, s.holder)
	case c.fence.Continuing && s.holder != c.lane:
		a.world.violate("%s handed over %s, which %s has", c.lane, c.fence.Turn, s.holder)
	case c.fence.Continuing:
		s.holder, a.handing = "", c.lane
		t.hands++
		a.world.cover.count("handed over")
	default:
		s.holder = c.lane
	}
}

// claim checks that a turn begins alone, for the first time, and as the oldest of those its worker could see.
func (a *audit) claim(s *sessionState, c change) {
	if s.fence.Turn != "" {
		a.world.violate("%s claimed %s while %s runs in the session", c.lane, c.fence.Turn, s.fence.Turn)
	}
	if c.fence.Epoch != s.fence.Epoch+1 {
		a.world.violate("epoch %d follows epoch %d", c.fence.Epoch, s.fence.Epoch)
	}
	t := a.turns[c.fence.Turn]
	if t == nil || t.Status != turn.Running {
		a.world.violate("the fence of session %s names %s, which does not run", c.session, c.fence.Turn)
		return
	}
	t.begun = len(a.writes)
	if t.claims++; t.claims > 1 {
		a.world.violate("turn %s began %d times", t.ID, t.claims)
	}
	a.oldest(s, c, []id.Turn{t.ID})
	s.holder = c.lane
	s.claims = append(s.claims, t.ID)
	if a.running() > 0 {
		a.world.cover.count("turns of two sessions at once")
	}
}

// take checks that the running turn, by its own worker, took the oldest messages that its worker could see, and only of
// its own conversation.
func (a *audit) take(s *sessionState, c change) {
	by := a.turns[s.fence.Turn]
	if by == nil || s.holder != c.lane || !c.head {
		a.world.violate("%s took messages in session %s, whose running turn is %q, of %s", c.lane, c.session, s.fence.Turn, s.holder)
		return
	}
	var taken []id.Turn
	for _, t := range c.turns {
		if t.Status != turn.Cancelled || t.ClosedBy != by.ID || t.Route.Key() != by.Route.Key() || t.Source != turn.User {
			a.world.violate("%s took %+v into %+v", c.lane, t, by.Turn)
		}
		taken = append(taken, t.ID)
	}
	a.oldest(s, c, taken)
	by.took = append(by.took, taken...)
	for range taken {
		a.world.cover.count("message taken")
	}
	if len(taken) > 1 {
		a.world.cover.count("several messages taken at once")
	}
}

// oldest checks that what leaves the queue for a running turn are these turns, in order, that no stop hits them, and that
// they are the oldest of those that the worker could see.
func (a *audit) oldest(s *sessionState, c change, want []id.Turn) {
	gone := map[string]bool{}
	var turns []id.Turn
	for _, key := range c.gone {
		q, ok := s.queued[key]
		if !ok {
			a.world.violate("%s ran %s, which is not queued", c.lane, key)
		} else if hit := a.hit(q.Turn, q.put); hit != nil {
			a.world.violate("%s ran %s, which had been stopped at %v", c.lane, key, hit.at)
		}
		gone[key] = true
		turns = append(turns, q.ID)
	}
	if !slices.Equal(turns, want) || !slices.IsSorted(c.gone) {
		a.world.violate("%s ran %v, and out of the queue went %v", c.lane, want, c.gone)
	}
	seen := a.looked[c.lane+c.session]
	for _, key := range slices.Sorted(maps.Keys(s.queued)) {
		if n := len(c.gone); n > 0 && !gone[key] && key < c.gone[n-1] && s.queued[key].put <= seen {
			a.world.violate("%s ran %s though %s was queued before it", c.lane, c.gone[n-1], key)
		}
	}
}

func isClosed(t *turn.Turn) bool { return t.ClosedBy != "" }

// end checks that a turn is ended by its worker, or after its worker's lease has run out.
func (a *audit) end(s *sessionState, c change) {
	switch {
	case s.fence.Turn == "":
		a.world.violate("%s ended a turn of session %s, of which none runs", c.lane, c.session)
	case len(c.turns) != 1 || c.turns[0].ID != s.fence.Turn || !c.turns[0].Status.Ended():
		a.world.violate("%s freed session %s without ending %s", c.lane, c.session, s.fence.Turn)
	case c.turns[0].Status == turn.Cancelled:
		a.stopped(s, c)
	case c.lane == s.holder:
	case s.lease != nil && time.Now().Before(s.lease.Until):
		a.world.violate("%s ended %s, whose worker %s has %v left", c.lane, s.fence.Turn, s.holder, time.Until(s.lease.Until))
	default:
		a.world.cover.count("buried")
	}
}

// scanned notes that a lane has read the queue of a session.
func (a *audit) scanned(lane string, q table.Query) {
	if session, ok := strings.CutPrefix(q.Partition, "session#"); ok && q.Prefix == turn.QueuePrefix {
		a.looked[lane+session] = len(a.writes)
	}
}

// running counts the sessions that have a running turn.
func (a *audit) running() int {
	n := 0
	for _, s := range a.sessions {
		if s.fence.Turn != "" {
			n++
		}
	}
	return n
}
