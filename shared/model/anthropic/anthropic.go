// Package anthropic speaks Anthropic's Messages API, streaming, through the official SDK.
//
// The SDK's own retries and its reading of the environment are off: one call of Stream is one HTTP request, and
// everything it needs comes in through Config. Prompt caching is on: the system prompt with the tools, and the two
// newest user messages, are marked, so that a step pays for what it adds.
package anthropic

import (
	"context"
	"io"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/wire"
)

// Provider is the provider's name in model.Info and in the thinking blocks that go back to it.
const Provider = "anthropic"

// DefaultBaseURL is where the API is.
const DefaultBaseURL = "https://api.anthropic.com"

// DefaultMaxTokens bounds an answer for which the request gives no bound; the API insists on one. Thinking counts
// too, so that it is far above what an answer to a person needs.
const DefaultMaxTokens = 32_000

// Config says which model to call and how.
type Config struct {
	Name    string       // as Anthropic spells it
	BaseURL string       // DefaultBaseURL if empty
	Key     string       // sent as x-api-key
	HTTP    *http.Client // http.DefaultClient if nil; its redirect policy is not used
}

// Model is one of Anthropic's models. It is safe for concurrent use.
type Model struct {
	name     string
	client   *wire.Client
	messages sdk.MessageService
}

// New returns the model that c names. It sends nothing.
func New(c Config) *Model {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	client := wire.NewClient(Provider, c.HTTP, c.BaseURL, c.Key)
	return &Model{name: c.Name, client: client, messages: sdk.NewMessageService(
		option.WithBaseURL(c.BaseURL),
		option.WithAPIKey(c.Key),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
	)}
}

// Info names the model.
func (m *Model) Info() model.Info { return model.Info{Provider: Provider, Name: m.name} }

// Stream does as model.Model says. An answer that is whole but empty counts as temporary: the same request usually gets
// a real one.
func (m *Model) Stream(ctx context.Context, req model.Request, show func(model.Delta)) (model.Response, error) {
	stream := m.messages.NewStreaming(ctx, m.params(req))
	defer stream.Close()
	a := answer{client: m.client, size: m.client.Size(), show: show}
	for !a.stopped && stream.Next() {
		if err := a.add(stream.Current()); err != nil {
			return model.Response{}, err
		}
	}
	if a.stopped { // the answer is whole, whatever became of the connection after it
		return a.response()
	}
	if err := m.streamError(ctx, stream.Err()); err != nil {
		return model.Response{}, err
	}
	return model.Response{}, m.client.Broken(ctx, io.ErrUnexpectedEOF)
}

// streamError makes the SDK's errors ours.
func (m *Model) streamError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if raw, ok := errorEvent(err); ok {
		return m.client.Event(raw)
	}
	return m.client.Broken(ctx, err)
}
