package modeltest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// anthropicVoice writes an answer as the Messages API streams it: message_start, a ping, each content block with its
// start, deltas and stop, then message_delta and message_stop.
type anthropicVoice struct {
	out   *stream
	c     exchange
	index int             // of the open block, or the next
	open  model.DeltaKind // what the open block holds; 0 if none is open
	text  string          // of the open block
	begun bool
}

func newAnthropicVoice(out *stream, c exchange) voice { return &anthropicVoice{out: out, c: c} }

func (v *anthropicVoice) event(name string, body map[string]any) {
	body["type"] = name
	v.out.send(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, mustJSON(body)))
}

func (v *anthropicVoice) begin() {
	if v.begun {
		return
	}
	v.begun = true
	v.event("message_start", map[string]any{"message": map[string]any{
		"id": fmt.Sprintf("msg_%024d", v.c.number), "type": "message", "role": "assistant", "model": v.c.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": 1, "output_tokens": 1},
	}})
	v.event("ping", map[string]any{})
}

func (v *anthropicVoice) delta(d model.Delta) {
	v.begin()
	if v.open != d.Kind {
		v.close()
		v.start(d.Kind)
	}
	v.text += d.Text
	if d.Kind == model.DeltaThinking {
		v.blockDelta(map[string]any{"type": "thinking_delta", "thinking": d.Text})
		return
	}
	v.blockDelta(map[string]any{"type": "text_delta", "text": d.Text})
}

func (v *anthropicVoice) start(kind model.DeltaKind) {
	v.open, v.text = kind, ""
	if kind == model.DeltaThinking {
		v.blockStart(map[string]any{"type": "thinking", "thinking": "", "signature": ""})
		return
	}
	v.blockStart(map[string]any{"type": "text", "text": ""})
}

func (v *anthropicVoice) blockStart(block map[string]any) {
	v.event("content_block_start", map[string]any{"index": v.index, "content_block": block})
}

func (v *anthropicVoice) blockDelta(delta map[string]any) {
	v.event("content_block_delta", map[string]any{"index": v.index, "delta": delta})
}

// close ends the open block; thinking is signed.
func (v *anthropicVoice) close() {
	if v.open == 0 {
		return
	}
	if v.open == model.DeltaThinking {
		v.blockDelta(map[string]any{"type": "signature_delta", "signature": signature(v.text)})
	}
	v.stop()
}

func (v *anthropicVoice) stop() {
	v.event("content_block_stop", map[string]any{"index": v.index})
	v.index++
	v.open = 0
}

func (v *anthropicVoice) finish(r model.Response) {
	v.begin()
	v.close()
	for _, b := range r.Blocks {
		if b.Call != nil {
			v.call(b.Call)
		}
	}
	v.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": anthropicStop(r.Stop), "stop_sequence": nil},
		"usage": map[string]any{
			"input_tokens": r.Usage.Input, "output_tokens": r.Usage.Output,
			"cache_read_input_tokens": r.Usage.CacheRead, "cache_creation_input_tokens": r.Usage.CacheWrite,
		},
	})
	v.event("message_stop", map[string]any{})
}

func (v *anthropicVoice) call(c *model.ToolCall) {
	v.blockStart(map[string]any{"type": "tool_use", "id": "toolu_" + c.ID, "name": c.Name, "input": map[string]any{}})
	v.blockDelta(map[string]any{"type": "input_json_delta", "partial_json": ""})
	for _, piece := range pieces(string(rawArguments(c))) {
		v.blockDelta(map[string]any{"type": "input_json_delta", "partial_json": piece})
		v.out.inCall()
	}
	v.stop()
}

// pieces cuts arguments as they would stream in.
func pieces(s string) []string {
	const size = 7
	var out []string
	for len(s) > size {
		out, s = append(out, s[:size]), s[size:]
	}
	return append(out, s)
}

func anthropicStop(s model.StopReason) string {
	switch s {
	case model.StopTools:
		return "tool_use"
	case model.StopLength:
		return "max_tokens"
	case model.StopRefused:
		return "refusal"
	case model.StopEnd:
	}
	return "end_turn"
}

// signature stands for the vendor's signature of thinking, which must come back unchanged with it.
func signature(thinking string) string {
	sum := sha256.Sum256([]byte(thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func anthropicError(p problem) map[string]any {
	return map[string]any{
		"type":       "error",
		"error":      map[string]any{"type": p.kind, "message": p.message},
		"request_id": "req_modeltest",
	}
}

func refuseAnthropic(w http.ResponseWriter, p problem) {
	w.Header().Set("Request-Id", "req_modeltest")
	p.header(w)
	writeJSON(w, p.status, anthropicError(p))
}

func anthropicErrorEvent(p problem) []byte {
	return fmt.Appendf(nil, "event: error\ndata: %s\n\n", mustJSON(anthropicError(p)))
}
