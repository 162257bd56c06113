// Package openai speaks OpenAI's chat completions, streaming, through the official SDK: to OpenAI itself and to
// whatever else speaks them (Ollama, vLLM, llama.cpp, LM Studio, gateways).
//
// The other servers are looser than OpenAI: they may leave out the usage, the tool calls' IDs and the role, send
// arguments in one piece, end without [DONE], and want no key. All of that is taken. What is asked of every one is a
// finish reason: an answer without it broke off.
//
// The SDK's own retries and its reading of the environment are off: everything comes in through Config. go.mod says why
// it is not the newest.
package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/wire"
)

// Provider is the name in model.Info unless Config says another.
const Provider = "openai"

// DefaultBaseURL is where OpenAI's API is.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says which model to call and how.
type Config struct {
	Provider string       // the name in model.Info and errors; Provider if empty
	Name     string       // as the server spells it
	BaseURL  string       // up to and without /chat/completions; DefaultBaseURL if empty
	Key      string       // sent as a bearer token; none is sent if empty
	HTTP     *http.Client // http.DefaultClient if nil; its redirect policy is not used
}

// Model is a model behind chat completions. It is safe for concurrent use.
type Model struct {
	info        model.Info
	client      *wire.Client
	completions sdk.ChatCompletionService
	// modern is set for OpenAI itself, whose newer models refuse max_tokens, the only name that all others know.
	modern bool
	// unreasoned is set once the server said that it takes tools only with reasoning_effort none.
	unreasoned atomic.Bool
}

// New returns the model that c names. It sends nothing.
func New(c Config) *Model {
	if c.Provider == "" {
		c.Provider = Provider
	}
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	client := wire.NewClient(c.Provider, c.HTTP, c.BaseURL, c.Key)
	options := []option.RequestOption{
		option.WithBaseURL(c.BaseURL),
		option.WithHTTPClient(loose{client}),
		option.WithMaxRetries(0),
	}
	if c.Key != "" {
		options = append(options, option.WithAPIKey(c.Key))
	}
	return &Model{
		info:        model.Info{Provider: c.Provider, Name: c.Name},
		client:      client,
		completions: sdk.NewChatCompletionService(options...),
		modern:      strings.HasPrefix(c.BaseURL, DefaultBaseURL),
	}
}

// Info names the model.
func (m *Model) Info() model.Info { return m.info }

// Stream does as model.Model says. An answer that is whole but empty counts as temporary: the same request usually gets
// a real one.
//
// OpenAI's models from GPT-5.6 on take tools in chat completions only without reasoning, and say so. That refusal comes
// before any work is done, so the request is sent once more without reasoning, and so is every later one.
func (m *Model) Stream(ctx context.Context, req model.Request, show func(model.Delta)) (model.Response, error) {
	resp, err := m.stream(ctx, req, show)
	if err != nil && len(req.Tools) > 0 && refusesReasoning(err) && !m.unreasoned.Swap(true) {
		return m.stream(ctx, req, show)
	}
	return resp, err
}

// refusesReasoning recognises the refusal by OpenAI's own words.
func refusesReasoning(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	return ok && e.Status == http.StatusBadRequest &&
		strings.Contains(e.Message, "reasoning_effort") && strings.Contains(e.Message, "'none'")
}

func (m *Model) stream(ctx context.Context, req model.Request, show func(model.Delta)) (model.Response, error) {
	stream := m.completions.NewStreaming(ctx, m.params(req))
	defer stream.Close()
	a := answer{client: m.client, size: m.client.Size(), show: show}
	for stream.Next() {
		if err := a.add(stream.Current()); err != nil {
			return model.Response{}, err
		}
	}
	if a.finish != "" { // the answer is whole, whatever became of the connection after it
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
	if e, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return m.client.Event(e.Event.Data)
	}
	return m.client.Broken(ctx, err)
}
