package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/pause"
)

// letter is a message that somebody sends, with what became of it at the door.
type letter struct {
	name     string // in the text, so that whoever meets it knows it
	message  inbox.Message
	arrives  []time.Duration // how often it is delivered, and when
	stranger bool
	acks     int // deliveries that were acknowledged
}

func (l *letter) turn() id.Turn {
	return id.Turn(id.From("turn", l.message.Route.Connection, l.message.Update))
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
		w.letters = append(w.letters, w.letter(i, at, script(w.rng, name(i))))
	}
	if w.rng.IntN(4) == 0 {
		w.letters = append(w.letters, w.strange(len(w.letters), at))
	}
}

func (w *world) letter(i int, at time.Duration, text string) *letter {
	from := w.owners[w.rng.IntN(len(w.owners))].place
	connection, conversation := telegram, fmt.Sprintf("chat-%d", from)
	if !w.setup.Calm && w.rng.IntN(5) == 0 {
		connection, conversation = web, string(w.owners[from].Thread)
	}
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
	for range rng.IntN(5) / 2 * rng.IntN(3) {
		for range 1 + rng.IntN(2) {
			fmt.Fprintf(&b, "call act {\"letter\":%q,\"ms\":%d}\n", name, lasting(rng, 24*time.Second).Milliseconds())
		}
		b.WriteString("then\n")
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

// duration reads how long a call of the tool is to last.
func duration(arguments json.RawMessage) time.Duration {
	var in struct {
		MS int64 `json:"ms"`
	}
	_ = json.Unmarshal(arguments, &in) // without it, it lasts no time
	return time.Duration(in.MS) * time.Millisecond
}

// post delivers a letter until a door acknowledges it.
func (w *world) post(l *letter, place int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, uint64(place))) //nolint:gosec // repeatable on purpose
	if !pause.For(w.ctx, l.arrives[place]) {
		return
	}
	for try := 1; ; try++ {
		if w.knock(l, fmt.Sprintf("%s/%d.%d", l.name, place, try), rng) {
			l.acks++
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
	p := w.processes[rng.IntN(2)] // the first two seats are the doors
	if p.gone.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(withLane(p.ctx, p.name+"/"+lane), webhookTerm)
	defer cancel()
	receipt, err := p.inbox.Accept(ctx, time.Now(), l.message)
	if err != nil || p.gone.Load() {
		return false
	}
	switch receipt.Outcome {
	case inbox.Duplicate:
		w.cover.count("duplicate accepted")
	case inbox.Stranger:
		w.cover.count("stranger")
	case inbox.Accepted, inbox.Paired:
	}
	if l.stranger != (receipt.Outcome == inbox.Stranger) {
		w.violate("%s was answered with outcome %d", l.name, receipt.Outcome)
	}
	return true
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
