package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/modeltest"
	"github.com/bobbin-agent/bobbin/shared/model/provider"
)

const key = "sk-test-0123456789abcdef"

// vendors are the ways to reach a model over HTTP. All of them are held to the same behaviour.
var vendors = []struct {
	name   string
	config modeltest.Config
	open   func(*modeltest.Server) provider.Settings
}{
	{"anthropic", modeltest.Config{Key: key}, func(s *modeltest.Server) provider.Settings {
		return provider.Settings{Choice: "anthropic:claude-test", AnthropicKey: key, URL: s.AnthropicURL()}
	}},
	{"openai", modeltest.Config{Key: key}, func(s *modeltest.Server) provider.Settings {
		return provider.Settings{Choice: "openai:gpt-test", OpenAIKey: key, URL: s.OpenAIURL()}
	}},
	{"openai without reasoning", modeltest.Config{Key: key, Unreasoned: true}, func(s *modeltest.Server) provider.Settings {
		return provider.Settings{Choice: "openai:gpt-test", OpenAIKey: key, URL: s.OpenAIURL()}
	}},
	{"ollama", modeltest.Config{Loose: true}, func(s *modeltest.Server) provider.Settings {
		return provider.Settings{Choice: "ollama:llama-test", URL: s.OllamaURL()}
	}},
}

// each runs a test against every vendor, each with a server of its own.
func each(t *testing.T, test func(t *testing.T, m model.Model, s *modeltest.Server)) {
	t.Helper()
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			server, err := modeltest.NewServer(v.config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.Close() })
			settings := v.open(server)
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			settings.HTTP = &http.Client{Transport: transport}
			m, err := provider.Open(settings)
			if err != nil {
				t.Fatal(err)
			}
			test(t, m, server)
		})
	}
}

var tools = []model.Tool{
	{Name: "clock", Description: "tells the time", Schema: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string"}}}`)},
	{Name: "dice", Description: "throws dice", Schema: json.RawMessage(`{"type":"object"}`)},
}

func ask(texts ...string) model.Request {
	m := model.Message{Role: model.User, Blocks: []model.Block{{Text: "[Mon, via web]"}}}
	for _, t := range texts {
		m.Blocks = append(m.Blocks, model.Block{Text: t})
	}
	return model.Request{System: "You are a test.", Messages: []model.Message{m}, Tools: tools}
}

func TestAnswerStreamsAndIsWhole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m model.Model, _ *modeltest.Server) {
		var shown strings.Builder
		resp, err := m.Stream(t.Context(), ask("say Grüße, *world*\nsay again"), func(d model.Delta) {
			if d.Kind == model.DeltaText {
				shown.WriteString(d.Text)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []model.Block{{Text: "Grüße, *world*\nagain"}}
		if diff := cmp.Diff(want, resp.Blocks); diff != "" || resp.Stop != model.StopEnd {
			t.Errorf("stop %q, other blocks (-want +got):\n%s", resp.Stop, diff)
		}
		if shown.String() != want[0].Text {
			t.Errorf("shown %q", shown.String())
		}
		if m.Info().Provider != "ollama" && (resp.Usage.Output != 3 || resp.Usage.Input == 0) {
			t.Errorf("usage %+v", resp.Usage)
		}
	})
}

func TestToolsAreCalledSideBySideAndAnswered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m model.Model, _ *modeltest.Server) {
		req := ask("say Looking.\ncall clock {\"zone\": \"Europe/Berlin\"}\ncall dice {}\ncall dice {\"broken\"\nthen\ncall dice {}")
		got := converse(t, m, req)
		want := []string{
			"Looking.", `clock {"zone": "Europe/Berlin"}`, `dice {}`, `dice {"_invalid":"{\"broken\""}`,
			`dice {}`, "dice -> result of dice",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("went otherwise (-want +got):\n%s", diff)
		}
	})
}

