package sim

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// check looks at the world at rest.
func (w *world) check() {
	w.leftovers()
	rows := w.conversations()
	for _, l := range w.letters {
		w.checkLetter(l, rows[l.turn()])
	}
	w.checkOrder(rows)
	w.checkMissed(rows)
	for _, session := range slices.Sorted(maps.Keys(w.audit.sessions)) {
		w.checkRows(session, rows)
		w.checkTranscript(id.Session(session))
	}
}

// leftovers finds records that should have gone.
func (w *world) leftovers() {
	for key := range w.audit.left {
		w.violate("%s is still there", key)
	}
	for session, s := range w.audit.sessions {
		if s.fence.Turn != "" {
			w.violate("%s still runs in session %s", s.fence.Turn, session)
		}
		depth := w.record(table.Key{Partition: turn.SessionPartition(id.Session(session)), Sort: "depth"})
		if depth != nil && depth.Counter != 0 {
			w.violate("session %s counts %d queued turns", session, depth.Counter)
		}
	}
	w.openWaits()
}

// checkQuiet checks that the session which a probe is for, and its conversation, have long nothing to do: the probe would
// wake them.
func (w *world) checkQuiet(l *letter) {
	for key := range w.audit.left {
		if key.Partition == outbox.Partition(l.message.Route.Key()) {
			w.violate("%s is still there, before %s", key, l.name)
		}
	}
	for name, s := range w.audit.sessions {
		if s.fence.Turn != "" && person(w.placeOf(w.audit.turns[s.fence.Turn].Thread)) == l.message.Sender {
			w.violate("session %s still runs %s, before %s", name, s.fence.Turn, l.name)
		}
		for key, q := range s.queued {
			probe := slices.ContainsFunc(w.letters, func(o *letter) bool { return o.probe && o.turn() == q.ID })
			if person(w.placeOf(q.Thread)) == l.message.Sender && !probe {
				w.violate("%s is still queued in session %s, before %s", key, name, l.name)
			}
		}
	}
}

// openWaits checks that what is still waited for is of turns that wait, and that no stop hits.
func (w *world) openWaits() {
	for _, o := range w.owners {
		open, err := wait.Open(context.Background(), &w.table, o.Thread, "")
		if err != nil {
			w.violate("reading what %s is asked: %v", o.Name, err)
		}
		for _, asked := range open {
			t := w.audit.turns[asked.Turn]
			if t == nil || t.Status != turn.Waiting || w.audit.hitAll(t) != nil {
				w.violate("there is a wait of %s: %+v", asked.Turn, t)
			}
		}
	}
}

// row is a message of a conversation with its place.
type row struct {
	thread.Message
	sort string
}

// has reports whether a delivery is a part of the message.
func (r row) has(d delivery) bool {
	return slices.ContainsFunc(render(r.Text), func(p channel.Part) bool { return p.Plain == d.text })
}

// conversations are the messages of all threads, by their turn.
func (w *world) conversations() map[id.Turn][]row {
	rows := map[id.Turn][]row{}
	for _, o := range w.owners {
		log, err := thread.After(context.Background(), &w.table, o.Thread, "", 0)
		if err != nil {
			w.violate("reading the conversation of %s: %v", o.Name, err)
		}
		for _, m := range log.Messages {
			rows[m.Turn] = append(rows[m.Turn], row{m, m.Key(o.Thread).Sort})
		}
	}
	return rows
}

// checkLetter checks that a letter made one turn, that this has ended, and that the owner was told once.
func (w *world) checkLetter(l *letter, rows []row) {
	if l.stranger {
		w.checkStranger(l)
		return
	}
	if l.acks != len(l.arrives) && !l.once {
		w.violate("%s was acknowledged %d times for %d deliveries", l.name, l.acks, len(l.arrives))
	}
	t := w.audit.turns[l.turn()]
	if t == nil && w.turnless(l) {
		w.checkCommand(l)
		return
	}
	if t == nil || !t.Status.Ended() {
		w.violate("%s has no turn that ended: %+v", l.name, t)
		return
	}
	w.checkFate(l, t)
	var said, told, lines []row
	for _, r := range rows {
		switch {
		case r.From == thread.Owner:
			said = append(said, r)
		case r.ID == turn.ReplyID(t.ID):
			told = append(told, r)
		default:
			lines = append(lines, r)
		}
	}
	want := 1
	if t.Status == turn.Cancelled && !t.waited {
		want = 0
	}
	if t.ClosedBy != "" {
		w.checkClosed(l, t)
	}
	if len(said) != 1 || len(told) != want {
		w.violate("the conversation of %s (%s) has %d messages of the owner and %d replies", l.name, t.Status, len(said), len(told))
		return
	}
	if len(lines) > len(t.took) {
		w.violate("%s wrote %d times in its course, and took %d messages", t.ID, len(lines), len(t.took))
	}
	if want == 0 { // what was sent for all that a turn took is checked with the letter that began it
		w.checkDelivery(l, lines)
		return
	}
	w.checkReply(l, t, said[0], told[0], lines)
}

