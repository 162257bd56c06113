package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/openai"
	"github.com/bobbin-agent/bobbin/shared/model/wire"
)

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// chunks answers with a stream of these data lines, each a choice's fields unless it begins with a brace.
func chunks(lines ...string) roundTrip {
	var b strings.Builder
	for _, l := range lines {
		if !strings.HasPrefix(l, "{") && l != "[DONE]" {
			l = `{"choices":[{"index":0,` + l + `}]}`
		}
		b.WriteString("data: " + l + "\n\n")
	}
	return func(r *http.Request) (*http.Response, error) { return body(strings.NewReader(b.String()))(r) }
}

// body answers with a stream of these bytes.
func body(text io.Reader) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"text/event-stream"}}
		return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(text), Request: r}, nil
	}
}

func stream(t *testing.T, transport http.RoundTripper) (model.Response, error) {
	t.Helper()
	m := openai.New(openai.Config{Name: "any", BaseURL: "http://fake.test/v1", HTTP: &http.Client{Transport: transport}})
	req := model.Request{Messages: []model.Message{{Role: model.User, Blocks: []model.Block{{Text: "hi"}}}}}
	return m.Stream(t.Context(), req, nil)
}

// calls lists a response's calls as name and arguments.
func calls(r model.Response) []string {
	var out []string
	for _, b := range r.Blocks {
		if b.Call != nil {
			out = append(out, b.Call.Name+string(b.Call.Arguments))
		}
	}
	return out
}

