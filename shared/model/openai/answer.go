package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/wire"
)

// chunk is one event of the stream. Fields that a server leaves out or sets to null stay zero.
type chunk struct {
	Choices []struct {
		Index        int    `json:"index"`
		Delta        delta  `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// delta is what a chunk adds. The model's thoughts, which OpenAI does not show, are reasoning_content (DeepSeek,
// llama.cpp) or reasoning (Ollama, vLLM, OpenRouter); they are only for showing, none of these wants them back.
type delta struct {
	Content          string      `json:"content"`
	Refusal          string      `json:"refusal"`
	ReasoningContent string      `json:"reasoning_content"`
	Reasoning        string      `json:"reasoning"`
	ToolCalls        []callDelta `json:"tool_calls"`
}

type callDelta struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// arguments is JSON in a string, or in a few servers JSON itself.
type arguments string

// UnmarshalJSON takes both.
func (a *arguments) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		*a = arguments(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

type usage struct {
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// answer collects the chunks of one stream.
type answer struct {
	client  *wire.Client
	show    func(model.Delta)
	text    strings.Builder
	refusal strings.Builder
	calls   []*call
	finish  string
	usage   model.Usage
}

// call is a tool call as it grows.
type call struct {
	index     int
	id, name  string
	arguments strings.Builder
}

// read takes in the stream up to its end. It returns why the stream ended: io.ErrUnexpectedEOF where the server just
// closed it.
func (a *answer) read(body io.Reader) error {
	for data, err := range wire.Events(body) {
		if err != nil {
			return err
		}
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			break
		}
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return fmt.Errorf("decoding an event: %w", err)
		}
		if len(c.Error) > 0 && string(c.Error) != "null" {
			return a.client.Event(data)
		}
		a.add(c)
	}
	return io.ErrUnexpectedEOF
}

func (a *answer) add(c chunk) {
	if c.Usage != nil {
		a.usage = c.Usage.ours()
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 { // more than one choice was not asked for
			continue
		}
		a.addDelta(choice.Delta)
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
}

func (a *answer) addDelta(d delta) {
	if d.ReasoningContent == "" {
		d.ReasoningContent = d.Reasoning
	}
	a.append(nil, model.DeltaThinking, d.ReasoningContent)
	a.append(&a.text, model.DeltaText, d.Content)
	a.append(&a.refusal, model.DeltaText, d.Refusal)
	for _, t := range d.ToolCalls {
		a.addCall(t)
	}
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

func (a *answer) addCall(t callDelta) {
	c := a.callFor(t)
	if t.ID != "" {
		c.id = t.ID
	}
	if t.Function.Name != "" {
		c.name = t.Function.Name
	}
	c.arguments.WriteString(string(t.Function.Arguments))
}

// callFor returns the call that a piece belongs to. The index says so; but some servers give every call index 0, so
// that another ID, or a name after complete arguments, begins a new call too.
func (a *answer) callFor(t callDelta) *call {
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
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

func (u usage) ours() model.Usage {
	cached := min(u.PromptTokensDetails.CachedTokens, u.PromptTokens)
	return model.Usage{Input: u.PromptTokens - cached, Output: u.CompletionTokens, CacheRead: cached}
}

// response is the whole answer, once its finish reason has come.
func (a *answer) response() (model.Response, error) {
	r := model.Response{Stop: stopReason(a.finish), Usage: a.usage}
	text := a.text.String()
	if a.refusal.Len() > 0 {
		text += a.refusal.String()
		r.Stop = model.StopRefused
	}
	if strings.TrimSpace(text) != "" {
		r.Blocks = append(r.Blocks, model.Block{Text: text})
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
	switch r.Stop {
	case model.StopRefused:
		r.Blocks = []model.Block{{Text: "(The provider's safety system ended this answer.)"}}
		return r, nil
	case model.StopLength:
		r.Blocks = []model.Block{{Text: "(The model ran out of tokens before it said anything.)"}}
		return r, nil
	case model.StopEnd, model.StopTools:
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
	case "content_filter":
		return model.StopRefused
	default: // stop, and what other servers call it
		return model.StopEnd
	}
}