// converse answers every call until the model wants none, and returns what it said and called.
func converse(t *testing.T, m model.Model, req model.Request) []string {
	t.Helper()
	var got []string
	for range 5 {
		resp, err := m.Stream(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		results := model.Message{Role: model.User}
		seen := map[string]bool{}
		for _, b := range resp.Blocks {
			if b.Text != "" {
				got = append(got, b.Text)
			}
			if c := b.Call; c != nil {
				got = append(got, c.Name+" "+string(c.Arguments))
				if c.ID == "" || seen[c.ID] {
					t.Errorf("the call's ID %q is not its own", c.ID)
				}
				seen[c.ID] = true
				results.Blocks = append(results.Blocks, model.Block{Result: &model.ToolResult{CallID: c.ID, Text: "result of " + c.Name}})
			}
		}
		if (resp.Stop == model.StopTools) != (len(results.Blocks) > 0) {
			t.Errorf("stop is %q with %d calls", resp.Stop, len(results.Blocks))
		}
		if len(results.Blocks) == 0 {
			return got
		}
		req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Blocks: resp.Blocks}, results)
	}
	t.Fatal("the model never came to an end")
	return nil
}

func TestHistoriesOfOtherProvidersAreTaken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m model.Model, _ *modeltest.Server) {
		req := ask("ignored")
		req.Messages = append(req.Messages,
			model.Message{Role: model.Assistant, Blocks: []model.Block{
				{Thinking: &model.Thinking{Provider: "elsewhere", Text: "hm", Signature: "foreign"}},
				{Text: "  \n"},
				{Call: &model.ToolCall{ID: "functions.clock:0", Name: "clock", Arguments: json.RawMessage(`{}`)}},
			}},
			model.Message{Role: model.User, Blocks: []model.Block{
				{Text: "by the way"},
				{Result: &model.ToolResult{CallID: "functions.clock:0", IsError: true}},
			}},
			model.Message{Role: model.Assistant, Blocks: []model.Block{
				{Thinking: &model.Thinking{Provider: "elsewhere", Text: "only a thought"}},
			}},
			model.Message{Role: model.User, Blocks: []model.Block{{Text: "say fine"}}},
		)
		resp, err := m.Stream(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Blocks[0].Text != "fine" {
			t.Errorf("got %+v", resp.Blocks)
		}
	})
}

func TestThinkingIsShownAndTakenBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m model.Model, _ *modeltest.Server) {
		var thought strings.Builder
		req := ask("think let me see\ncall clock {}\nthen\nsay done")
		resp, err := m.Stream(t.Context(), req, func(d model.Delta) {
			if d.Kind == model.DeltaThinking {
				thought.WriteString(d.Text)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if m.Info().Provider != "openai" && thought.String() != "let me see" {
			t.Errorf("shown thoughts: %q", thought.String())
		}
		if kept := resp.Blocks[0].Thinking; m.Info().Provider == "anthropic" && (kept == nil || kept.Signature == "" || kept.Text != "let me see") {
			t.Errorf("kept thoughts: %+v", kept)
		}
		if got := converse(t, m, req); got[len(got)-1] != "done" {
			t.Errorf("went on to %q", got)
		}
	})
}

func TestFailuresOverHTTPAreOfTheirKind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m model.Model, _ *modeltest.Server) {
		tests := map[string]model.ErrorKind{
			"fail temporary":                 model.ErrorTemporary,
			"say on the way\nfail temporary": model.ErrorTemporary,
			"fail overflow":                  model.ErrorOverflow,
			"fail auth":                      model.ErrorAuth,
			"fail other the reason":          model.ErrorOther,
		}
		for text, want := range tests {
			_, err := m.Stream(t.Context(), ask(text), nil)
			if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != want || e.Provider != m.Info().Provider {
				t.Errorf("%q: got %v, want %v of %s", text, err, want, m.Info().Provider)
			}
		}
	})
}