func TestLooseServersAreUnderstood(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lines []string
		text  string
		calls []string
		stop  model.StopReason
	}{
		{"no role, usage or [DONE]", []string{`"delta":{"content":"hi"}`, `"delta":{},"finish_reason":"stop"`}, "hi", nil, model.StopEnd},
		{"the end with the last words", []string{`"delta":{"content":"hi"},"finish_reason":"stop"`}, "hi", nil, model.StopEnd},
		{"null everywhere", []string{`"delta":{"role":null,"content":null,"tool_calls":null},"finish_reason":null`, `"delta":{"content":"hi"}`, `"delta":{"content":null},"finish_reason":"stop"`, `{"choices":[],"usage":null}`}, "hi", nil, model.StopEnd},
		{"an unknown finish reason", []string{`"delta":{"content":"hi"},"finish_reason":"eos"`}, "hi", nil, model.StopEnd},
		{"calls that end with stop", []string{`"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}]}`, `"delta":{},"finish_reason":"stop"`}, "", []string{"a{}"}, model.StopTools},
		{
			"calls all of index 0, with IDs",
			[]string{`"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}]}`, `"delta":{"tool_calls":[{"index":0,"id":"2","function":{"name":"b","arguments":"{}"}}]}`, `"delta":{},"finish_reason":"tool_calls"`},
			"",
			[]string{"a{}", "b{}"},
			model.StopTools,
		},
		{
			"calls without index and ID",
			[]string{`"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{\"x\":1}"}}]}`, `"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{\"x\":2}"}}]}`, `"delta":{},"finish_reason":"tool_calls"`},
			"",
			[]string{`a{"x":1}`, `a{"x":2}`},
			model.StopTools,
		},
		{
			"the ID in every piece",
			[]string{`"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\""}}]}`, `"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":":1}"}}]}`, `"delta":{},"finish_reason":"tool_calls"`},
			"",
			[]string{`a{"x":1}`},
			model.StopTools,
		},
		{
			"pieces of two calls in turn",
			[]string{`"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":""}},{"index":1,"id":"2","function":{"name":"b","arguments":""}}]}`, `"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"y\":1}"}}]}`, `"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}`, `"delta":{},"finish_reason":"tool_calls"`},
			"",
			[]string{`a{"x":1}`, `b{"y":1}`},
			model.StopTools,
		},
		{"arguments that are no string", []string{`"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":{"x":1}}}]},"finish_reason":"tool_calls"`}, "", []string{`a{"x":1}`}, model.StopTools},
		{"the same ID twice", []string{`"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a"}},{"index":1,"id":"1","function":{"name":"b"}}]},"finish_reason":"tool_calls"`}, "", []string{"a{}", "b{}"}, model.StopTools},
		{"the limit", []string{`"delta":{"content":"h"},"finish_reason":"length"`}, "h", nil, model.StopLength},
		{
			"the limit within a call",
			[]string{`"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\":1}"}},{"index":1,"id":"2","function":{"name":"b","arguments":"{\"y\":"}}]},"finish_reason":"length"`},
			"",
			[]string{`a{"x":1}`},
			model.StopLength,
		},
		{
			"the limit within the only call",
			[]string{`"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a"}}]},"finish_reason":"length"`},
			wire.Wordless, nil, model.StopLength,
		},
		{"a refusal", []string{`"delta":{"refusal":"I can't."}`, `"delta":{},"finish_reason":"stop"`}, "I can't.", nil, model.StopRefused},
		{"a filter", []string{`"delta":{},"finish_reason":"content_filter"`}, wire.Refused, nil, model.StopRefused},
		{"a gateway's word for it", []string{`"delta":{"content":"First, you"},"finish_reason":"refusal"`}, "First, you" + wire.Refused, nil, model.StopRefused},
		{"a filter in mid sentence", []string{`"delta":{"content":"First, you"},"finish_reason":"content_filter"`}, "First, you" + wire.Refused, nil, model.StopRefused},
		{
			"a filter after a call",
			[]string{`"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}]},"finish_reason":"content_filter"`},
			wire.Refused,
			[]string{"a{}"},
			model.StopRefused,
		},
		{"a second choice", []string{`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}`}, "hi", nil, model.StopEnd},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, err := stream(t, chunks(tt.lines...))
			if err != nil {
				t.Fatal(err)
			}
			text, ids := "", map[string]bool{}
			for _, b := range resp.Blocks {
				text += b.Text
				if b.Call != nil && (b.Call.ID == "" || ids[b.Call.ID]) {
					t.Errorf("the ID %q is not the call's own", b.Call.ID)
				} else if b.Call != nil {
					ids[b.Call.ID] = true
				}
			}
			if text != tt.text || resp.Stop != tt.stop {
				t.Errorf("got %q and stop %q, want %q and %q", text, resp.Stop, tt.text, tt.stop)
			}
			if diff := cmp.Diff(tt.calls, calls(resp)); diff != "" {
				t.Errorf("other calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersWithoutAnEndOrContentAreTemporaryErrors(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"no finish reason":          {`"delta":{"content":"hi"}`},
		"no finish reason but DONE": {`"delta":{"content":"hi"}`, "[DONE]"},
		"nothing at all":            {},
		"empty":                     {`"delta":{"content":""},"finish_reason":"stop"`, "[DONE]"},
		"white space":               {`"delta":{"content":" \n"},"finish_reason":"stop"`},
		"not JSON":                  {`{"choices":[`},
		"an error without a kind":   {`{"error":{"message":"worker died"}}`},
	}
	for name, lines := range tests {
		_, err := stream(t, chunks(lines...))
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.ErrorTemporary {
			t.Errorf("%s: got %v, want a temporary error", name, err)
		}
	}
}

func TestAnAnswerWithoutBoundIsBrokenOff(t *testing.T) {
	t.Parallel()
	piece, long := strings.Repeat("a", 1<<20), strings.Repeat("a", 33<<20)
	for name, line := range map[string]string{
		"text":                     `data: {"choices":[{"index":0,"delta":{"content":"` + piece + `"}}]}`,
		"a refusal":                `data: {"choices":[{"index":0,"delta":{"refusal":"` + piece + `"}}]}`,
		"reasoning":                `data: {"choices":[{"index":0,"delta":{"reasoning":"` + piece + `"}}]}`,
		"arguments":                `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + piece + `"}}]}}]}`,
		"calls without any":        `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + strings.Repeat(`{"id":"1"},{"id":"2"},`, 500) + `{"id":"3"}]}}]}`,
		"one event, all by itself": `data: ` + long,
	} {
		endless := &repeated{text: line + "\n\n"}
		_, err := stream(t, body(endless))
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.Kind != model.ErrorOther || !strings.Contains(e.Message, "the answer was longer than 8 MiB") {
			t.Errorf("%s: got %v, want a permanent error that says so", name, err)
		}
		if most := 64 << 20; endless.read > most {
			t.Errorf("%s: read %d bytes before giving up, want %d at most", name, endless.read, most)
		}
	}
}

// repeated is a text again and again.
type repeated struct {
	text string
	read int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.read%len(r.text):])
	r.read += n
	return n, nil
}

func TestLooseStreamsAreRead(t *testing.T) {
	t.Parallel()
	hi, end := `{"choices":[{"index":0,"delta":{"content":"hi"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	tests := map[string]string{
		"comments between":           ": working\n\ndata: " + hi + "\n\n: working\n\ndata: " + end + "\n\n",
		"events without data":        "event: ping\n\ndata: " + hi + "\n\n\n\ndata: " + end + "\n\n",
		"null for no error":          `data: {"error":null,` + hi[1:] + "\n\n" + `data: {"error":null,` + end[1:] + "\n\n",
		"no last empty line":         "data: " + hi + "\n\ndata: " + end,
		"one event over two lines":   "data: " + hi + "\n\ndata: " + strings.Replace(end, ",", ",\ndata: ", 1) + "\n\n",
		"carriage returns":           "data: " + hi + "\r\n\r\ndata: " + end + "\r\n\r\n",
		"something after its [DONE]": "data: " + hi + "\n\ndata: " + end + "\n\ndata: [DONE]\n\ndata: {\n\n",
	}
	for name, text := range tests {
		resp, err := stream(t, body(strings.NewReader(text)))
		if err != nil || len(resp.Blocks) != 1 || resp.Blocks[0].Text != "hi" {
			t.Errorf("%s: got %+v, %v", name, resp, err)
		}
	}
}

// open is a body that its server never ends.
type open struct{ ctx context.Context } //nolint:containedctx // stands in for the connection's end

func (o open) Read([]byte) (int, error) {
	<-o.ctx.Done()
	return 0, o.ctx.Err()
}

func TestAnswerIsNotHeldUpByAServerThatKeepsTheStreamOpen(t *testing.T) {
	t.Parallel()
	done := `data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	resp, err := stream(t, body(io.MultiReader(strings.NewReader(done), open{t.Context()})))
	if err != nil || len(resp.Blocks) != 1 || resp.Blocks[0].Text != "hi" {
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-from-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://elsewhere.test/v1")
	t.Setenv("OPENAI_ORG_ID", "org-from-the-environment")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-From: the-environment")
	_, err := stream(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		if head := fmt.Sprint(r.URL, r.Header); !strings.HasPrefix(head, "http://fake.test/v1/chat/completions") || strings.Contains(head, "environment") {
			t.Errorf("sent %s", head)
		}
		return chunks(`"delta":{"content":"hi"},"finish_reason":"stop"`)(r)
	}))
	if err != nil {
		t.Error(err)
	}
}

func TestUsageCountsCachedTokensApart(t *testing.T) {
	t.Parallel()
	resp, err := stream(t, chunks(`"delta":{"content":"hi"},"finish_reason":"stop"`,
		`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":60}}}`, "[DONE]"))
	if err != nil {
		t.Fatal(err)
	}
	want := model.Usage{Input: 40, Output: 7, CacheRead: 60}
	if resp.Usage != want {
		t.Errorf("got %+v, want %+v", resp.Usage, want)
	}
}

func TestWithoutKeyNoneIsSent(t *testing.T) {
	t.Parallel()
	_, err := stream(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		if _, sent := r.Header["Authorization"]; sent {
			t.Errorf("sent Authorization %q", r.Header.Get("Authorization"))
		}
		return chunks(`"delta":{"content":"hi"},"finish_reason":"stop"`)(r)
	}))
	if err != nil {
		t.Error(err)
	}
}

func TestLimitIsNamedAsTheServerKnowsIt(t *testing.T) {
	t.Parallel()
	tests := map[string]string{"": "max_completion_tokens", "http://127.0.0.1:8000/v1": "max_tokens"}
	for base, want := range tests {
		var body map[string]json.RawMessage
		m := openai.New(openai.Config{Name: "any", BaseURL: base, Key: "sk-test", HTTP: &http.Client{Transport: roundTrip(
			func(r *http.Request) (*http.Response, error) {
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				return chunks(`"delta":{"content":"hi"},"finish_reason":"stop"`)(r)
			})}})
		req := model.Request{MaxTokens: 5, Messages: []model.Message{{Role: model.User, Blocks: []model.Block{{Text: "hi"}}}}}
		if _, err := m.Stream(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if string(body[want]) != "5" {
			t.Errorf("%q: the request lacks %s: %s", base, want, body)
		}
	}
}

func TestReasoningIsLeftOutOnceTheServerRefusesIt(t *testing.T) {
	t.Parallel()
	var efforts []string
	m := openai.New(openai.Config{Name: "any", Key: "sk-test", HTTP: &http.Client{Transport: roundTrip(
		func(r *http.Request) (*http.Response, error) {
			var body struct {
				Effort string `json:"reasoning_effort"`
			}
			_ = json.NewDecoder(r.Body).Decode(&body)
			efforts = append(efforts, body.Effort)
			if body.Effort == "none" {
				return chunks(`"delta":{"content":"hi"},"finish_reason":"stop"`)(r)
			}
			words := `{"error":{"message":"Function tools with reasoning_effort are not supported for any in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.","type":"invalid_request_error"}}`
			return &http.Response{StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(words)), Request: r}, nil
		})}})
	req := model.Request{
		Messages: []model.Message{{Role: model.User, Blocks: []model.Block{{Text: "hi"}}}},
		Tools:    []model.Tool{{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}},
	}
	for range 2 {
		if _, err := m.Stream(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"", "none", "none"}, efforts); diff != "" {
		t.Errorf("sent otherwise (-want +got):\n%s", diff)
	}
}
