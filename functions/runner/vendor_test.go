package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/modeltest"
	"github.com/bobbin-agent/bobbin/shared/model/provider"
	"github.com/bobbin-agent/bobbin/shared/secret/secrettest"
)

func newVendor(t *testing.T, c modeltest.Config, keys map[string]string) (*vendor, *secrettest.Fake, *modeltest.Server) {
	t.Helper()
	server, err := modeltest.NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	secrets := secrettest.NewFake(keys)
	settings := provider.Settings{Choice: "anthropic:claude-x", URL: server.AnthropicURL()}
	return &vendor{settings: settings, secrets: secrets, prefix: "/bobbin/main/"}, secrets, server
}

func request(t *testing.T, m model.Model) error {
	t.Helper()
	_, err := m.Stream(t.Context(), model.Request{
		Messages: []model.Message{{Role: model.User, Blocks: []model.Block{{Text: "say hi"}}}},
	}, nil)
	return err
}

func TestANewKeyCountsAtTheNextRequest(t *testing.T) {
	t.Parallel()
	v, secrets, server := newVendor(t, modeltest.Config{}, map[string]string{config.AnthropicKey: "sk-old-0001"})
	for _, key := range []string{"sk-old-0001", "sk-new-0002"} {
		secrets.Set(config.AnthropicKey, key)
		if err := request(t, v); err != nil {
			t.Fatal(err)
		}
		requests := server.Requests()
		if got := requests[len(requests)-1].Header.Get("X-Api-Key"); got != key {
			t.Errorf("asked with key %q, want %q", got, key)
		}
	}
	before := v.opened
	if err := request(t, v); err != nil || v.opened != before {
		t.Errorf("with the same key the model was made anew (error %v)", err)
	}
}

func TestWithoutAUsableKeyTheOwnerReadsWhichParameterToSet(t *testing.T) {
	t.Parallel()
	const parameter = "/bobbin/main/anthropic-api-key"
	for name, c := range map[string]struct {
		key   string
		spoil func(*vendor, *secrettest.Fake)
		kind  model.ErrorKind
		words string
	}{
		"missing": {"", nil, model.ErrorAuth, "set the parameter " + parameter},
		"refused": {"sk-wrong-0001", nil, model.ErrorAuth, "The key is the parameter " + parameter},
		"unreadable": {"sk-good-0001", func(_ *vendor, s *secrettest.Fake) {
			s.Refuse = func(string, int) bool { return true }
		}, model.ErrorTemporary, parameter},
		"no such provider": {"sk-good-0001", func(v *vendor, _ *secrettest.Fake) { v.settings.Choice = "acme:x" }, model.ErrorAuth, "deploy the stack again with one such as -c model="},
		"no choice":        {"sk-good-0001", func(v *vendor, _ *secrettest.Fake) { v.settings.Choice = "" }, model.ErrorAuth, "-c model="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, secrets, _ := newVendor(t, modeltest.Config{Key: "sk-good-0001"}, map[string]string{config.AnthropicKey: c.key})
			if c.spoil != nil {
				c.spoil(v, secrets)
			}
			err := request(t, v)
			told, ok := errors.AsType[*model.Error](err)
			if !ok || told.Kind != c.kind || !strings.Contains(told.Message, c.words) {
				t.Errorf("got %v, want kind %v and the words %q", err, c.kind, c.words)
			}
			if ok && (strings.Contains(told.Message, "_API_KEY") || strings.Contains(told.Message, "BOBBIN_MODEL")) {
				t.Errorf("who has deployed the stack knows no such variable: %v", err)
			}
		})
	}
}

func TestOneWhoSetsAMissingKeyNeedsNoRestart(t *testing.T) {
	t.Parallel()
	v, secrets, _ := newVendor(t, modeltest.Config{}, nil)
	if err := request(t, v); err == nil {
		t.Error("no error without a key")
	}
	secrets.Set(config.AnthropicKey, "sk-good-0001")
	if err := request(t, v); err != nil {
		t.Error(err)
	}
}

func TestAServerOfOnesOwnNeedsNoKey(t *testing.T) {
	t.Parallel()
	v, _, server := newVendor(t, modeltest.Config{Loose: true}, nil)
	v.settings = provider.Settings{Choice: "openai:any", URL: server.OpenAIURL()}
	if err := request(t, v); err != nil {
		t.Error(err)
	}
	if got := v.Info(); got != (model.Info{Provider: "openai", Name: "any"}) {
		t.Errorf("it says it is %+v", got)
	}
}
