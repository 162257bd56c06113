package provider_test

import (
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/modeltest"
	"github.com/bobbin-agent/bobbin/shared/model/provider"
)

// named is what a choice says of its model.
func named(choice string) model.Info {
	vendor, name, _ := strings.Cut(choice, ":")
	return model.Info{Provider: vendor, Name: name}
}

func TestChoiceNamesAModel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		settings provider.Settings
		want     model.Info
	}{
		{"anthropic", provider.Settings{Choice: "anthropic:claude-x", AnthropicKey: "k"}, model.Info{Provider: "anthropic", Name: "claude-x"}},
		{"openai", provider.Settings{Choice: "openai:gpt-x", OpenAIKey: "k"}, model.Info{Provider: "openai", Name: "gpt-x"}},
		{"a server without a key", provider.Settings{Choice: "openai:any", URL: "http://127.0.0.1:1/v1"}, model.Info{Provider: "openai", Name: "any"}},
		{"ollama with a tag", provider.Settings{Choice: "ollama:qwen3:8b"}, model.Info{Provider: "ollama", Name: "qwen3:8b"}},
		{"scripted", provider.Settings{Choice: " scripted "}, model.Info{Provider: "scripted", Name: "scripted"}},
		{"scripted by name", provider.Settings{Choice: "scripted:demo"}, model.Info{Provider: "scripted", Name: "demo"}},
		{"the choice before the keys", provider.Settings{Choice: "scripted", AnthropicKey: "k"}, model.Info{Provider: "scripted", Name: "scripted"}},
		{"both keys", provider.Settings{AnthropicKey: "k", OpenAIKey: "k"}, named(provider.DefaultAnthropic)},
		{"one key", provider.Settings{OpenAIKey: "k"}, named(provider.DefaultOpenAI)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := provider.Open(tt.settings)
			if err != nil {
				t.Fatal(err)
			}
			if m.Info() != tt.want || tt.settings.Provider() != tt.want.Provider {
				t.Errorf("got %+v of %q, want %+v", m.Info(), tt.settings.Provider(), tt.want)
			}
		})
	}
}

// The stack is another module, and the README no code at all: both can only be read.
func TestTheDefaultIsSpelledAlikeWhereItCanNotBeShared(t *testing.T) {
	t.Parallel()
	for file, pattern := range map[string]string{
		"../../../infra/stack/settings.go": `"model":\s+"([^"]*)"`,
		"../../../README.md":               "for example `(anthropic:[^`]*)`",
	} {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindSubmatch(body)
		if found == nil || string(found[1]) != provider.DefaultAnthropic {
			t.Errorf("%s has %q, the code %q: make them alike", file, found, provider.DefaultAnthropic)
		}
	}
}

func TestWrongSettingsEndInOneLineThatSaysWhatToSet(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		settings provider.Settings
		want     string
	}{
		{"nothing", provider.Settings{}, "set BOBBIN_MODEL, ANTHROPIC_API_KEY or OPENAI_API_KEY"},
		{"no name", provider.Settings{Choice: "anthropic"}, "BOBBIN_MODEL must be provider:name"},
		{"a name alone", provider.Settings{Choice: "claude-x"}, `it is "claude-x"`},
		{"no such provider", provider.Settings{Choice: "acme:x"}, `there is no provider "acme"`},
		{"no key for anthropic", provider.Settings{Choice: "anthropic:x", OpenAIKey: "k"}, "ANTHROPIC_API_KEY must be set"},
		{"no key for openai", provider.Settings{Choice: "openai:x", AnthropicKey: "k"}, "OPENAI_API_KEY must be set"},
		{"no address", provider.Settings{Choice: "ollama:x", URL: "me:pass-word@host"}, "BOBBIN_MODEL_URL must be an address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := provider.Open(tt.settings)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "pass-word") {
				t.Errorf("the error repeats the password: %v", err)
			}
		})
	}
}

func TestOllamasMostSuitableModelIsFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		models []string
		want   string
	}{
		{"one", []string{"llama3.2:latest"}, "ollama:llama3.2:latest"},
		{"the one that knows tools", []string{"gemma2:2b", "library/qwen3:8b", "mistral:7b"}, "ollama:library/qwen3:8b"},
		{"none that knows tools", []string{"nomic-embed-text:latest", "gemma2:2b"}, "ollama:gemma2:2b"},
		{"only embeddings", []string{"nomic-embed-text:latest", "all-minilm:22m", "bge-m3"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server, err := modeltest.NewServer(modeltest.Config{Ollama: tt.models})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			got := provider.Detect(t.Context(), provider.Settings{URL: server.OllamaURL() + "/v1/", HTTP: &http.Client{Transport: transport}})
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWithoutOllamaNothingIsFound(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // takes connections, answers none
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if got := provider.Detect(t.Context(), provider.Settings{URL: "http://" + listener.Addr().String()}); got != "" {
		t.Errorf("got %q", got)
	}
	listener.Close()
	if got := provider.Detect(t.Context(), provider.Settings{URL: "http://" + listener.Addr().String()}); got != "" {
		t.Errorf("got %q", got)
	}
}
