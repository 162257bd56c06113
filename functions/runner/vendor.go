package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/anthropic"
	"github.com/bobbin-agent/bobbin/shared/model/openai"
	"github.com/bobbin-agent/bobbin/shared/model/provider"
	"github.com/bobbin-agent/bobbin/shared/secret"
)

// vendor is the chosen model with the key that is in the Parameter Store now, which answers from memory for five
// minutes. Without a key, or with one that is refused, each request fails with words that name the parameter, so that
// the turn ends and its owner reads them.
type vendor struct {
	settings provider.Settings // without keys
	secrets  secret.Store
	prefix   string // of the secrets' parameters

	mu     sync.Mutex
	key    string
	opened model.Model // with that key; nil before the first request
}

// Info names the model as it was chosen.
func (v *vendor) Info() model.Info {
	_, name, _ := strings.Cut(v.settings.Choice, ":")
	return model.Info{Provider: v.settings.Provider(), Name: name}
}

// Stream does as model.Model says.
func (v *vendor) Stream(ctx context.Context, req model.Request, show func(model.Delta)) (model.Response, error) {
	m, err := v.open(ctx)
	if err != nil {
		return model.Response{}, err
	}
	answer, err := m.Stream(ctx, req, show)
	if refused, ok := errors.AsType[*model.Error](err); ok && refused.Kind == model.ErrorAuth && v.parameter() != "" {
		named := *refused
		named.Message += ". The key is the parameter " + v.parameter() + "; a new one counts within five minutes"
		return model.Response{}, &named
	}
	return answer, err
}

// open is the model with the present key, the same as before while that has not changed.
func (v *vendor) open(ctx context.Context) (model.Model, error) {
	key, err := v.readKey(ctx)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.opened != nil && v.key == key {
		return v.opened, nil
	}
	with := v.settings
	with.AnthropicKey, with.OpenAIKey = key, key // only the chosen provider's is looked at
	m, err := provider.Open(with)
	if err != nil {
		// The error's own words are for whoever sets variables; here the stack does.
		return nil, v.unusable(model.ErrorAuth, fmt.Sprintf(
			"the model %q can't be used: deploy the stack again with one such as -c model=%s", v.settings.Choice, provider.DefaultAnthropic))
	}
	v.key, v.opened = key, m
	return m, nil
}

// readKey reads the one key that the chosen provider takes, which is the one that the role may read; "" when it takes
// none. A server of one's own that speaks OpenAI's protocol may do without.
func (v *vendor) readKey(ctx context.Context) (string, error) {
	if v.parameter() == "" {
		return "", nil
	}
	key, err := v.secrets.Get(ctx, v.secret())
	switch {
	case err == nil:
		return key, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case !errors.Is(err, secret.ErrNotFound):
		return "", v.unusable(model.ErrorTemporary, fmt.Sprintf("the key, parameter %s, can't be read: %v", v.parameter(), err))
	case v.settings.Provider() == openai.Provider && v.settings.URL != "":
		return "", nil
	}
	return "", v.unusable(model.ErrorAuth,
		fmt.Sprintf("there is no key: set the parameter %s to one, as a SecureString", v.parameter()))
}

// secret is the name of the key's secret; "" when the provider takes none.
func (v *vendor) secret() string {
	switch v.settings.Provider() {
	case anthropic.Provider:
		return config.AnthropicKey
	case openai.Provider:
		return config.OpenAIKey
	}
	return ""
}

// parameter is the name of the key's parameter; "" when the provider takes none.
func (v *vendor) parameter() string {
	if v.secret() == "" {
		return ""
	}
	return v.prefix + v.secret()
}

func (v *vendor) unusable(kind model.ErrorKind, words string) error {
	return &model.Error{Provider: v.Info().Provider, Kind: kind, Message: words}
}
