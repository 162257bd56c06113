package anthropic

import (
	"errors"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/wire"
)

// answer collects the events of one stream. The API numbers its content blocks from 0 and sends one after the other;
// what breaks that order is refused as a broken answer rather than guessed at.
type answer struct {
	client  *wire.Client
	size    *wire.Size
	show    func(model.Delta)
	blocks  []*block
	stop    sdk.StopReason
	usage   model.Usage
	stopped bool // message_stop has come: the answer is whole
}

// block is a content block as it grows.
type block struct {
	kind      string
	text      strings.Builder // of text, thinking, or a call's arguments
	signature strings.Builder
	data      string // of redacted thinking
	id, name  string // of a call
	input     string // of a call: the arguments that came with its start
	done      bool
}

func (a *answer) add(e sdk.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		a.count(e.Message.Usage.InputTokens, e.Message.Usage.OutputTokens,
			e.Message.Usage.CacheReadInputTokens, e.Message.Usage.CacheCreationInputTokens)
	case "content_block_start":
		return a.start(e)
	case "content_block_delta":
		return a.grow(e)
	case "content_block_stop":
		return a.end(e.Index)
	case "message_delta":
		a.stop = e.Delta.StopReason
		a.count(e.Usage.InputTokens, e.Usage.OutputTokens,
			e.Usage.CacheReadInputTokens, e.Usage.CacheCreationInputTokens)
	case "message_stop":
		a.stopped = true
	}
	return nil // event types are added over time: unknown ones are passed over, as the API asks
}

// count takes over the counts that an event brings; they are running totals, and later events may leave some out.
func (a *answer) count(input, output, read, write int64) {
	take := func(to *int, n int64) {
		if n > 0 {
			*to = int(n)
		}
	}
	take(&a.usage.Input, input)
	take(&a.usage.Output, output)
	take(&a.usage.CacheRead, read)
	take(&a.usage.CacheWrite, write)
}

func (a *answer) start(e sdk.MessageStreamEventUnion) error {
	if e.Index != int64(len(a.blocks)) {
		return a.disorder("block %d began after %d blocks", e.Index, len(a.blocks))
	}
	c := e.ContentBlock
	if err := a.size.Add(wire.BlockSize + len(c.RawJSON())); err != nil {
		return err
	}
	b := &block{kind: c.Type, id: c.ID, name: c.Name, data: c.Data}
	a.blocks = append(a.blocks, b)
	switch c.Type {
	case "text":
		a.append(b, model.DeltaText, c.Text)
	case "thinking":
		a.append(b, model.DeltaThinking, c.Thinking)
		b.signature.WriteString(c.Signature)
	case "tool_use":
		b.input = c.JSON.Input.Raw()
	}
	return nil
}

func (a *answer) grow(e sdk.MessageStreamEventUnion) error {
	b, err := a.open(e.Index)
	if err != nil {
		return err
	}
	d := e.Delta
	if err := a.size.Add(len(d.Text) + len(d.Thinking) + len(d.Signature) + len(d.PartialJSON)); err != nil {
		return err
	}
	switch d.Type {
	case "text_delta":
		a.append(b, model.DeltaText, d.Text)
	case "thinking_delta":
		a.append(b, model.DeltaThinking, d.Thinking)
	case "signature_delta":
		b.signature.WriteString(d.Signature)
	case "input_json_delta":
		b.text.WriteString(d.PartialJSON)
	}
	return nil
}

func (a *answer) append(b *block, kind model.DeltaKind, text string) {
	b.text.WriteString(text)
	if a.show != nil && text != "" {
		a.show(model.Delta{Kind: kind, Text: text})
	}
}

func (a *answer) end(index int64) error {
	b, err := a.open(index)
	if err != nil {
		return err
	}
	b.done = true
	return nil
}

// open returns the block of an index, which must have begun and not ended.
func (a *answer) open(index int64) (*block, error) {
	if index < 0 || index >= int64(len(a.blocks)) || a.blocks[index].done {
		return nil, a.disorder("block %d is not open", index)
	}
	return a.blocks[index], nil
}

func (a *answer) disorder(format string, args ...any) error {
	return a.client.Temporary("the answer's events are out of order: " + fmt.Sprintf(format, args...))
}

// response is the whole answer, once the stream has ended.
func (a *answer) response() (model.Response, error) {
	if a.stop == "" {
		return model.Response{}, a.client.Temporary("the answer ended without a stop reason")
	}
	r := model.Response{Stop: stopReason(a.stop), Usage: a.usage}
	said, calls := false, false
	for i, b := range a.blocks {
		if b.kind == "tool_use" && !b.done && r.Stop != model.StopLength && r.Stop != model.StopRefused {
			return model.Response{}, a.disorder("block %d never ended", i)
		}
		out, ok := b.block()
		if !ok {
			continue
		}
		said = said || strings.TrimSpace(out.Text) != ""
		calls = calls || out.Call != nil
		r.Blocks = append(r.Blocks, out)
	}
	if calls && r.Stop == model.StopEnd {
		r.Stop = model.StopTools
	}
	return a.settle(r, said, calls)
}

// settle sees to it that an answer has something to go on with, and that one which was ended from outside says so.
func (a *answer) settle(r model.Response, said, calls bool) (model.Response, error) {
	switch {
	case r.Stop == model.StopRefused:
		r.Blocks = append(r.Blocks, model.Block{Text: wire.Refused})
		return r, nil
	case said || calls:
		return r, nil
	case r.Stop == model.StopLength: // it spent its tokens on thinking, or on a call that never was whole
		if len(r.Blocks) == 0 {
			r.Blocks = append(r.Blocks, model.Block{Text: wire.Wordless})
		}
		return r, nil
	}
	return model.Response{}, a.client.Temporary("the answer is empty")
}

// block makes the block ours; false for one that is empty or of a kind that was not asked for, or that was cut off and is
// of no use as half of it: a call's arguments, a thought without its signature.
func (b *block) block() (model.Block, bool) {
	text := b.text.String()
	if b.kind == "text" {
		return model.Block{Text: text}, text != ""
	}
	if !b.done {
		return model.Block{}, false
	}
	switch b.kind {
	case "thinking":
		t := &model.Thinking{Provider: Provider, Text: text, Signature: b.signature.String()}
		return model.Block{Thinking: t}, true
	case "redacted_thinking":
		return model.Block{Thinking: &model.Thinking{Provider: Provider, Redacted: b.data}}, true
	case "tool_use":
		if text == "" {
			text = b.input
		}
		return model.Block{Call: &model.ToolCall{ID: b.id, Name: b.name, Arguments: wire.Arguments(text)}}, true
	}
	return model.Block{}, false
}

func stopReason(r sdk.StopReason) model.StopReason {
	switch r {
	case sdk.StopReasonToolUse:
		return model.StopTools
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return model.StopLength
	case sdk.StopReasonRefusal:
		return model.StopRefused
	default: // end_turn, stop_sequence, pause_turn, and what comes later
		return model.StopEnd
	}
}

// errorEvent returns the error object that came as an event inside a successful stream.
func errorEvent(err error) ([]byte, bool) {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return nil, false
	}
	return []byte(e.RawJSON()), true
}
