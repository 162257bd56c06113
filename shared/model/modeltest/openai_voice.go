package modeltest

import (
	"encoding/json"
	"fmt"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// openAIVoice writes an answer as chat completions stream it: a chunk with the role, chunks with content and tool
// calls, one with the finish reason, one with the usage if it was asked for, and [DONE].
type openAIVoice struct {
	out   *stream
	c     exchange
	begun bool
}

func newOpenAIVoice(out *stream, c exchange) voice { return &openAIVoice{out: out, c: c} }

func (v *openAIVoice) chunk(choices []any, usage any) {
	body := map[string]any{
		"id": fmt.Sprintf("chatcmpl-%d", v.c.number), "object": "chat.completion.chunk", "created": 1_780_000_000,
		"model": v.c.model, "choices": choices,
	}
	if v.c.usage && !v.c.loose {
		body["usage"] = usage
	}
	v.out.send(fmt.Appendf(nil, "data: %s\n\n", mustJSON(body)))
}

func (v *openAIVoice) piece(delta map[string]any, finish any) {
	v.chunk([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}, nil)
}

func (v *openAIVoice) begin() {
	if v.begun {
		return
	}
	v.begun = true
	if !v.c.loose {
		v.piece(map[string]any{"role": "assistant", "content": "", "refusal": nil}, nil)
	}
}

func (v *openAIVoice) delta(d model.Delta) {
	v.begin()
	if d.Kind == model.DeltaThinking {
		if v.c.loose { // OpenAI itself shows no thoughts
			v.piece(map[string]any{"reasoning_content": d.Text}, nil)
		}
		return
	}
	v.piece(map[string]any{"content": d.Text}, nil)
}

func (v *openAIVoice) finish(r model.Response) {
	v.begin()
	index := 0
	for _, b := range r.Blocks {
		if b.Call != nil {
			v.call(index, b.Call)
			index++
		}
	}
	v.piece(map[string]any{}, openAIStop(r.Stop))
	if v.c.loose {
		return
	}
	if v.c.usage {
		v.chunk([]any{}, map[string]any{
			"prompt_tokens": r.Usage.Input + r.Usage.CacheRead, "completion_tokens": r.Usage.Output,
			"total_tokens":          r.Usage.Input + r.Usage.CacheRead + r.Usage.Output,
			"prompt_tokens_details": map[string]any{"cached_tokens": r.Usage.CacheRead},
		})
	}
	v.out.send([]byte("data: [DONE]\n\n"))
}

func (v *openAIVoice) call(index int, c *model.ToolCall) {
	arguments := string(rawArguments(c))
	if v.c.loose {
		v.calls(map[string]any{"function": map[string]any{"name": c.Name, "arguments": arguments}})
		v.out.inCall()
		return
	}
	v.calls(map[string]any{
		"index": index, "id": "call_" + c.ID, "type": "function",
		"function": map[string]any{"name": c.Name, "arguments": ""},
	})
	for _, piece := range pieces(arguments) {
		v.calls(map[string]any{"index": index, "function": map[string]any{"arguments": piece}})
		v.out.inCall()
	}
}

func (v *openAIVoice) calls(call map[string]any) {
	v.piece(map[string]any{"tool_calls": []any{call}}, nil)
}

// rawArguments is what the script had for arguments: the scripted model wraps what is no JSON, as a provider's package
// would, but the model behind a real API sends it as it is.
func rawArguments(c *model.ToolCall) []byte {
	var wrapped map[string]json.RawMessage
	var text string
	if json.Unmarshal(c.Arguments, &wrapped) == nil && len(wrapped) == 1 && json.Unmarshal(wrapped["_invalid"], &text) == nil {
		return []byte(text)
	}
	return c.Arguments
}

func openAIStop(s model.StopReason) string {
	switch s {
	case model.StopTools:
		return "tool_calls"
	case model.StopLength:
		return "length"
	case model.StopRefused:
		return "content_filter"
	case model.StopEnd:
	}
	return "stop"
}