func TestAnswersThatBreakOffAreTemporaryErrors(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m model.Model, s *modeltest.Server) {
		for after := range 6 {
			s.Fail(modeltest.Fault{Kind: modeltest.FaultBreak, After: after})
			expectKind(t, m, "say one two three four\ncall clock {}", model.ErrorTemporary, fmt.Sprintf("broken off after %d events", after))
			s.Fail(modeltest.Fault{Kind: modeltest.FaultErrorEvent, After: after})
			expectKind(t, m, "say one two three four\ncall clock {}", model.ErrorTemporary, fmt.Sprintf("an error after %d events", after))
		}
		s.Fail(modeltest.Fault{Kind: modeltest.FaultBreakInCall})
		expectKind(t, m, `call clock {"zone": "somewhere far away"}`, model.ErrorTemporary, "broken off within a call")
	})
}

func expectKind(t *testing.T, m model.Model, text string, kind model.ErrorKind, what string) {
	t.Helper()
	req := ask(text)
	req.Tools = nil // so that a refusal of reasoning does not use up the fault
	resp, err := m.Stream(t.Context(), req, func(model.Delta) {})
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != kind {
		t.Errorf("%s: got %+v, %v, want kind %v", what, resp, err, kind)
	}
}

func TestServersOwnWaitComesThrough(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m model.Model, s *modeltest.Server) {
		s.Fail(modeltest.Fault{Kind: modeltest.FaultStatus, Status: http.StatusTooManyRequests, RetryAfter: 17 * time.Second})
		_, err := m.Stream(t.Context(), ask("say a"), nil)
		e, _ := errors.AsType[*model.Error](err)
		if e == nil || e.Kind != model.ErrorTemporary || e.Status != 429 || e.RetryAfter != 17*time.Second {
			t.Errorf("got %+v", err)
		}
		if n := len(s.Requests()); n != 1 {
			t.Errorf("%d requests were sent for one attempt", n)
		}
	})
}

func TestStopEndsTheRequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m model.Model, s *modeltest.Server) {
		held := make(chan struct{})
		defer close(held)
		s.Fail(modeltest.Fault{Hold: held})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := m.Stream(ctx, ask("say a"), nil)
			ended <- err
		}()
		if _, err := s.Wait(t.Context(), 1); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("before the answer: got %v, want the context's error", err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		_, err := m.Stream(ctx, ask("say a\nwait 1h\nsay b"), func(model.Delta) { cancel() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("within the answer: got %v, want the context's error", err)
		}
	})
}

func TestWrongKeyIsToldWithoutTheKey(t *testing.T) {
	t.Parallel()
	server, err := modeltest.NewServer(modeltest.Config{Key: "another-key"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, s := range []provider.Settings{
		{Choice: "anthropic:x", AnthropicKey: key, URL: server.AnthropicURL()},
		{Choice: "openai:x", OpenAIKey: key, URL: server.OpenAIURL()},
	} {
		m, err := provider.Open(s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Stream(t.Context(), ask("say a"), nil)
		e, _ := errors.AsType[*model.Error](err)
		if e == nil || e.Kind != model.ErrorAuth || strings.Contains(err.Error(), key) {
			t.Errorf("%s: got %v, want an auth error without the key", s.Choice, err)
		}
	}
}

func TestSameRequestIsSentByteForByte(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m model.Model, s *modeltest.Server) {
		for range 2 {
			req := ask("say a")
			req.Tools = nil
			if _, err := m.Stream(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
		}
		got := s.Requests()
		if diff := cmp.Diff(string(got[0].Body), string(got[1].Body)); diff != "" {
			t.Errorf("the bodies differ:\n%s", diff)
		}
	})
}

func TestRepeatedEventNeverMakesAWrongCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m model.Model, s *modeltest.Server) {
		for after := range 8 {
			s.Fail(modeltest.Fault{Kind: modeltest.FaultRepeat, After: after})
			req := ask(`call clock {"zone": "UTC"}`)
			req.Tools = nil
			resp, err := m.Stream(t.Context(), req, nil)
			if e, ok := errors.AsType[*model.Error](err); err != nil && (!ok || e.Kind != model.ErrorTemporary) {
				t.Errorf("event %d twice: got %v", after, err)
			}
			for _, b := range resp.Blocks {
				if b.Call != nil && !json.Valid(b.Call.Arguments) {
					t.Errorf("event %d twice: invalid arguments %q", after, b.Call.Arguments)
				}
			}
		}
	})
}
