package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestOnlyTheProvidersOwnWordAgainstKeyOrModelIsAnError(t *testing.T) {
	t.Parallel()
	const key = "sk-invented-key-0001"
	for name, c := range map[string]struct {
		choice string
		status int
		body   string
		want   string // part of the error; "" for none
	}{
		"a good model":           {"openai:gpt-x", 200, `{"id":"gpt-x","object":"model"}`, ""},
		"a refused key":          {"openai:gpt-x", 401, `{"error":{"message":"Incorrect API key provided: ` + key + `","code":"invalid_api_key"}}`, "set OPENAI_API_KEY"},
		"a refused key, other":   {"anthropic:claude-x", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, "set ANTHROPIC_API_KEY"},
		"an unknown model":       {"openai:gpt-x", 404, `{"error":{"message":"The model 'gpt-x' does not exist","code":"model_not_found"}}`, "set BOBBIN_MODEL"},
		"an unknown model, too":  {"anthropic:claude-x", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`, "set BOBBIN_MODEL"},
		"no list of models":      {"openai:gpt-x", 404, "404 page not found", ""},
		"no list, in JSON":       {"openai:gpt-x", 404, `{"error":{"message":"Invalid URL (GET /models)"}}`, ""},
		"a server in trouble":    {"openai:gpt-x", 500, `{"error":{"message":"gpt-x is unwell"}}`, ""},
		"nothing to ask":         {"scripted", 500, "", ""},
		"a proxy that wants in":  {"openai:gpt-x", 401, "<html>log in</html>", ""},
		"a local model not here": {"ollama:nosuch", 404, `{"error":{"message":"model \"nosuch\" not found, try pulling it first"}}`, "set BOBBIN_MODEL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			t.Cleanup(server.Close)
			err := Check(t.Context(), Settings{Choice: c.choice, URL: server.URL, AnthropicKey: key, OpenAIKey: key})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v, want none", err)
			case c.want != "" && (!errors.Is(err, ErrSetting) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want it to say %q", err, c.want)
			case err != nil && strings.Contains(err.Error(), key):
				t.Errorf("the key is in the error: %v", err)
			}
		})
	}
}

func TestTheKeyDoesNotTravelWithARedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host is asked, with the key %q", r.Header.Get("X-Api-Key"))
	}))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	for _, choice := range []string{"anthropic:claude-x", "openai:gpt-x"} {
		s := Settings{Choice: choice, URL: server.URL, AnthropicKey: "sk-invented-key-0001", OpenAIKey: "sk-invented-key-0001"}
		if err := Check(t.Context(), s); err != nil {
			t.Errorf("%s: a redirect says nothing about the settings, got %v", choice, err)
		}
	}
}

func TestAProviderThatDoesNotAnswerIsNamedWithoutSecrets(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(broken.Close)
	for name, c := range map[string]struct{ choice, url, reason string }{
		"a closed port":             {"openai:gpt-x", closed.URL, "connection refused"},
		"a closed port, other":      {"anthropic:claude-x", closed.URL, "connection refused"},
		"no Ollama":                 {"ollama:qwen3", closed.URL, "connection refused"},
		"an answer that breaks off": {"openai:gpt-x", broken.URL, "no response came"},
	} {
		secret := strings.Replace(c.url, "http://", "http://me:hunter22@", 1) + "/hush"
		err := Check(t.Context(), Settings{Choice: c.choice, URL: secret, AnthropicKey: "sk-hush-0001", OpenAIKey: "sk-hush-0001"})
		provider, _, _ := strings.Cut(c.choice, ":")
		want := provider + " at " + c.url + " does not answer yet: " + c.reason + "; "
		if !errors.Is(err, ErrUnreachable) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line that begins with %q", name, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "hunter22")) {
			t.Errorf("%s: a secret is in the error: %v", name, err)
		}
	}
}

func TestACheckThatWasBrokenOffSaysNothingAndOneThatTookTooLongDoes(t *testing.T) {
	t.Parallel()
	s := Settings{Choice: "openai:gpt-x", OpenAIKey: "sk-invented-key-0001", HTTP: &http.Client{Transport: hanging{}}}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Check(cancelled, s); err != nil {
		t.Errorf("cancelled: got %v, want none", err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if err := Check(late, s); !errors.Is(err, ErrUnreachable) {
		t.Errorf("too late: got %v, want ErrUnreachable", err)
	}
}

// hanging is a server that never answers.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
