package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/anthropic"
	"github.com/bobbin-agent/bobbin/shared/model/wire"
)

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The events around the content of an answer.
const (
	begin = `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":20,"cache_creation_input_tokens":30,"output_tokens":1}}}`
	end   = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}`
	stop  = `{"type":"message_stop"}`
)

// events answers with these events, named by their types.
func events(bodies ...string) roundTrip {
	var b strings.Builder
	for _, body := range bodies {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(body), &e)
		b.WriteString("event: " + e.Type + "\ndata: " + body + "\n\n")
	}
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"text/event-stream"}}
		return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader(b.String())), Request: r}, nil
	}
}

// text is a whole content block of text.
func text(s string) []string {
	return []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + s + `"}}`,
		`{"type":"content_block_stop","index":0}`,
	}
}

func open(transport http.RoundTripper) *anthropic.Model {
	return anthropic.New(anthropic.Config{Name: "claude-test", Key: "sk-test", HTTP: &http.Client{Transport: transport}})
}

func ask(blocks ...model.Block) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Blocks: blocks}}}
}

func stream(t *testing.T, bodies ...string) (model.Response, error) {
	t.Helper()
	return open(events(bodies...)).Stream(t.Context(), ask(model.Block{Text: "hi"}), nil)
}

func TestEveryKindOfBlockIsRead(t *testing.T) {
	t.Parallel()
	resp, err := stream(t, begin, `{"type":"ping"}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"opaque"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"","signature":"hidden"}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"H"}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"i"}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"t1","name":"a","input":{}}}`,
		`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}`,
		`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
		`{"type":"content_block_stop","index":4}`,
		`{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"t2","name":"b","input":{"whole":true}}}`,
		`{"type":"content_block_stop","index":5}`,
		`{"type":"something_new","field":1}`,
		strings.Replace(end, "end_turn", "tool_use", 1), stop)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Response{
		Blocks: []model.Block{
			{Thinking: &model.Thinking{Provider: "anthropic", Text: "hm", Signature: "sig"}},
			{Thinking: &model.Thinking{Provider: "anthropic", Redacted: "opaque"}},
			{Thinking: &model.Thinking{Provider: "anthropic", Signature: "hidden"}},
			{Text: "Hi"},
			{Call: &model.ToolCall{ID: "t1", Name: "a", Arguments: json.RawMessage(`{"x":1}`)}},
			{Call: &model.ToolCall{ID: "t2", Name: "b", Arguments: json.RawMessage(`{"whole":true}`)}},
		},
		Stop:  model.StopTools,
		Usage: model.Usage{Input: 10, Output: 7, CacheRead: 20, CacheWrite: 30},
	}
	if diff := cmp.Diff(want, resp); diff != "" {
		t.Errorf("read otherwise (-want +got):\n%s", diff)
	}
}

func TestStopReasonsAreOurs(t *testing.T) {
	t.Parallel()
	tests := map[string]model.StopReason{
		"end_turn": model.StopEnd, "stop_sequence": model.StopEnd, "pause_turn": model.StopEnd, "brand_new": model.StopEnd,
		"max_tokens": model.StopLength, "model_context_window_exceeded": model.StopLength, "refusal": model.StopRefused,
	}
	for reason, want := range tests {
		bodies := append([]string{begin}, text("hi")...)
		resp, err := stream(t, append(bodies, strings.Replace(end, "end_turn", reason, 1), stop)...)
		if err != nil || resp.Stop != want {
			t.Errorf("%s: got %q, %v, want %q", reason, resp.Stop, err, want)
		}
	}
}

func TestAnAnswerThatTheProviderEndedSaysSo(t *testing.T) {
	t.Parallel()
	refusal := strings.Replace(end, "end_turn", "refusal", 1)
	for name, c := range map[string]struct {
		bodies []string
		want   []model.Block
	}{
		"before a word":   {[]string{begin, refusal, stop}, []model.Block{{Text: wire.Refused}}},
		"in mid sentence": {append(append([]string{begin}, text("First, you")...), refusal, stop), []model.Block{{Text: "First, you"}, {Text: wire.Refused}}},
	} {
		resp, err := stream(t, c.bodies...)
		if diff := cmp.Diff(c.want, resp.Blocks); err != nil || resp.Stop != model.StopRefused || diff != "" {
			t.Errorf("%s: stop %q, error %v, blocks (-want +got):\n%s", name, resp.Stop, err, diff)
		}
	}
}

func TestACallThatNeverWasWholeIsNotHandedOut(t *testing.T) {
	t.Parallel()
	half := []string{
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"a","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
	}
	said := map[model.StopReason][]model.Block{model.StopRefused: {{Text: wire.Refused}}} // beside what was there
	for reason, want := range map[string]model.StopReason{"max_tokens": model.StopLength, "refusal": model.StopRefused} {
		bodies := append(append([]string{begin}, text("hi")...), half...)
		resp, err := stream(t, append(bodies, strings.Replace(end, "end_turn", reason, 1), stop)...)
		if diff := cmp.Diff(slices.Concat([]model.Block{{Text: "hi"}}, said[want]), resp.Blocks); err != nil || resp.Stop != want || diff != "" {
			t.Errorf("%s: stop %q, error %v, blocks (-want +got):\n%s", reason, resp.Stop, err, diff)
		}
	}
	alone := []string{begin, strings.Replace(half[0], `"index":1`, `"index":0`, 1), strings.Replace(end, "end_turn", "max_tokens", 1), stop}
	if resp, err := stream(t, alone...); err != nil || resp.Stop != model.StopLength || len(resp.Blocks) != 1 || resp.Blocks[0].Text == "" {
		t.Errorf("alone: got %+v, %v, want words that say so", resp, err)
	}
	alone[2] = strings.Replace(end, "end_turn", "tool_use", 1)
	_, err := stream(t, alone...)
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.ErrorTemporary {
		t.Errorf("one that the model meant to finish: got %v, want a temporary error", err)
	}
}

func TestAnAnswerWithoutBoundIsBrokenOff(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("a", 1<<20)
	delta := func(kind, field string) []string {
		d := `{"type":"content_block_delta","index":0,"delta":{"type":"` + kind + `","` + field + `":"` + piece + `"}}`
		return append([]string{begin, text("")[0]}, slices.Repeat([]string{d}, 9)...)
	}
	empty := []string{begin}
	for i := range 40_000 {
		empty = append(empty, strings.Replace(text("")[0], `"index":0`, `"index":`+strconv.Itoa(i), 1))
	}
	for name, bodies := range map[string][]string{
		"text":         delta("text_delta", "text"),
		"thinking":     delta("thinking_delta", "thinking"),
		"a signature":  delta("signature_delta", "signature"),
		"arguments":    delta("input_json_delta", "partial_json"),
		"empty blocks": empty,
	} {
		_, err := stream(t, bodies...)
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.Kind != model.ErrorOther || !strings.Contains(e.Message, "the answer was longer than 8 MiB") {
			t.Errorf("%s: got %v, want a permanent error that says so", name, err)
		}
	}
}

func TestAnswersThatAreNotWholeAreTemporaryErrors(t *testing.T) {
	t.Parallel()
	hi := text("hi")
	tests := map[string][]string{
		"nothing":                 {},
		"no message_stop":         {begin, hi[0], hi[1], hi[2], end},
		"no stop reason":          {begin, hi[0], hi[1], hi[2], stop},
		"empty":                   {begin, end, stop},
		"white space":             append(append([]string{begin}, text(" \\n")...), end, stop),
		"only thinking":           {begin, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm","signature":"s"}}`, hi[2], end, stop},
		"a block twice":           {begin, hi[0], hi[0], hi[1], hi[2], end, stop},
		"a delta after the block": {begin, hi[0], hi[2], hi[1], end, stop},
		"a delta without a block": {begin, hi[1], end, stop},
		"a negative index":        {begin, strings.Replace(hi[1], `"index":0`, `"index":-1`, 1), end, stop},
	}
	for name, bodies := range tests {
		resp, err := stream(t, bodies...)
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.ErrorTemporary {
			t.Errorf("%s: got %+v, %v, want a temporary error", name, resp, err)
		}
	}
}