// turnless reports whether a letter may make no turn: it is a command, it was not taken, or there was nothing to do.
func (w *world) turnless(l *letter) bool {
	command := l.kind != speak && l.kind != reply
	return command || l.refused || l.void || w.rulesOf(l.message.Route.Connection).Busy == inbox.Refuse
}

// checkFate checks that a turn which was to be stopped was, unless it had ended before; and that where nothing goes
// wrong none fails but by what it was told to do.
func (w *world) checkFate(l *letter, t *turnState) {
	if l.probe && t.Status != turn.Succeeded {
		w.violate("%s, sent when all was over, is %s: %s", l.name, t.Status, t.Error)
	}
	hit := w.audit.hit(t.Turn, t.put)
	if hit != nil && len(t.took) == 0 && t.ClosedBy == "" && t.Status != turn.Cancelled && (t.begun > hit.put || t.begun == 0) {
		w.violate("%s is %s, and had been stopped at %v", l.name, t.Status, hit.at)
	}
	if t.Status == turn.Failed && w.fair() && w.manners.term == 0 && !strings.Contains(l.message.Text, "fail") && len(t.took) == 0 {
		w.violate("%s failed, and nothing had gone wrong: %s", l.name, t.Error)
	}
}

// checkCommand checks that a letter which makes no turn was answered once, as far as the channel took that.
func (w *world) checkCommand(l *letter) {
	in := w.owners[slices.IndexFunc(w.owners, func(o resident) bool { return person(o.place) == l.message.Sender })].Thread
	log, err := thread.After(context.Background(), &w.table, in, "", 0)
	if err != nil {
		w.violate("reading the conversation of %s: %v", l.name, err)
	}
	var told []row
	for _, m := range log.Messages {
		if m.ID == l.notice(in) {
			told = append(told, row{m, m.Key(in).Sort})
		}
	}
	want := 1
	if l.once && !slices.ContainsFunc(w.audit.stops, func(s *raised) bool { return s.id == l.stop() }) {
		want = 0 // it has never come in
	}
	if l.kind == cancel || l.kind == reply || l.refused && l.message.Route.Stored() {
		want = 0
	}
	if len(told) != want {
		w.violate("%s (kind %d) was answered %d times", l.name, l.kind, len(told))
		return
	}
	w.checkDelivery(l, told)
}

// checkClosed checks that the turn which took a letter has ended, and has told the owner about all that it took. What it
// told is checked with the letter that began it.
func (w *world) checkClosed(l *letter, t *turnState) {
	by := w.audit.turns[t.ClosedBy]
	stopped := by != nil && by.Status == turn.Cancelled && !by.waited && w.audit.hit(t.Turn, t.put) == nil
	if by == nil || !by.Status.Ended() || stopped || by.Session != t.Session {
		w.violate("%s was taken by %s, which is %+v", l.name, t.ClosedBy, by)
		return
	}
	for _, d := range w.seen.deliveries {
		if d.replyTo == l.name {
			w.violate("sent %v, though %s was taken", d, l.name)
		}
	}
}

// newest is the letter that a turn's reply is about: its own, or the last that it took, since the scripted model obeys what
// it was told last.
func (w *world) newest(l *letter, t *turnState) *letter {
	if len(t.took) == 0 {
		return l
	}
	i := slices.IndexFunc(w.letters, func(l *letter) bool { return l.turn() == t.took[len(t.took)-1] })
	return w.letters[i]
}

