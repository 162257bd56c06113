package openai

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/wire"
)

// answer collects the chunks of one stream.
type answer struct {
	client  *wire.Client
	size    *wire.Size
	show    func(model.Delta)
	text    strings.Builder
	refusal strings.Builder
	calls   []*call
	finish  string
	usage   model.Usage
}

// call is a tool call as it grows.
type call struct {
	index     int64
	id, name  string
	arguments strings.Builder
}

// half reports whether the arguments, in an answer that was cut off, can't be whole. Nothing in the stream says so.
func (c *call) half() bool { return !json.Valid([]byte(c.arguments.String())) }

func (a *answer) add(c sdk.ChatCompletionChunk) error {
	if c.JSON.Usage.Valid() {
		a.usage = usage(c.Usage)
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 { // more than one choice was not asked for
			continue
		}
		if err := a.addDelta(choice.Delta); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	return nil
}

func (a *answer) addDelta(d sdk.ChatCompletionChunkChoiceDelta) error {
	thought := reasoning(d)
	if err := a.size.Add(len(thought) + len(d.Content) + len(d.Refusal)); err != nil {
		return err
	}
	a.append(nil, model.DeltaThinking, thought)
	a.append(&a.text, model.DeltaText, d.Content)
	a.append(&a.refusal, model.DeltaText, d.Refusal)
	for _, t := range d.ToolCalls {
		if err := a.addCall(t); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) append(to *strings.Builder, kind model.DeltaKind, text string) {
	if text == "" {
		return
	}
	if to != nil {
		to.WriteString(text)
	}
	if a.show != nil {
		a.show(model.Delta{Kind: kind, Text: text})
	}
}

// reasoning returns what a server other than OpenAI shows of its model's thoughts: reasoning_content (DeepSeek,
// llama.cpp) or reasoning (Ollama, vLLM, OpenRouter). It is only for showing; none of them wants it back.
func reasoning(d sdk.ChatCompletionChunkChoiceDelta) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var s string
		if f, ok := d.JSON.ExtraFields[name]; ok && json.Unmarshal([]byte(f.Raw()), &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

func (a *answer) addCall(t sdk.ChatCompletionChunkChoiceDeltaToolCall) error {
	before := len(a.calls)
	c, more := a.callFor(t), arguments(t.Function)
	if err := a.size.Add(len(more) + (len(a.calls)-before)*wire.BlockSize); err != nil {
		return err
	}
	if t.ID != "" {
		c.id = t.ID
	}
	if t.Function.Name != "" {
		c.name = t.Function.Name
	}
	c.arguments.WriteString(more)
	return nil
}

// arguments returns a piece of a call's arguments: JSON in a string, or from a few servers JSON itself.
func arguments(f sdk.ChatCompletionChunkChoiceDeltaToolCallFunction) string {
	if raw := f.JSON.Arguments.Raw(); strings.HasPrefix(raw, "{") {
		return raw
	}
	return f.Arguments
}

// callFor returns the call that a piece belongs to. The index says so; but some servers give every call index 0, so
// that another ID, or a name after complete arguments, begins a new call too.
func (a *answer) callFor(t sdk.ChatCompletionChunkChoiceDeltaToolCall) *call {
	for _, c := range slices.Backward(a.calls) {
		if c.index != t.Index {
			continue
		}
		another := t.ID != "" && c.id != "" && t.ID != c.id
		again := t.ID == "" && t.Function.Name != "" && json.Valid([]byte(c.arguments.String()))
		if !another && !again {
			return c
		}
		break
	}
	c := &call{index: t.Index}
	a.calls = append(a.calls, c)
	return c
}

func usage(u sdk.CompletionUsage) model.Usage {
	cached := min(u.PromptTokensDetails.CachedTokens, u.PromptTokens)
	return model.Usage{
		Input:     int(u.PromptTokens - cached),
		Output:    int(u.CompletionTokens),
		CacheRead: int(cached),
	}
}

// response is the whole answer, once its finish reason has come.
func (a *answer) response() (model.Response, error) {
	r := model.Response{Stop: stopReason(a.finish), Usage: a.usage}
	if text := a.text.String() + a.refusal.String(); strings.TrimSpace(text) != "" {
		r.Blocks = append(r.Blocks, model.Block{Text: text})
	}
	if r.Stop == model.StopRefused {
		r.Blocks = append(r.Blocks, model.Block{Text: wire.Refused})
	}
	if a.refusal.Len() > 0 { // the model itself says why
		r.Stop = model.StopRefused
	}
	if r.Stop == model.StopLength || r.Stop == model.StopRefused {
		a.calls = slices.DeleteFunc(a.calls, (*call).half)
	}
	r.Blocks = append(r.Blocks, a.callBlocks()...)
	switch {
	case len(a.calls) > 0 && r.Stop == model.StopEnd:
		r.Stop = model.StopTools // several servers say "stop" with calls
	case len(a.calls) == 0 && r.Stop == model.StopTools:
		r.Stop = model.StopEnd
	}
	return a.settle(r)
}

// settle sees to it that an answer has something to go on with.
func (a *answer) settle(r model.Response) (model.Response, error) {
	if len(r.Blocks) > 0 {
		return r, nil
	}
	if r.Stop == model.StopLength {
		r.Blocks = []model.Block{{Text: wire.Wordless}}
		return r, nil
	}
	return model.Response{}, a.client.Temporary("the answer is empty")
}

// callBlocks makes the calls ours; one without an ID, or with another's, gets its own.
func (a *answer) callBlocks() []model.Block {
	blocks := make([]model.Block, 0, len(a.calls))
	seen := make(map[string]bool, len(a.calls))
	for _, c := range a.calls {
		if c.id == "" || seen[c.id] {
			c.id = "call_" + rand.Text()
		}
		seen[c.id] = true
		blocks = append(blocks, model.Block{Call: &model.ToolCall{
			ID: c.id, Name: c.name, Arguments: wire.Arguments(c.arguments.String()),
		}})
	}
	return blocks
}

func stopReason(finish string) model.StopReason {
	switch finish {
	case "tool_calls", "function_call":
		return model.StopTools
	case "length":
		return model.StopLength
	case "content_filter", "refusal": // the latter is Anthropic's, which some gateways pass on
		return model.StopRefused
	default: // stop, and what other servers call it
		return model.StopEnd
	}
}
