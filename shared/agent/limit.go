package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// What a turn may do when the settings say nothing else.
const (
	DefaultSteps     = 75
	DefaultIdentical = 5
)

// Limits end a turn that would go on for ever. The zero Limits are the defaults, field by field.
type Limits struct {
	Steps     int // model requests of one turn, over all its invocations
	Identical int // steps in a row that ask for the same
}

// Exceeded says which limit a turn has reached, and how far it came.
type Exceeded struct {
	Steps   int // that it has made
	Repeats int // of them, the last ones that asked for the same; 0 if that is not what ends it
}

// exceeded decides whether a turn that has made so many steps, the last repeats of them for the same, has to end. It
// returns nil if not. A model that repeats itself is told apart even at the last step.
func (l Limits) exceeded(steps, repeats int) *Exceeded {
	switch {
	case repeats >= cmp.Or(l.Identical, DefaultIdentical):
		return &Exceeded{Steps: steps, Repeats: repeats}
	case steps >= cmp.Or(l.Steps, DefaultSteps):
		return &Exceeded{Steps: steps}
	}
	return nil
}

// ending is how the turn ends that exceeded a limit with these entries.
func (e *Exceeded) ending(entries []transcript.Entry, t id.Turn) turn.Ending {
	out := turn.Ending{
		Status: turn.Failed, From: thread.Notice, Error: fmt.Sprintf("stopped after %d steps", e.Steps),
		Text: fmt.Sprintf("I stopped after %d steps without coming to an end. Say “continue” and I will go on.", e.Steps),
	}
	if e.Repeats > 0 {
		names := toolNames(lastCalls(entries, t))
		out.Error = fmt.Sprintf("asked for the same (%s) %d times in a row; %s", names, e.Repeats, out.Error)
		out.Text = fmt.Sprintf("I stopped because I had asked for the same thing (%s) %d times in a row without getting "+
			"further, after %d steps in all. Say “continue” and I will go on.", names, e.Repeats, e.Steps)
	}
	return out
}

// repeated counts how many of a turn's last steps, in a row, asked for exactly the same: the same tools in the same
// order with equal arguments. It is 1 after a step that asked for something new, 0 when the last answer asked for
// nothing. It looks no further back than it has to.
func repeated(entries []transcript.Entry, t id.Turn) int {
	last := ""
	count := 0
	for _, e := range slices.Backward(entries) {
		if e.Kind != transcript.Assistant {
			continue
		}
		what := ""
		if e.Turn == t {
			what = canonical(callsOf(e.Blocks))
		}
		if what == "" || count > 0 && what != last {
			break
		}
		last = what
		count++
	}
	return count
}

// lastCalls lists what the last answer of a turn asks for.
func lastCalls(entries []transcript.Entry, t id.Turn) []model.ToolCall {
	for _, e := range slices.Backward(entries) {
		if e.Kind == transcript.Assistant && e.Turn == t {
			return callsOf(e.Blocks)
		}
	}
	return nil
}

// canonical is a text that equal lists of calls have in common; "" for none. Each call is a line: %q and JSON have no
// line breaks.
func canonical(calls []model.ToolCall) string {
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "%q %s\n", c.Name, normal(c.Arguments))
	}
	return b.String()
}

// normal writes arguments with sorted keys and no spaces. Numbers stay as they are written: two long ones may differ
// where a float64 does not.
func normal(arguments json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return fmt.Appendf(nil, "%q", arguments)
	}
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Appendf(nil, "%q", arguments)
	}
	return out
}

// toolNames lists the tools that are called, each once.
func toolNames(calls []model.ToolCall) string {
	var out []string
	for _, c := range calls {
		if !slices.Contains(out, c.Name) {
			out = append(out, c.Name)
		}
	}
	return strings.Join(out, ", ")
}

func callsOf(blocks []model.Block) []model.ToolCall {
	return requested(model.Response{Blocks: blocks})
}