// sent returns the body of the request that is made of req.
func sent(t *testing.T, req model.Request) map[string]any {
	t.Helper()
	var body map[string]any
	m := open(roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.String() != "https://api.anthropic.com/v1/messages" || r.Header.Get("X-Api-Key") != "sk-test" || r.Header.Get("Anthropic-Version") == "" {
			t.Errorf("sent to %s with %v", r.URL, r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		bodies := append([]string{begin}, text("hi")...)
		return events(append(bodies, end, stop)...)(r)
	}))
	if _, err := m.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	return body
}

func parse(t *testing.T, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRequestIsInTheVendorsWords(t *testing.T) {
	t.Parallel()
	req := model.Request{
		System: "Be brief.",
		Tools:  []model.Tool{{Name: "a", Description: "does a", Schema: json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{}}}`)}},
		Messages: []model.Message{
			{Role: model.User, Blocks: []model.Block{{Text: "hi"}}},
			{Role: model.Assistant, Blocks: []model.Block{
				{Thinking: &model.Thinking{Provider: "anthropic", Text: "hm", Signature: "sig"}},
				{Thinking: &model.Thinking{Provider: "anthropic", Redacted: "opaque"}},
				{Thinking: &model.Thinking{Provider: "openai", Text: "foreign"}},
				{Call: &model.ToolCall{ID: "f.a:0", Name: "a", Arguments: json.RawMessage(`{"x":1}`)}},
				{Thinking: &model.Thinking{Provider: "anthropic", Text: "at the end", Signature: "sig"}},
			}},
			{Role: model.User, Blocks: []model.Block{
				{Text: "and"}, {Result: &model.ToolResult{CallID: "f.a:0", Text: "r", IsError: true}},
			}},
		},
	}
	want := parse(t, `{
		"model": "claude-test", "max_tokens": 32000, "stream": true,
		"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
		"tools": [{"name": "a", "description": "does a",
			"input_schema": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}}}],
		"messages": [
			{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
			{"role": "assistant", "content": [
				{"type": "thinking", "thinking": "hm", "signature": "sig"},
				{"type": "redacted_thinking", "data": "opaque"},
				{"type": "tool_use", "id": "f_a_0", "name": "a", "input": {"x": 1}}]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "f_a_0", "is_error": true, "content": [{"type": "text", "text": "r"}]},
				{"type": "text", "text": "and", "cache_control": {"type": "ephemeral"}}]}
		]}`)
	if diff := cmp.Diff(want, any(sent(t, req))); diff != "" {
		t.Errorf("sent otherwise (-want +got):\n%s", diff)
	}
}

func TestNeighboursOfOneRoleBecomeOneMessage(t *testing.T) {
	t.Parallel()
	req := ask(model.Block{Text: "one"})
	req.MaxTokens = 9
	req.Messages = append(req.Messages,
		model.Message{Role: model.Assistant, Blocks: []model.Block{{Text: " "}}},
		model.Message{Role: model.User, Blocks: []model.Block{{Text: "two"}}},
	)
	body := sent(t, req)
	want := parse(t, `[{"role": "user", "content": [
		{"type": "text", "text": "one"}, {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}]}]`)
	if diff := cmp.Diff(want, body["messages"]); diff != "" || body["max_tokens"] != 9.0 {
		t.Errorf("max_tokens %v, other messages (-want +got):\n%s", body["max_tokens"], diff)
	}
}
