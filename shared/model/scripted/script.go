package scripted

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// place is where in a conversation the text to obey stands.
type place struct {
	text    string
	message int // index of its message; -1 if there is none
	step    int // how many answers were given to it already
}

// locate finds the last text of the last user message that has one, and counts the answers since.
func locate(messages []model.Message) place {
	step := 0
	for i, m := range slices.Backward(messages) {
		if m.Role == model.Assistant {
			step++
			continue
		}
		for _, b := range slices.Backward(m.Blocks) {
			if b.Text != "" {
				return place{text: b.Text, message: i, step: step}
			}
		}
	}
	return place{message: -1}
}

// verb is what an instruction does.
type verb uint8

const (
	say verb = iota + 1
	repeat
	think
	wait
	pace
	call
	then
	fail
)

var verbs = map[string]verb{
	"say": say, "repeat": repeat, "think": think, "wait": wait, "pace": pace, "call": call, "then": then, "fail": fail,
}

// instruction is one line of a script.
type instruction struct {
	verb     verb
	text     string          // of say, repeat, think; the tool of call; the message of fail
	count    int             // of repeat; of fail: how many times, 0 for always
	duration time.Duration   // of wait and pace
	input    string          // of call
	kind     model.ErrorKind // of fail
}

// parse reads the instructions of a text, of which there are none in an ordinary message.
func parse(text string) []instruction {
	var script []instruction
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		in, ok := parseLine(strings.TrimSpace(line))
		switch {
		case ok:
			script = append(script, in)
		case len(script) > 0 && script[len(script)-1].verb == say:
			script[len(script)-1].text += "\n" + line
		}
	}
	return script
}

// parseLine reads one line; false if it is no instruction, such as "wait for me".
func parseLine(line string) (instruction, bool) {
	word, rest, _ := strings.Cut(line, " ")
	v, ok := lookup(word)
	rest = strings.TrimSpace(rest)
	if !ok || rest == "" && v != then {
		return instruction{}, false
	}
	in := instruction{verb: v, text: rest}
	switch v {
	case repeat:
		return parseRepeat(in, rest)
	case wait, pace:
		return parseDuration(in, rest)
	case call:
		return parseCall(in, rest)
	case fail:
		return parseFail(in, rest)
	case then:
		return in, rest == ""
	case say, think:
	}
	return in, true
}

// lookup finds a verb in any case, without allocating for the words of ordinary messages.
func lookup(word string) (verb, bool) {
	if len(word) > len("repeat") {
		return 0, false
	}
	v, ok := verbs[strings.ToLower(word)]
	return v, ok
}

// maxRepeats bounds repeat, so that one line cannot fill the memory.
const maxRepeats = 100_000

func parseRepeat(in instruction, rest string) (instruction, bool) {
	count, text, found := strings.Cut(rest, " ")
	n, err := strconv.Atoi(count)
	in.count, in.text = n, strings.TrimSpace(text)
	return in, found && err == nil && n > 0 && n <= maxRepeats
}

func parseDuration(in instruction, rest string) (instruction, bool) {
	d, err := time.ParseDuration(rest)
	in.duration = d
	return in, err == nil && d >= 0
}

// parseCall wants a brace after the tool, so that "call me Ada" stays a sentence.
func parseCall(in instruction, rest string) (instruction, bool) {
	tool, input, _ := strings.Cut(rest, " ")
	in.text, in.input = tool, strings.TrimSpace(input)
	return in, strings.HasPrefix(in.input, "{")
}

func parseFail(in instruction, rest string) (instruction, bool) {
	kind, rest, _ := strings.Cut(rest, " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(kind) {
	case "temporary":
		in.kind, in.text = model.ErrorTemporary, "overloaded, as the script says"
		return in, parseTimes(&in.count, rest)
	case "overflow":
		in.kind, in.text = model.ErrorOverflow, "prompt is too long, as the script says"
	case "auth":
		in.kind, in.text = model.ErrorAuth, "invalid key, as the script says"
	case "other":
		in.kind, in.text = model.ErrorOther, rest
		return in, rest != ""
	default:
		return in, false
	}
	return in, rest == ""
}

// parseTimes reads "2 times", "2" or nothing.
func parseTimes(count *int, rest string) bool {
	if rest == "" {
		return true
	}
	number, word, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	*count = n
	return err == nil && n > 0 && (word == "" || word == "times" || word == "time")
}

// segment returns the instructions of one step. A step ends at a then that follows a call; other thens change nothing.
func segment(script []instruction, step int) []instruction {
	begin, called := 0, false
	for i, in := range script {
		called = called || in.verb == call
		if in.verb != then || !called {
			continue
		}
		if step == 0 {
			return script[begin:i]
		}
		step, begin, called = step-1, i+1, false
	}
	if step == 0 {
		return script[begin:]
	}
	return nil
}

// arguments makes a call's input a valid object, as every provider's package does with what its model sent.
func arguments(input string) json.RawMessage {
	if json.Valid([]byte(input)) {
		return json.RawMessage(input)
	}
	wrapped, _ := json.Marshal(map[string]string{"_invalid": input}) // strings always marshal
	return wrapped
}
