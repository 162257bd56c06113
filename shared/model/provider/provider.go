// Package provider opens the model that the owner chose, by its name: provider:name.
package provider

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/anthropic"
	"github.com/bobbin-agent/bobbin/shared/model/openai"
	"github.com/bobbin-agent/bobbin/shared/model/scripted"
)

// The models that a key alone stands for: of each vendor the one for everyday work with tools. OpenAI's is the
// strongest that takes tools in chat completions. Anthropic's is also the stack's default, which a test holds to it.
const (
	DefaultAnthropic = "anthropic:claude-sonnet-5-5"
	DefaultOpenAI    = "openai:gpt-6.1-terra"
	Scripted         = "scripted:scripted"
)

// Settings is all that choosing and opening a model takes.
type Settings struct {
	Choice       string // BOBBIN_MODEL: provider:name; empty leaves it to Default
	URL          string // BOBBIN_MODEL_URL: another address of the provider's protocol; empty is its own
	AnthropicKey string
	OpenAIKey    string       // not needed with a URL: other servers than OpenAI's may want none
	HTTP         *http.Client // http.DefaultClient if nil
}

// Default is the choice that the keys alone make: Anthropic's before OpenAI's; "" without any.
func (s Settings) Default() string {
	switch {
	case s.AnthropicKey != "":
		return DefaultAnthropic
	case s.OpenAIKey != "":
		return DefaultOpenAI
	}
	return ""
}

// Provider is the provider that will be asked: that of the choice or, without one, of Default. It is "" where neither
// says one; Open then says what is wrong. Whoever fetches keys one by one asks it which it needs.
func (s Settings) Provider() string {
	provider, _, _ := strings.Cut(s.choice(), ":")
	return provider
}

func (s Settings) choice() string {
	if choice := strings.TrimSpace(s.Choice); choice != "" {
		return choice
	}
	return s.Default()
}

var (
	errChoice = errors.New("BOBBIN_MODEL must be provider:name, e.g. " + DefaultAnthropic + ", " +
		DefaultOpenAI + ", ollama:llama3.2 or scripted")
	errNone = errors.New("no model is chosen: set BOBBIN_MODEL, ANTHROPIC_API_KEY or OPENAI_API_KEY, or " +
		"BOBBIN_MODEL=scripted to go without")
)

// Open returns the chosen model, without Retry. It sends nothing: a wrong key or name shows with the first request. Its
// errors are one line, and say what to set.
func Open(s Settings) (model.Model, error) {
	choice := s.choice()
	if choice == "" {
		return nil, errNone
	}
	provider, name, _ := strings.Cut(choice, ":")
	name = strings.TrimSpace(name)
	if provider == scripted.Provider {
		return scripted.New(name), nil
	}
	if name == "" {
		return nil, fmt.Errorf("%w; it is %q", errChoice, choice)
	}
	switch provider {
	case anthropic.Provider:
		return s.openAnthropic(name)
	case openai.Provider:
		return s.openOpenAI(name)
	case Ollama:
		return s.openOllama(name)
	}
	return nil, fmt.Errorf("%w; there is no provider %q", errChoice, provider)
}

func (s Settings) openAnthropic(name string) (model.Model, error) {
	if s.AnthropicKey == "" {
		return nil, fmt.Errorf("ANTHROPIC_API_KEY must be set for BOBBIN_MODEL=anthropic:%s", name)
	}
	if err := s.checkURL(anthropic.DefaultBaseURL); err != nil {
		return nil, err
	}
	key := strings.TrimSpace(s.AnthropicKey)
	return anthropic.New(anthropic.Config{Name: name, BaseURL: s.URL, Key: key, HTTP: s.HTTP}), nil
}

func (s Settings) openOpenAI(name string) (model.Model, error) {
	if s.OpenAIKey == "" && s.URL == "" {
		return nil, fmt.Errorf("OPENAI_API_KEY must be set for BOBBIN_MODEL=openai:%s, "+
			"or BOBBIN_MODEL_URL for a server that needs no key", name)
	}
	if err := s.checkURL("http://127.0.0.1:8000/v1"); err != nil {
		return nil, err
	}
	key := strings.TrimSpace(s.OpenAIKey)
	return openai.New(openai.Config{Name: name, BaseURL: s.URL, Key: key, HTTP: s.HTTP}), nil
}

func (s Settings) openOllama(name string) (model.Model, error) {
	if err := s.checkURL(ollamaURL); err != nil {
		return nil, err
	}
	return openai.New(openai.Config{Provider: Ollama, Name: name, BaseURL: s.ollamaURL() + "/v1", HTTP: s.HTTP}), nil
}

// checkURL takes an empty URL, which stands for the default. The error does not repeat the URL, which may hold a
// password.
func (s Settings) checkURL(example string) error {
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("BOBBIN_MODEL_URL must be an address such as %s", example)
	}
	return nil
}
