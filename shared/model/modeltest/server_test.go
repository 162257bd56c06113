package modeltest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/model/modeltest"
)

func start(t *testing.T, c modeltest.Config) *modeltest.Server {
	t.Helper()
	s, err := modeltest.NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// answered is a response, read to its end.
type answered struct {
	status int
	header http.Header
}

// post sends a body with headers, given as pairs, and returns the response with its whole body.
func post(t *testing.T, url, body string, headers ...string) (answered, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{resp.StatusCode, resp.Header}, string(text)
}

func TestAnthropicRefusesWhatTheVendorRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, modeltest.Config{Key: "sk-good"})
	with := func(messages string) string {
		return `{"model":"m","max_tokens":9,"stream":true,"messages":[` + messages + `]}`
	}
	const hi, call = `{"role":"user","content":"hi"}`, `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{}}]}`
	tests := []struct {
		name, key, body string
		status          int
		words           string
	}{
		{"no key", "", with(hi), 401, "x-api-key header is required"},
		{"wrong key", "sk-bad", with(hi), 401, "invalid x-api-key"},
		{"no model", "sk-good", `{"max_tokens":9,"stream":true,"messages":[` + hi + `]}`, 400, "model: Field required"},
		{"no max_tokens", "sk-good", `{"model":"m","stream":true,"messages":[` + hi + `]}`, 400, "max_tokens: Field required"},
		{"no messages", "sk-good", with(""), 400, "at least one message"},
		{"the assistant first", "sk-good", with(`{"role":"assistant","content":"hi"}`), 400, "first message must use"},
		{"two users", "sk-good", with(hi + "," + hi), 400, "roles must alternate"},
		{"the assistant last", "sk-good", with(hi + `,{"role":"assistant","content":"hi"}`), 400, "prefill"},
		{"no content", "sk-good", with(`{"role":"user","content":[]}`), 400, "non-empty content"},
		{"an empty text", "sk-good", with(`{"role":"user","content":[{"type":"text","text":" "}]}`), 400, "non-whitespace"},
		{"a call without a result", "sk-good", with(hi + "," + call + "," + hi), 400, "`tool_use` ids were found without `tool_result` blocks"},
		{"a result without a call", "sk-good", with(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t9"}]}`), 400, "unexpected `tool_use_id`"},
		{"a result after text", "sk-good", with(hi + "," + call + `,{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"t1"}]}`), 400, "must come before"},
		{"an ID twice", "sk-good", with(hi + "," + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]},` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]}`), 400, "ids must be unique"},
		{"an odd ID", "sk-good", with(hi + "," + strings.Replace(call, "t1", "t.1", 1) + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t.1"}]}`), 400, "match pattern"},
		{"foreign thinking", "sk-good", with(hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"},{"type":"text","text":"z"}]},` + hi), 400, "Invalid `signature`"},
		{"a tool without a schema", "sk-good", strings.Replace(with(hi), `"stream"`, `"tools":[{"name":"a"}],"stream"`, 1), 400, "input_schema"},
		{"no JSON", "sk-good", "{", 400, "not valid JSON"},
		{"all right", "sk-good", with(hi + "," + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}`), 200, "message_stop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body := post(t, s.AnthropicURL()+"/v1/messages", tt.body, "X-Api-Key", tt.key, "Anthropic-Version", "2023-06-01")
			if resp.status != tt.status || !strings.Contains(body, tt.words) {
				t.Errorf("got %d %s, want %d with %q", resp.status, body, tt.status, tt.words)
			}
		})
	}
	if _, body := post(t, s.AnthropicURL()+"/v1/messages", with(hi), "X-Api-Key", "sk-good"); !strings.Contains(body, "anthropic-version") {
		t.Errorf("without a version: %s", body)
	}
}

func TestOpenAIRefusesWhatTheVendorRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, modeltest.Config{Key: "sk-good"})
	with := func(messages string) string { return `{"model":"m","stream":true,"messages":[` + messages + `]}` }
	const hi = `{"role":"user","content":"hi"}`
	const call = `{"role":"assistant","tool_calls":[{"id":"t1","type":"function","function":{"name":"a","arguments":"{}"}}]}`
	tests := []struct {
		name, key, body string
		status          int
		words           string
	}{
		{"no key", "", with(hi), 401, "You didn't provide an API key"},
		{"wrong key", "sk-bad", with(hi), 401, "invalid_api_key"},
		{"no model", "sk-good", `{"stream":true,"messages":[` + hi + `]}`, 400, "model parameter"},
		{"no messages", "sk-good", with(""), 400, "Missing required parameter"},
		{"an odd role", "sk-good", with(`{"role":"owner","content":"x"}`), 400, "Supported values"},
		{"no content", "sk-good", with(`{"role":"user"}`), 400, "expected a string"},
		{"a call without a result", "sk-good", with(hi + "," + call + "," + hi), 400, "did not have response messages: t1"},
		{"a call at the end", "sk-good", with(hi + "," + call), 400, "did not have response messages: t1"},
		{"a result without a call", "sk-good", with(hi + `,{"role":"tool","tool_call_id":"t1","content":"r"}`), 400, "must be a response"},
		{"no JSON", "sk-good", "{", 400, "could not parse"},
		{"all right", "sk-good", with(hi + "," + call + `,{"role":"tool","tool_call_id":"t1","content":"r"}`), 200, "[DONE]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			authorization := ""
			if tt.key != "" {
				authorization = "Bearer " + tt.key
			}
			resp, body := post(t, s.OpenAIURL()+"/chat/completions", tt.body, "Authorization", authorization)
			if resp.status != tt.status || !strings.Contains(body, tt.words) {
				t.Errorf("got %d %s, want %d with %q", resp.status, body, tt.status, tt.words)
			}
		})
	}
}

// eventNames lists the events of a stream in order, with the types of what they bring.
func eventNames(body string) []string {
	var names []string
	for scanner := bufio.NewScanner(strings.NewReader(body)); scanner.Scan(); {
		data, ok := strings.CutPrefix(scanner.Text(), "data: ")
		var e struct {
			Type         string
			ContentBlock struct{ Type string } `json:"content_block"`
			Delta        struct{ Type string }
		}
		if !ok || json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		names = append(names, strings.TrimSpace(e.Type+" "+e.ContentBlock.Type+e.Delta.Type))
	}
	return names
}

func TestAnthropicEventsComeInTheDocumentedOrder(t *testing.T) {
	t.Parallel()
	s := start(t, modeltest.Config{})
	body := `{"model":"m","max_tokens":99,"stream":true,"messages":[{"role":"user","content":"think hm\nsay a b\ncall x {}"}]}`
	resp, text := post(t, s.AnthropicURL()+"/v1/messages", body, "X-Api-Key", "k", "Anthropic-Version", "2023-06-01")
	want := []string{
		"message_start", "ping",
		"content_block_start thinking", "content_block_delta thinking_delta", "content_block_delta signature_delta", "content_block_stop",
		"content_block_start text", "content_block_delta text_delta", "content_block_delta text_delta", "content_block_stop",
		"content_block_start tool_use", "content_block_delta input_json_delta", "content_block_delta input_json_delta", "content_block_stop",
		"message_delta", "message_stop",
	}
	if diff := cmp.Diff(want, eventNames(text)); diff != "" {
		t.Errorf("other events (-want +got):\n%s", diff)
	}
	if got := resp.header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
}

func TestRequestsAreRecordedAndCanBeWaitedFor(t *testing.T) {
	t.Parallel()
	s := start(t, modeltest.Config{Loose: true})
	held := make(chan struct{})
	s.Fail(modeltest.Fault{Hold: held})
	answered := make(chan string)
	go func() {
		_, body := post(t, s.OpenAIURL()+"/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"say a"}]}`)
		answered <- body
	}()
	got, err := s.Wait(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Path != "/v1/chat/completions" || !strings.Contains(string(got[0].Body), "say a") || len(s.Requests()) != 1 {
		t.Errorf("recorded %+v", got)
	}
	close(held)
	if body := <-answered; !strings.Contains(body, `"content":"a"`) {
		t.Errorf("answered %s", body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Wait(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for what never comes: got %v", err)
	}
}

func TestTakenPortIsAnError(t *testing.T) {
	t.Parallel()
	s := start(t, modeltest.Config{})
	if _, err := modeltest.NewServer(modeltest.Config{Addr: strings.TrimPrefix(s.AnthropicURL(), "http://")}); err == nil {
		t.Error("a second server took the same port")
	}
}
