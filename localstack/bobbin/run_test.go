package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/model/provider"
)

func TestTheModelIsTheChosenOneElseThatOfTheKeysElseALocalOneElseScripted(t *testing.T) {
	t.Parallel()
	anthropic, openai := variables{"ANTHROPIC_API_KEY": "k"}, variables{"OPENAI_API_KEY": "k"}
	both := variables{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
	const ollama = "ollama:qwen3:8b"
	for name, c := range map[string]struct {
		settings config.Shared
		keys     variables
		ollama   string // what an Ollama on this machine has
		want     string
		note     string
	}{
		"chosen":                       {config.Shared{Model: "openai:gpt-x"}, both, ollama, "openai:gpt-x", ""},
		"chosen, elsewhere":            {config.Shared{Model: "openai:x", ModelURL: "http://h"}, nil, ollama, "openai:x", ""},
		"chosen, but malformed":        {config.Shared{Model: ":x"}, nil, ollama, ":x", ""}, // to be refused, not replaced
		"scripted because it was said": {config.Shared{Model: "scripted"}, both, ollama, "scripted", ""},
		"both keys":                    {config.Shared{}, both, ollama, provider.DefaultAnthropic, ""},
		"key of Anthropic":             {config.Shared{}, anthropic, ollama, provider.DefaultAnthropic, ""},
		"key of OpenAI":                {config.Shared{}, openai, ollama, provider.DefaultOpenAI, ""},
		"Ollama":                       {config.Shared{}, nil, ollama, ollama, ""},
		"nothing":                      {config.Shared{}, nil, "", provider.Scripted, noModel},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, note, err := chooseModel(t.Context(), c.settings, lookup(c.keys).Secrets(), found(c.ollama))
			if err != nil {
				t.Fatal(err)
			}
			if got.Choice != c.want || note != c.note || got.URL != c.settings.ModelURL {
				t.Errorf("got %+v with the note %q, want %s with %q", got, note, c.want, c.note)
			}
			if got.AnthropicKey != c.keys["ANTHROPIC_API_KEY"] || got.OpenAIKey != c.keys["OPENAI_API_KEY"] {
				t.Errorf("the keys are not those that are set: %+v", got)
			}
		})
	}
}

func TestAnAddressWithoutAModelIsRefused(t *testing.T) {
	t.Parallel()
	for _, keys := range []variables{nil, {"OPENAI_API_KEY": "k"}} {
		_, _, err := chooseModel(t.Context(), config.Shared{ModelURL: "http://h"}, lookup(keys).Secrets(), found(""))
		if err == nil {
			t.Errorf("with the keys %v it is taken", keys)
		}
	}
}

func TestAProviderThatDoesNotAnswerYetIsOneLineAndNoError(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, choice := range []string{"openai:m", "anthropic:m", "ollama:m"} {
		var warned strings.Builder
		err := checkModel(t.Context(), &warned, provider.Settings{Choice: choice, URL: closed.URL, AnthropicKey: modelKey, OpenAIKey: modelKey})
		line := warned.String()
		if err != nil || strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "bobbin: ") || !strings.Contains(line, closed.URL) {
			t.Errorf("%s: got %v and %q, want one line that names %s", choice, err, line, closed.URL)
		}
	}
}

func lookup(v variables) config.Lookup {
	return func(name string) (string, bool) {
		value, ok := v[name]
		return value, ok
	}
}

// found is a detector that finds this choice; "" for none.
func found(choice string) detector {
	return func(context.Context, provider.Settings) string { return choice }
}