func (w *world) checkReply(l *letter, t *turnState, said, told row, lines []row) {
	if told.sort <= said.sort {
		w.violate("the reply to %s stands before it", l.name)
	}
	meant := told.From == thread.Agent && nameIn(told.Text) == w.newest(l, t).name
	if t.waited {
		meant = told.From == thread.Agent && strings.Contains(told.Text, quiet(w.newest(l, t).name)) || meant
	}
	if l.kind == reply && l.yes && len(t.took) == 0 {
		meant = told.From == thread.Agent && strings.HasPrefix(told.Text, "confirmed")
	}
	if meant != (t.Status == turn.Succeeded || t.Status == turn.Waiting || t.waited) {
		w.violate("%s ended %s, and the owner was told %q by %s", l.name, t.Status, told.Text, told.From)
	}
	if l.message.Route.Stored() {
		if told.State != thread.Stored {
			w.violate("the reply to %s on the page is %q", l.name, told.State)
		}
		w.checkDelivery(l, nil)
		return
	}
	w.checkDelivery(l, append(lines, told))
}

// checkStranger checks that a stranger got the one fixed reply, as far as the channel took it.
func (w *world) checkStranger(l *letter) {
	got, doubts := 0, 0
	for _, d := range w.seen.deliveries {
		switch {
		case d.letter != l.name:
		case d.doubt:
			doubts++
		default:
			got++
		}
	}
	if got > 1+doubts {
		w.violate("the stranger of %s got %d replies", l.name, got)
	}
}

// checkDelivery checks that the owner got each part of the messages once, or was told that it may be a repeat, and
// nothing else.
func (w *world) checkDelivery(l *letter, rows []row) {
	got, doubts := make([][]int, len(rows)), 0
	for i, r := range rows {
		got[i] = make([]int, len(render(r.Text)))
	}
	for _, d := range w.seen.deliveries {
		switch {
		case w.answers(d) != l.turn():
		case d.doubt:
			doubts++
		case count(rows, got, d), d.text == outbox.MissedNotice && slices.ContainsFunc(rows, isLost):
		default:
			w.violate("sent %v, which is no part of what %s is told", d, l.name)
			return
		}
	}
	sure := !slices.ContainsFunc(rows, func(r row) bool { return r.State != thread.Sent && r.State != thread.Stored })
	if sure && doubts > 0 {
		w.violate("what %s is told was sent without doubt, and with %d lines of doubt", l.name, doubts)
	}
	for i, r := range rows {
		w.checkParts(l, r, got[i], doubts)
	}
}

func isLost(r row) bool { return r.State == thread.Lost }

// count adds a delivery to the parts that were got; false if it is none of them.
func count(rows []row, got [][]int, d delivery) bool {
	for i, r := range rows {
		if j := slices.IndexFunc(render(r.Text), func(p channel.Part) bool { return p.Plain == d.text }); j >= 0 {
			got[i][j]++
			return true
		}
	}
	return false
}

// checkMissed checks that an owner is told, once, of each reply that may not have arrived, and of no other.
func (w *world) checkMissed(rows map[id.Turn][]row) {
	told := map[id.Message]int{}
	for _, r := range rows[""] {
		told[r.ID]++
		known := r.From == thread.Owner || r.Text == outbox.MissedNotice || slices.ContainsFunc(w.letters, func(l *letter) bool {
			return slices.ContainsFunc(w.owners, func(o resident) bool { return r.ID == l.notice(o.Thread) })
		})
		if r.State == thread.Pending || !known {
			w.violate("of no turn is %+v", r.Message)
		}
	}
	for t, replies := range rows {
		for _, r := range replies {
			if n := told[outbox.MissedID(r.ID)]; (n == 1) != (r.State == thread.Lost) && r.Text != outbox.MissedNotice {
				w.violate("the reply of %s is %q, of which the owner was told %d times", t, r.State, n)
			}
		}
	}
}

func (w *world) checkParts(l *letter, told row, got []int, doubts int) {
	once, most, extra := true, 0, 0
	for _, n := range got {
		once = once && n == 1
		most = max(most, n)
		extra += max(n-1, 0)
	}
	wrong := false
	switch told.State {
	case thread.Sent:
		wrong = !once
	case thread.Repeated:
		wrong = slices.Min(got) == 0 || most > 2 || extra > doubts || doubts == 0
	case thread.Refused, thread.Lost:
		wrong = most > 2 || extra > doubts
	case thread.Stored:
		wrong = most > 0
	case thread.Pending:
		wrong = true
	}
	if wrong {
		w.violate("the reply to %s is %q; its parts were got %v times, with %d lines of doubt", l.name, told.State, got, doubts)
	}
}

