// Package openai speaks chat completions, streaming: to OpenAI itself and to whatever else speaks them (Ollama, vLLM,
// llama.cpp, LM Studio, gateways).
//
// The other servers are looser than OpenAI: they may leave out the usage, the tool calls' IDs and the role, send
// arguments in one piece, end without [DONE], and want no key. All of that is taken. What is asked of every one is a
// finish reason: an answer without it broke off.
//
// It does without OpenAI's SDK, whose chat completions pull in every other API of OpenAI: 17 MB in each binary and a
// minute of every first build, for one request and one kind of event.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

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
	info   model.Info
	client *wire.Client
	url    string
	key    string
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
	return &Model{
		info:   model.Info{Provider: c.Provider, Name: c.Name},
		client: wire.NewClient(c.Provider, c.HTTP, c.BaseURL, c.Key),
		url:    strings.TrimRight(c.BaseURL, "/") + "/chat/completions",
		key:    c.Key,
		modern: strings.HasPrefix(c.BaseURL, DefaultBaseURL),
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
	body, err := m.send(ctx, req)
	if err != nil {
		return model.Response{}, m.client.Broken(ctx, err)
	}
	defer body.Close()
	a := answer{client: m.client, show: show}
	err = a.read(body)
	if a.finish != "" { // the answer is whole, whatever became of the connection after it
		return a.response()
	}
	return model.Response{}, m.client.Broken(ctx, err)
}

// send returns the body of a successful response.
func (m *Model) send(ctx context.Context, req model.Request) (io.ReadCloser, error) {
	body, err := json.Marshal(m.request(req))
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if m.key != "" {
		r.Header.Set("Authorization", "Bearer "+m.key)
	}
	resp, err := m.client.Do(r)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
