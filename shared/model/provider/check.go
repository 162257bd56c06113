package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/anthropic"
	"github.com/bobbin-agent/bobbin/shared/model/openai"
	"github.com/bobbin-agent/bobbin/shared/model/wire"
)

// ErrSetting means that the provider has said that key or model can't be right.
var ErrSetting = errors.New("the model's settings are wrong")

// ErrUnreachable means that nothing answered. It may later: what was started together comes up in any order.
var ErrUnreachable = errors.New("does not answer yet")

// Check asks the chosen provider for the model, without using it. Its error is one line, and wraps ErrSetting and says
// what to set when the provider refuses the key or does not know the model, or wraps ErrUnreachable when no answer came
// before ctx's time was up. Whatever else the provider answers says nothing about the settings, and is nil, since many
// servers that speak a provider's protocol have no list of models; so is a ctx that was cancelled.
func Check(ctx context.Context, s Settings) error {
	provider, name, _ := strings.Cut(s.choice(), ":")
	base, key, variable := "", "", ""
	header := http.Header{}
	switch provider {
	case anthropic.Provider:
		base, key, variable = cmp.Or(s.URL, anthropic.DefaultBaseURL), s.AnthropicKey, "ANTHROPIC_API_KEY"
		base = strings.TrimRight(base, "/") + "/v1"
		header.Set("X-Api-Key", key)
		header.Set("Anthropic-Version", "2023-06-01")
	case openai.Provider:
		base, key, variable = cmp.Or(s.URL, openai.DefaultBaseURL), s.OpenAIKey, "OPENAI_API_KEY"
		header.Set("Authorization", "Bearer "+key)
	case Ollama:
		base = s.ollamaURL() + "/v1"
	default:
		return nil
	}
	client := wire.NewClient(provider, s.HTTP, base, key)
	err := ask(ctx, client, strings.TrimRight(base, "/")+"/models/"+url.PathEscape(name), header)
	refused, answered := errors.AsType[*model.Error](err)
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	if !answered {
		return fmt.Errorf("%s at %s %w: %s; until it does, messages will fail", provider, place(base), ErrUnreachable,
			cmp.Or(wire.Reason(err), "no response came"))
	}
	if refused.Message == http.StatusText(refused.Status) { // the latter is a page or nothing: no provider's words
		return nil
	}
	said := strings.Join(strings.Fields(refused.Message), " ")
	switch {
	case refused.Status == http.StatusUnauthorized && variable != "":
		return fmt.Errorf("%w: %s refuses the key (%s): set %s to a valid one", ErrSetting, provider, said, variable)
	case refused.Status == http.StatusNotFound && strings.Contains(said, name):
		return fmt.Errorf("%w: %s has no model %q (%s): set BOBBIN_MODEL to one that it has", ErrSetting, provider, name, said)
	}
	return nil
}

// place is an address without what may be secret in it.
func place(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "its address"
	}
	return u.Scheme + "://" + u.Host
}

// ask returns an error unless the provider takes the request: a *model.Error when it answers something against it, the
// network's when it does not answer.
func ask(ctx context.Context, client *wire.Client, address string, header http.Header) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header = header
	response, err := client.Send(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
