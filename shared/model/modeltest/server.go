// Package modeltest is the vendors' side of a conversation, for tests and for trying Bobbin out: a server over real
// HTTP that speaks Anthropic's Messages API and OpenAI's chat completions, streaming, and answers with the scripted
// model, so that its instructions drive tests from end to end.
//
// It holds to the vendors' documented behaviour: the order of events, headers, error bodies, and what they refuse
// (missing keys and versions, roles that do not alternate, tool calls without results and results without calls). Faults
// make single requests fail in the ways that networks and providers do.
//
//	POST /v1/messages           Anthropic
//	POST /v1/chat/completions   OpenAI
//	GET  /api/tags              Ollama's list of models, if Config.Ollama has any
package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/scripted"
)

// Config says how a Server behaves. The zero Config is a strict vendor on a free port.
type Config struct {
	// Addr is where to listen; a free port of 127.0.0.1 if empty.
	Addr string
	// Key is the only key that is taken; any but none if empty.
	Key string
	// Model answers; a scripted model of its own if nil.
	Model model.Model
	// Loose makes chat completions those of a small local server: no key is wanted, and chunks come without role, call
	// IDs, usage and [DONE], with each call's arguments in one piece.
	Loose bool
	// Unreasoned refuses tools in chat completions unless reasoning_effort is none, as OpenAI's newer models do.
	Unreasoned bool
	// Ollama names the models that Ollama's list has; without any there is no such list.
	Ollama []string
}

// Request is one request as it came in.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// Server is a fake vendor. Its methods may be called from any goroutine.
type Server struct {
	config Config
	model  model.Model
	addr   string
	http   *http.Server

	mu       sync.Mutex
	requests []Request
	arrived  chan struct{} // closed and replaced when a request arrives
	faults   []Fault
}

// NewServer starts a server; Close ends it. The error is that of listening.
func NewServer(c Config) (*Server, error) {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("listening for the fake model server: %w", err)
	}
	s := &Server{config: c, model: c.Model, addr: listener.Addr().String(), arrived: make(chan struct{})}
	if s.model == nil {
		s.model = scripted.New("")
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(listener) }() // returns when Close is called; nothing else can end it
	return s, nil
}

// AnthropicURL is the base URL for Anthropic's client.
func (s *Server) AnthropicURL() string { return "http://" + s.addr }

// OpenAIURL is the base URL for OpenAI's client and its like.
func (s *Server) OpenAIURL() string { return "http://" + s.addr + "/v1" }

// OllamaURL is the base URL of Ollama's own API.
func (s *Server) OllamaURL() string { return "http://" + s.addr }

// Close ends the server and breaks off what is under way.
func (s *Server) Close() error { return s.http.Close() }

// Requests returns the requests so far, in the order in which they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Wait returns the first n requests once they have come, or the error of ctx.
func (s *Server) Wait(ctx context.Context, n int) ([]Request, error) {
	for {
		s.mu.Lock()
		arrived, got := s.arrived, s.requests
		s.mu.Unlock()
		if len(got) >= n {
			return append([]Request(nil), got[:n]...), nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for request %d of %d: %w", len(got)+1, n, ctx.Err())
		case <-arrived:
		}
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/api/tags" && len(s.config.Ollama) > 0 {
		writeJSON(w, http.StatusOK, tags(s.config.Ollama))
		return
	}
	v, ok := vendors[r.URL.Path]
	if !ok || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 32<<20))
	if err != nil {
		return
	}
	fault := s.record(Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body})
	if !fault.hold(r.Context()) {
		return
	}
	if fault.Kind == FaultStatus {
		v.refuse(w, fault.problem())
		return
	}
	call, refused := v.decode(s.config, r.Header, body)
	if refused != nil {
		v.refuse(w, *refused)
		return
	}
	s.answer(w, r, v, call, fault)
}

// record notes a request and takes the fault that is meant for it.
func (s *Server) record(r Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	close(s.arrived)
	s.arrived = make(chan struct{})
	if len(s.faults) == 0 {
		return Fault{}
	}
	f := s.faults[0]
	s.faults = s.faults[1:]
	return f
}

// answer streams the model's answer in the vendor's words.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, v vendor, c exchange, f Fault) {
	out := &stream{w: w, fault: f, vendor: v}
	voice := v.voice(out, c)
	resp, err := s.model.Stream(r.Context(), c.request, voice.delta)
	switch {
	case err == nil:
		voice.finish(resp)
	case r.Context().Err() != nil: // the client has gone
		return
	case out.begun:
		out.fail(problemOf(err))
	default:
		v.refuse(w, problemOf(err))
	}
	if out.broken {
		panic(http.ErrAbortHandler) // net/http's way to drop the connection
	}
}

// exchange is a request that was found good.
type exchange struct {
	request model.Request
	model   string // as the client named it
	loose   bool
	usage   bool // the client wants the usage in the stream
	number  int  // of messages, to make IDs from
}

// vendor is how one of them speaks.
type vendor struct {
	decode func(Config, http.Header, []byte) (exchange, *problem)
	refuse func(http.ResponseWriter, problem)
	event  func(problem) []byte // the error as an event inside a stream
	voice  func(*stream, exchange) voice
}

// voice turns an answer into events.
type voice interface {
	delta(model.Delta)
	finish(model.Response)
}

var vendors = map[string]vendor{
	"/v1/messages":         {decode: decodeAnthropic, refuse: refuseAnthropic, event: anthropicErrorEvent, voice: newAnthropicVoice},
	"/v1/chat/completions": {decode: decodeOpenAI, refuse: refuseOpenAI, event: openAIErrorEvent, voice: newOpenAIVoice},
}

// problemOf tells the scripted model's failures as a vendor would.
func problemOf(err error) problem {
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return problem{status: http.StatusInternalServerError, kind: "api_error", message: err.Error()}
	}
	switch e.Kind {
	case model.ErrorTemporary:
		return problem{status: statusOverloaded, kind: "overloaded_error", message: "Overloaded"}
	case model.ErrorOverflow:
		return problem{
			status: http.StatusBadRequest, kind: "invalid_request_error", overflow: true,
			message: "prompt is too long: 210000 tokens > 200000 maximum",
		}
	case model.ErrorAuth:
		return problem{status: http.StatusUnauthorized, kind: "authentication_error", message: "invalid x-api-key"}
	case model.ErrorName, model.ErrorOther: // the scripted model knows every name
	}
	return problem{status: http.StatusBadRequest, kind: "invalid_request_error", message: e.Message}
}

func tags(names []string) map[string]any {
	models := make([]map[string]any, 0, len(names))
	for _, n := range names {
		models = append(models, map[string]any{"name": n, "model": n})
	}
	return map[string]any{"models": models}
}
