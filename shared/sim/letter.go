package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/pause"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// letter is a message that somebody sends, with what became of it at the door.
type letter struct {
	name     string // in the text, so that whoever meets it knows it
	kind     letterKind
	message  inbox.Message
	arrives  []time.Duration // how often it is delivered, and when
	stranger bool
	asked    id.Turn // of an answer: what it answers
	yes      bool
	probe    bool // it comes when all is over, to see whether its session is usable
	once     bool // it is not delivered again: who pressed it has gone
	acks     int  // deliveries that were acknowledged
	refused  bool // it was not taken, and the owner told so
	void     bool // there was nothing to do
}

// letterKind says what a letter asks for.
type letterKind uint8

const (
	speak  letterKind = iota // a message
	stop                     // all is to end that was sent before it
	reset                    // the conversation is to be forgotten
	reply                    // a yes or a no to what is to be confirmed
	cancel                   // a message is to be withdrawn
)

// resetText drops a conversation's session.
const resetText = "/reset"

func (l *letter) turn() id.Turn {
	return id.Turn(id.From("turn", l.message.Route.Connection, l.message.Update))
}

// stop is the ID of the stop that a letter raises.
func (l *letter) stop() string { return id.From("stop", l.message.Route.Connection, l.message.Update) }

// notice is the ID of what the owner is told of a letter that makes no turn.
func (l *letter) notice(in id.Thread) id.Message {
	if l.kind == stop {
		return id.Message(id.From("stop", string(in), l.stop()))
	}
	return id.Message(id.From("notice", l.message.Route.Connection, l.message.Update))
}

// webhookTerm is how long a door may take before the messenger gives up and delivers again.
const webhookTerm = 25 * time.Second

func person(i int) string { return fmt.Sprintf("person-%d", i) }

// compose writes the letters of the world.
func (w *world) compose() {
	for i, text := range w.setup.Scripts {
		w.letters = append(w.letters, w.letter(i, time.Duration(i+1)*time.Second, text))
		w.letters[i].arrives = w.letters[i].arrives[:1]
	}
	if len(w.letters) > 0 {
		return
	}
	at := time.Second
	for i := range w.setup.Size.Messages {
		if w.rng.IntN(3) == 0 { // else within a burst
			at += jitter(w.rng, 20*time.Second)
		}
		at += jitter(w.rng, 300*time.Millisecond)
		l := w.letter(i, at, script(w.rng, name(i)))
		switch x := w.rng.Float64(); {
		case x < w.manners.stops:
			l.kind, l.message.Text = stop, "/stop"
			l.once = w.rng.IntN(3) == 0
		case x < w.manners.stops+w.manners.resets && l.message.Route.Connection == telegram:
			l.kind, l.message.Text = reset, resetText
		}
		w.letters = append(w.letters, l)
	}
	if w.rng.IntN(4) == 0 {
		w.letters = append(w.letters, w.strange(len(w.letters), at))
	}
	for _, o := range w.owners {
		w.letters = append(w.letters, w.probe(len(w.letters), o.place))
	}
}

// probe is what an owner writes when everything has long been over.
func (w *world) probe(i, from int) *letter {
	at := w.weather.clears + time.Hour
	l := w.written(i, at, "say "+name(i), from, telegram, fmt.Sprintf("chat-%d", from))
	l.probe, l.arrives = true, l.arrives[:1]
	return l
}

func (w *world) letter(i int, at time.Duration, text string) *letter {
	from := w.owners[w.rng.IntN(len(w.owners))].place
	connection, conversation := telegram, fmt.Sprintf("chat-%d", from)
	if !w.setup.Calm && w.rng.IntN(5) == 0 {
		connection, conversation = web, string(w.owners[from].Thread)
	}
	return w.written(i, at, text, from, connection, conversation)
}

func (w *world) written(i int, at time.Duration, text string, from int, connection, conversation string) *letter {
	l := &letter{name: name(i), message: inbox.Message{
		Update: fmt.Sprintf("update-%d", i), Sender: person(from), ExternalID: "in-" + name(i),
		Sent: w.born.Add(at).Truncate(time.Second), Sequence: int64(i), Text: text,
		Route: channel.Route{Connection: connection, Conversation: conversation, ReplyTo: name(i)},
	}}
	l.arrives = []time.Duration{at + jitter(w.rng, time.Second)}
	for w.rng.IntN(5) == 0 {
		l.arrives = append(l.arrives, at+jitter(w.rng, 30*time.Second))
	}
	return l
}

