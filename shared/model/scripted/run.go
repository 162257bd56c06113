package scripted

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/pause"
)

// run plays one step of a script and collects its answer.
type run struct {
	ctx      context.Context //nolint:containedctx // lives for one call of Stream
	model    *Model
	at       place
	messages []model.Message
	show     func(model.Delta)
	limit    int // of words; 0 for none

	pace   time.Duration
	blocks []model.Block
	calls  int
	words  int
	cut    bool // the limit was reached: nothing more is said
}

// play carries out what the place says.
func (r *run) play() error {
	script := parse(r.at.text)
	if len(script) == 0 {
		return r.say(chat(r.messages, r.at))
	}
	step := segment(script, r.at.step)
	if len(step) == 0 {
		return r.say(results(r.messages))
	}
	for _, in := range step {
		if err := r.obey(in); err != nil {
			return err
		}
	}
	if r.calls == 0 && !r.said() {
		return r.say("Done.")
	}
	return nil
}

func (r *run) said() bool {
	for _, b := range r.blocks {
		if b.Text != "" {
			return true
		}
	}
	return false
}

func (r *run) obey(in instruction) error {
	switch in.verb {
	case say:
		return r.say(in.text)
	case repeat:
		return r.say(strings.TrimSuffix(strings.Repeat(in.text+" ", in.count), " "))
	case think:
		return r.think(in.text)
	case wait:
		return r.rest(in.duration)
	case pace:
		r.pace = in.duration
	case call:
		r.call(in)
	case fail:
		return r.fail(in)
	case then:
	}
	return nil
}

// say adds to the answer. What directly follows other text is a new line of it.
func (r *run) say(text string) error {
	if n := len(r.blocks); n > 0 && r.blocks[n-1].Text != "" {
		said, err := r.speak(model.DeltaText, "\n"+text)
		r.blocks[n-1].Text += said
		return err
	}
	said, err := r.speak(model.DeltaText, text)
	if said != "" {
		r.blocks = append(r.blocks, model.Block{Text: said})
	}
	return err
}

func (r *run) think(text string) error {
	thought, err := r.speak(model.DeltaThinking, text)
	if thought != "" {
		r.blocks = append(r.blocks, model.Block{Thinking: &model.Thinking{Provider: Provider, Text: thought}})
	}
	return err
}

// speak shows text word by word and returns as much of it as the limit lets pass.
func (r *run) speak(kind model.DeltaKind, text string) (string, error) {
	for rest := text; rest != ""; {
		if r.cut = r.cut || r.limit > 0 && r.words >= r.limit; r.cut {
			return text[:len(text)-len(rest)], nil
		}
		word := firstWord(rest)
		rest = rest[len(word):]
		r.words++
		if r.show != nil {
			r.show(model.Delta{Kind: kind, Text: word})
		}
		if err := r.rest(r.pace); err != nil {
			return "", err
		}
	}
	return text, nil
}

// firstWord is the beginning of s up to and with the white space after its first word.
func firstWord(s string) string {
	inWord := false
	for i := range len(s) {
		space := s[i] == ' ' || s[i] == '\n'
		if inWord && !space && i > 0 && (s[i-1] == ' ' || s[i-1] == '\n') {
			return s[:i]
		}
		inWord = inWord || !space
	}
	return s
}

func (r *run) call(in instruction) {
	id := "call_" + strconv.Itoa(len(r.messages)) + "_" + strconv.Itoa(r.calls)
	r.calls++
	r.blocks = append(r.blocks, model.Block{Call: &model.ToolCall{ID: id, Name: in.text, Arguments: arguments(in.input)}})
}

// fail returns the error of an instruction, unless it has been returned often enough.
func (r *run) fail(in instruction) error {
	if in.count > 0 {
		key := fmt.Sprintf("%d/%d/%s", len(r.messages), r.at.step, r.at.text)
		if r.model.attempt(key) > in.count {
			return nil
		}
	}
	return &model.Error{Provider: Provider, Kind: in.kind, Message: in.text}
}

func (r *run) rest(d time.Duration) error {
	if !pause.For(r.ctx, d) {
		return r.ctx.Err()
	}
	return nil
}

func (r *run) response() model.Response {
	resp := model.Response{Blocks: r.blocks, Stop: model.StopEnd, Usage: r.usage()}
	switch {
	case r.cut:
		resp.Stop = model.StopLength
	case r.calls > 0:
		resp.Stop = model.StopTools
	}
	return resp
}

// bytesPerWord is what a word takes on average, with its space; it saves counting those of long conversations.
const bytesPerWord = 6

func (r *run) usage() model.Usage {
	old, fresh := 0, 0
	last := len(r.messages) - 1
	for i, m := range r.messages {
		for _, b := range m.Blocks {
			if i == last {
				fresh += countWords(b)
			} else {
				old += len(b.Text)
			}
		}
	}
	return model.Usage{Input: fresh, Output: max(1, r.words), CacheRead: old / bytesPerWord}
}

func countWords(b model.Block) int {
	text := b.Text
	if b.Result != nil {
		text = b.Result.Text
	}
	n := 0
	for text != "" {
		text = text[len(firstWord(text)):]
		n++
	}
	return n
}
