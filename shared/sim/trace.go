package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wake"
)

// step is one thing that happened.
type step struct {
	at   time.Duration
	lane string
	kind kind
	key  string
	verdict
	text string // instead of a call
}

func (w *world) trace(c *call, v verdict) {
	if w.setup.Traced {
		w.steps = append(w.steps, step{at: w.elapsed(), lane: c.lane, kind: c.kind, key: c.key, verdict: v})
	}
}

func (w *world) note(format string, args ...any) {
	if w.setup.Traced {
		w.steps = append(w.steps, step{at: w.elapsed(), text: fmt.Sprintf(format, args...)})
	}
}

// lines are the steps as a person reads them.
func (w *world) lines() []string {
	names := w.naming()
	lines := make([]string, len(w.steps))
	for i, s := range w.steps {
		lines[i] = fmt.Sprintf("%6d %12.6fs  ", i+1, s.at.Seconds()) + names.Replace(s.String())
	}
	return lines
}

func (s step) String() string {
	if s.text != "" {
		return "-- " + s.text
	}
	line := fmt.Sprintf("%-22s %-9s %s", s.lane, s.kind, s.key)
	if s.fate == pass {
		return line
	}
	if s.pause > 0 {
		return fmt.Sprintf("%s  => %s (%v)", line, s.fate, s.pause)
	}
	return line + "  => " + s.fate.String()
}

// naming gives IDs the names of what they are.
func (w *world) naming() *strings.Replacer {
	if w.names != nil {
		return w.names
	}
	var pairs []string
	for _, o := range w.owners {
		pairs = append(pairs, string(o.Thread), fmt.Sprintf("thread-%d", o.place), string(o.ID), fmt.Sprintf("owner-%d", o.place))
	}
	for _, l := range w.letters {
		r := l.message.Route
		pairs = append(pairs, string(l.turn()), "turn"+l.name, string(turn.ReplyID(l.turn())), "reply"+l.name,
			id.From("message", r.Connection, l.message.Update), "said"+l.name,
			wake.Conversation(r.Key()).Message("").Group, "conversation-"+r.Key())
	}
	for key := range w.seen.actions {
		pairs = append(pairs, key, "action")
	}
	w.names = strings.NewReplacer(pairs...)
	return w.names
}

// result is what is told of the world.
func (w *world) result() Result {
	if len(w.wrong) == 0 {
		w.check()
	}
	for i, v := range w.wrong {
		w.wrong[i] = w.naming().Replace(v)
	}
	r := Result{
		Seed: w.setup.Seed, Violations: slices.Compact(w.wrong), Calls: w.calls, Spent: w.elapsed(), Coverage: w.cover,
		Killed: w.death(),
	}
	for _, t := range w.audit.turns {
		if t.Status.Ended() {
			r.Turns++
		}
	}
	if w.setup.Traced {
		r.Trace = w.lines()
	}
	return r
}

// death tells what the owner learnt of a process that died as it was asked to.
func (w *world) death() *Death {
	d := w.killed
	if d == nil {
		return nil
	}
	d.Call = w.naming().Replace(d.Call)
	for _, got := range w.seen.deliveries {
		if got.doubt {
			continue
		}
		if d.Messages++; d.Messages == 1 {
			d.ToldAt, d.Told = got.at, "notice"
			if nameIn(got.text) != "" {
				d.Told = "reply"
			}
		}
	}
	return d
}
