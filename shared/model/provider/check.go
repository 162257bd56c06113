package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/anthropic"
	"github.com/bobbin-agent/bobbin/shared/model/openai"
)

// ErrSetting means that the provider has said that key or model can't be right.
var ErrSetting = errors.New("the model's settings are wrong")

// maxAnswer bounds what is read of a provider's answer to Check.
const maxAnswer = 64 << 10

// Check asks the chosen provider for the model, without using it, and returns an error that wraps ErrSetting, in one
// line that says what to set, when the provider refuses the key or does not know the model. Whatever else it answers,
// or that it does not, says nothing about the settings, and is nil: many servers that speak a provider's protocol have
// no list of models.
func Check(ctx context.Context, s Settings) error {
	provider, name, _ := strings.Cut(s.choice(), ":")
	base, variable := "", ""
	header := http.Header{}
	switch provider {
	case anthropic.Provider:
		base, variable = or(s.URL, "https://api.anthropic.com"), "ANTHROPIC_API_KEY"
		base = strings.TrimRight(base, "/") + "/v1"
		header.Set("X-Api-Key", s.AnthropicKey)
		header.Set("Anthropic-Version", "2023-06-01")
	case openai.Provider:
		base, variable = or(s.URL, "https://api.openai.com/v1"), "OPENAI_API_KEY"
		header.Set("Authorization", "Bearer "+s.OpenAIKey)
	case Ollama:
		base = s.ollamaURL() + "/v1"
	default:
		return nil
	}
	status, said := s.askFor(ctx, strings.TrimRight(base, "/")+"/models/"+url.PathEscape(name), header)
	switch {
	case said == "":
		return nil
	case status == http.StatusUnauthorized && variable != "":
		return fmt.Errorf("%w: %s refuses the key (%s): set %s to a valid one", ErrSetting, provider, said, variable)
	case status == http.StatusNotFound && strings.Contains(said, name):
		return fmt.Errorf("%w: %s has no model %q (%s): set BOBBIN_MODEL to one that it has", ErrSetting, provider, name, said)
	}
	return nil
}

// askFor returns the status and the provider's own words about an error, on one line; "" when it has none.
func (s Settings) askFor(ctx context.Context, address string, header http.Header) (int, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, ""
	}
	request.Header = header
	client := s.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer) != nil {
		return response.StatusCode, ""
	}
	return response.StatusCode, strings.Join(strings.Fields(model.Redact(answer.Error.Message, s.AnthropicKey, s.OpenAIKey)), " ")
}

func or(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}