// strange is the letter of somebody whom nobody knows.
func (w *world) strange(i int, at time.Duration) *letter {
	l := w.letter(i, at, "say "+name(i))
	l.stranger = true
	l.message.Sender = "stranger"
	l.message.Route.Connection, l.message.Route.Conversation = telegram, "chat-stranger"
	return l
}

func name(i int) string { return fmt.Sprintf("#m%d.", i) }

// quiet is the name of what a letter asks for, which is not mistaken for the letter's own.
func quiet(name string) string { return strings.Replace(name, "#m", "#c", 1) }

// nameIn finds the name of a letter in a text; "" if there is none.
func nameIn(text string) string {
	_, rest, ok := strings.Cut(text, "#m")
	if !ok {
		return ""
	}
	number, _, ok := strings.Cut(rest, ".")
	if !ok {
		return ""
	}
	return "#m" + number + "."
}

// script is what the model is told to do about a letter.
func script(rng *rand.Rand, name string) string {
	var b strings.Builder
	for i := range rng.IntN(5) / 2 * rng.IntN(3) {
		if rng.IntN(3) == 0 {
			fmt.Fprintf(&b, "say %s line %d\n", name, i)
		}
		for range 1 + rng.IntN(2) {
			fmt.Fprintf(&b, "call act {\"letter\":%q,\"ms\":%d,\"deaf\":%t}\n", name, lasting(rng, 24*time.Second).Milliseconds(), rng.IntN(6) == 0)
		}
		b.WriteString("then\n")
	}
	switch rng.IntN(12) {
	case 0:
		fmt.Fprintf(&b, "call ask_user {\"question\":\"%s which?\"}\nthen\n", name)
	case 1, 2:
		fmt.Fprintf(&b, "call confirm {\"for\":%q}\nthen\n", quiet(name))
	}
	if rng.IntN(4) == 0 {
		fmt.Fprintf(&b, "wait %v\n", lasting(rng, 40*time.Second))
	}
	switch rng.IntN(30) {
	case 0:
		fmt.Fprintf(&b, "fail temporary 2 times\n")
	case 1:
		fmt.Fprintf(&b, "fail other broken %s\n", name)
	}
	b.WriteString("say " + name)
	for i := range rng.IntN(3) * rng.IntN(20) {
		fmt.Fprintf(&b, " and-%s-so-on-%d", name, i) // every part of a long reply names its letter
	}
	return b.String()
}

// lasting is mostly nothing, sometimes long.
func lasting(rng *rand.Rand, most time.Duration) time.Duration {
	if rng.IntN(2) == 0 {
		return 0
	}
	return jitter(rng, most)
}

// duration reads how long a call of the tool is to last, and whether it goes on when it is told to end.
func duration(arguments json.RawMessage) (lasting time.Duration, deaf bool) {
	var in struct {
		MS   int64 `json:"ms"`
		Deaf bool  `json:"deaf"`
	}
	_ = json.Unmarshal(arguments, &in) // without it, it lasts no time
	return time.Duration(in.MS) * time.Millisecond, in.Deaf
}

// post delivers a letter until a door acknowledges it.
func (w *world) post(l *letter, place int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, uint64(place))) //nolint:gosec // repeatable on purpose
	if !pause.For(w.ctx, l.arrives[place]-w.elapsed()) {
		return
	}
	for try := 1; ; try++ {
		if w.knock(l, fmt.Sprintf("%s/%d.%d", l.name, place, try), rng) {
			l.acks++
			return
		}
		if l.once {
			return
		}
		w.cover.count("delivered again")
		if !pause.For(w.ctx, time.Second+jitter(rng, 5*time.Second)) {
			return
		}
	}
}