// checkOrder checks that nothing was sent for a turn that had not ended, and that what was sent without doubt came in the
// order of the conversation.
func (w *world) checkOrder(rows map[id.Turn][]row) {
	last := map[string]int{}
	for _, d := range w.seen.deliveries {
		t := w.audit.turns[w.answers(d)]
		if d.doubt || t == nil { // of nobody's letter there is no turn
			continue
		}
		if !slices.ContainsFunc(rows[t.ID], func(r row) bool { return r.State == thread.Sent && r.has(d) }) {
			continue
		}
		at := slices.Index(w.audit.of(string(t.Session)).claims, t.ID)
		if at < last[d.conversation] {
			w.violate("sent %v after the reply to a later message", d)
		}
		last[d.conversation] = at
	}
}

// answers is the turn of which a delivery told: that of the letter it names, or the one which took it; "" if there is none.
func (w *world) answers(d delivery) id.Turn {
	for _, l := range w.letters {
		if l.name != d.letter {
			continue
		}
		if t := w.audit.turns[l.turn()]; t != nil && t.ClosedBy != "" {
			return t.ClosedBy
		}
		return l.turn()
	}
	return ""
}

// checkRows checks that the replies of a session stand in the order in which its turns ran.
func (w *world) checkRows(session string, rows map[id.Turn][]row) {
	last := ""
	for _, t := range w.audit.of(session).claims {
		for _, r := range rows[t] {
			if r.From == thread.Owner {
				continue
			}
			if r.sort <= last {
				w.violate("the reply of %s stands before that of an earlier turn", t)
			}
			last = r.sort
		}
	}
}

// checkTranscript checks that what a session remembers can be read, has each message once, and is taken by a model.
func (w *world) checkTranscript(session id.Session) {
	var head turn.Head
	item, err := w.table.Get(context.Background(), turn.SessionKey(session))
	if err == nil {
		_, err = table.Decode(item, &head)
	}
	if err != nil || item == nil {
		return // no turn of it has ever begun: leftovers and letters say whether that is right
	}
	log, err := transcript.Load(context.Background(), &w.blobs, session, head.Manifest)
	if err != nil {
		w.violate("loading the transcript of %s: %v", session, err)
		return
	}
	w.checkEntries(session, log.Entries())
}

// checkHeard checks that a message which was taken is where the turn that took it was, saved by the same write; that any
// other is where its own turn was, if that succeeded; that one which was never to run is nowhere; and that none is twice.
func (w *world) checkHeard(name string, in []id.Turn, t *turnState) {
	want := t.ID
	if t.ClosedBy != "" {
		want = t.ClosedBy
	}
	forgotten := slices.ContainsFunc(w.audit.of(string(t.Session)).drops, func(n int) bool { return n > t.begun })
	must := (t.Status == turn.Succeeded || t.Status == turn.Waiting || t.ClosedBy != "") && !forgotten
	never := t.Status == turn.Cancelled && t.ClosedBy == "" && t.begun == 0
	if len(in) > 1 || len(in) == 0 && must || len(in) > 0 && (never || in[0] != want) {
		w.violate("the transcript has %s in %v, whose turn %s %s, taken by %q", name, in, t.ID, t.Status, t.ClosedBy)
	}
}

func (w *world) checkEntries(session id.Session, entries []transcript.Entry) {
	heard := map[string][]id.Turn{} // the turns that have it
	for _, e := range entries {
		if e.Kind != transcript.Owner && e.Kind != transcript.Note {
			continue
		}
		for _, b := range e.Blocks {
			if name := nameIn(b.Text); name != "" && !strings.HasPrefix(b.Text, "[Your previous") {
				heard[name] = append(heard[name], e.Turn)
			}
		}
	}
	for _, l := range w.letters {
		t := w.audit.turns[l.turn()]
		if t == nil || t.Session != session {
			continue
		}
		w.checkHeard(l.name, heard[l.name], t)
	}
	if missing := transcript.Orphans(entries, true); len(missing) > 0 {
		entries = append(entries, transcript.Entry{Kind: transcript.Results, Blocks: missing})
	}
	entries = append(entries, transcript.Entry{Kind: transcript.Owner, Blocks: []model.Block{{Text: "next"}}})
	if err := wellFormed(transcript.Messages(entries)); err != nil {
		w.violate("the transcript of %s would be refused: %v", session, err)
	}
}