// knock delivers a letter to one of the accepting processes, and reports whether it was acknowledged.
func (w *world) knock(l *letter, lane string, rng *rand.Rand) bool {
	w.gate.wait(&call{lane: "post " + lane, kind: deliver, key: l.name})
	if l.probe && w.audit.turns[l.turn()] == nil {
		w.checkQuiet(l)
	}
	p := w.processes[rng.IntN(2)] // the first two seats are the doors
	if p.gone.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(withLane(p.ctx, p.name+"/"+lane), webhookTerm)
	defer cancel()
	receipt, err := l.hand(ctx, p.inbox)
	if err != nil || p.gone.Load() {
		return false
	}
	switch receipt.Outcome {
	case inbox.Duplicate:
		w.cover.count("duplicate accepted")
	case inbox.Stranger:
		w.cover.count("stranger")
	case inbox.Refused:
		w.cover.count("message refused at the door")
		l.refused = true
	case inbox.Obeyed:
		if l.void = true; l.kind == reply {
			w.cover.count("confirmed twice")
		}
	case inbox.Accepted, inbox.Paired:
	}
	if l.stranger != (receipt.Outcome == inbox.Stranger) {
		w.violate("%s was answered with outcome %d", l.name, receipt.Outcome)
	}
	return true
}

// hand gives the letter to the door.
func (l *letter) hand(ctx context.Context, door *inbox.Inbox) (inbox.Receipt, error) {
	now := time.Now()
	switch l.kind {
	case stop:
		return door.Stop(ctx, now, l.message)
	case reply:
		return door.Answer(ctx, now, l.message, l.asked, l.yes)
	case cancel:
		return door.Cancel(ctx, now, l.message, l.asked)
	case speak, reset:
	}
	return door.Accept(ctx, now, l.message)
}

// follow has the owner do something about what has just happened: a letter of another's making.
func (w *world) follow(l *letter, wait time.Duration) {
	l.arrives = []time.Duration{w.elapsed() + wait}
	w.letters = append(w.letters, l)
	w.names = nil
	seed := w.rng.Uint64()
	w.during(func() { w.post(l, 0, seed) })
}

// respond has the owner reply to a message that has come, now and then.
func (w *world) respond(d delivery, external string) {
	if w.calm() || d.letter == "" || w.rng.IntN(12) > 0 {
		return
	}
	from := slices.IndexFunc(w.owners, func(o resident) bool { return "chat-"+strconv.Itoa(o.place) == d.chat })
	if from < 0 {
		return // a stranger's
	}
	i, wait := len(w.letters), lasting(w.rng, 20*time.Second)
	l := w.written(i, w.elapsed()+wait, script(w.rng, name(i)), w.owners[from].place, telegram, d.chat)
	l.message.Reply = external
	w.cover.count("reply")
	w.follow(l, wait)
}

// confirm has the owner answer what a turn asks, sooner or later, or never.
func (w *world) confirm(asked *turn.Turn) {
	if w.rng.IntN(5) == 0 {
		return
	}
	wait := lasting(w.rng, time.Minute)
	for range 1 + w.rng.IntN(4)/3 { // sometimes on two devices
		i := len(w.letters)
		l := w.written(i, w.elapsed()+wait, "say "+name(i), w.placeOf(asked.Thread), asked.Route.Connection, asked.Route.Conversation)
		l.kind, l.asked, l.yes = reply, asked.ID, w.rng.IntN(3) > 0
		w.follow(l, wait)
	}
}

func (w *world) placeOf(in id.Thread) int {
	for _, o := range w.owners {
		if o.Thread == in {
			return o.place
		}
	}
	panic("no owner of " + in)
}

// start has the letters posted and the reaper come every minute.
func (w *world) start() {
	for _, l := range w.letters {
		for place := range l.arrives {
			seed := w.rng.Uint64()
			w.during(func() { w.post(l, place, seed) })
		}
	}
	first := jitter(w.rng, time.Minute)
	go w.reap(first)
}

// reap has the reaper's process, if there is one, watch for a minute, every minute. Minutes in which it would find
// nothing are left out.
func (w *world) reap(first time.Duration) {
	const minute = time.Minute
	for wait := first; pause.For(w.ctx, wait); wait = minute {
		w.gate.wait(&call{lane: "minute", kind: deliver, key: "sweep"})
		p := w.processes[2]
		if p.gone.Load() || w.ctx.Err() != nil || !w.audit.dueBefore(time.Now().Add(minute)) {
			continue
		}
		p.lanes++
		ctx, cancel := context.WithTimeout(withLane(p.ctx, fmt.Sprintf("%s/%d", p.name, p.lanes)), minute)
		w.during(func() {
			defer cancel()
			p.reaper.Watch(ctx, p.swept)
		})
	}
}
