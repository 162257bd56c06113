// Package telegramtest is a Bot API server to test against, over real HTTP, that behaves as Telegram documents its own.
//
// Start serves one bot. Say and Push put updates in, which go out by getUpdates or to the webhook that was set, each
// until it is acknowledged; what the bot sends is checked as Telegram checks it, and recorded. Inject, Block and Options
// make it fail. The Wait methods return when something has happened. ParseHTML is the check of a message's markup, made
// apart from package telegram so that each can be held against the other.
//
// What differs from Telegram: a webhook's address may be plain HTTP, time can be made short, and there are only the
// methods that package telegram calls.
package telegramtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Token is the bot's token unless Options says otherwise; its ID is 123456789.
const Token = "123456789:AAtest-token_of-an-invented-bot0000"

// Options are a server's settings. The zero value is a patient server without limits.
type Options struct {
	// Address is where to listen; "" is a free port of 127.0.0.1.
	Address string
	// Token is the only token that is known; "" is the constant Token.
	Token string
	// Second is how long a second of the protocol lasts: in retries, in long polls. 0 is a real one.
	Second time.Duration
	// FirstUpdate is the first update_id; 0 is 100000001.
	FirstUpdate int64
	// ChatPerSecond is how many messages a chat bears in a second of the clock before it answers 429; 0 is any number.
	ChatPerSecond int
}

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	options  Options
	listener net.Listener
	http     *http.Server
	hooks    *http.Client
	life     func() context.Context // ends with the server
	stop     context.CancelFunc
	stopped  <-chan struct{}
	work     sync.WaitGroup

	mu          sync.Mutex
	chats       map[int64]*chat
	lanes       map[laneKey]*lane
	updates     []*update // not acknowledged, in the order of their arrival
	nextUpdate  int64
	nextMessage int64
	hook        *hook // nil: updates are polled
	allowed     []string
	poll        int // counts getUpdates calls; the newest one is alive
	arrived     bell
	calls       []Call
	attempts    []Attempt
	happened    bell // a call or an attempt was recorded
	faults      []*Fault
}

// Start starts a server. Close ends it.
func Start(o Options) (*Server, error) {
	o = o.withDefaults()
	listener, err := net.Listen("tcp", o.Address) //nolint:noctx // it doesn't block
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		options:     o,
		listener:    listener,
		hooks:       hookClient(),
		life:        func() context.Context { return ctx },
		stop:        stop,
		stopped:     ctx.Done(),
		chats:       map[int64]*chat{},
		lanes:       map[laneKey]*lane{},
		nextUpdate:  o.FirstUpdate,
		nextMessage: 1,
		allowed:     byDefault,
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	s.work.Go(func() { _ = s.http.Serve(listener) }) // it ends with Close, and has nothing else to say
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if o.Token == "" {
		o.Token = Token
	}
	if o.Second == 0 {
		o.Second = time.Second
	}
	if o.FirstUpdate == 0 {
		o.FirstUpdate = 100000001
	}
	return o
}

// URL is the server's address, a client's base.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close ends the server and all that it has under way, and returns when that has ended.
func (s *Server) Close() {
	s.mu.Lock()
	s.stop() // under the lock: no delivery starts any more
	s.mu.Unlock()
	_ = s.http.Close() // the listener is gone either way
	s.work.Wait()
	s.hooks.CloseIdleConnections()
}

// params are a method's parameters by name.
type params map[string]json.RawMessage

// value decodes a parameter; a missing or odd one is the zero value. A number may be written as a string.
func value[T any](p params, name string) T {
	var v, zero T
	raw := p[name]
	if json.Unmarshal(raw, &v) == nil {
		return v
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && json.Unmarshal([]byte(text), &v) == nil {
		return v
	}
	return zero
}

const maxRequestBytes = 1 << 20

// read takes parameters from a JSON body, a form or the query, as the Bot API does.
func read(r *http.Request) (params, error) {
	p := params{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxRequestBytes))
		if err != nil {
			return nil, err
		}
		return p, json.Unmarshal(body, &p)
	}
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	for name := range r.Form {
		text, err := json.Marshal(r.Form.Get(name))
		if err != nil {
			return nil, err
		}
		p[name] = text
	}
	return p, nil
}

// refusal is an answer that isn't ok.
type refusal struct {
	code        int
	description string
	retryAfter  int
}

func (r *refusal) Error() string { return r.description }

var tokenShape = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// ServeHTTP answers /bot<token>/<method>.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	switch {
	case !strings.HasPrefix(r.URL.Path, "/bot") || !tokenShape.MatchString(token):
		respond(w, nil, &refusal{code: 404, description: "Not Found"})
		return
	case token != s.options.Token:
		respond(w, nil, &refusal{code: 401, description: "Unauthorized"})
		return
	}
	p, err := read(r)
	if err != nil {
		respond(w, nil, &refusal{code: 400, description: "Bad Request: can't parse the request"})
		return
	}
	s.answer(w, r, method, p)
}

// answer runs a method, with the fault that waits for it, and records the call.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, method string, p params) {
	call := Call{Method: method, Chat: value[int64](p, "chat_id"), Params: p}
	f := s.fault(method, call.Chat)
	f.hold(r.Context(), s.stopped)
	if f.DropBefore {
		s.record(call)
		panic(http.ErrAbortHandler)
	}
	result, err := any(nil), f.refusal()
	if err == nil {
		result, err = s.run(r.Context(), method, p)
		call.Handled = err == nil
	}
	call.answered(err)
	if f.DropAfter {
		call.Code = 0
	}
	s.record(call)
	if f.DropAfter {
		panic(http.ErrAbortHandler)
	}
	respond(w, result, err)
}

func (c *Call) answered(err error) {
	c.Code = http.StatusOK
	if r, ok := errors.AsType[*refusal](err); ok {
		c.Code, c.Description = r.code, r.description
	}
}

func (s *Server) run(ctx context.Context, method string, p params) (any, error) {
	switch strings.ToLower(method) {
	case "getme":
		return s.me(), nil
	case "getupdates":
		return s.getUpdates(ctx, p)
	case "setwebhook":
		return s.setWebhook(p) //nolint:contextcheck // deliveries outlive the call that set the webhook
	case "deletewebhook":
		s.setHook(nil, value[bool](p, "drop_pending_updates")) //nolint:contextcheck // as above
		return true, nil
	case "sendmessage":
		return s.sendMessage(p)
	case "sendchataction":
		return s.sendChatAction(p)
	}
	return nil, &refusal{code: 404, description: "Not Found: method not found"}
}

func (s *Server) me() any {
	return map[string]any{
		"id": s.bot(), "is_bot": true, "first_name": "Bobbin", "username": "example_bot", "can_join_groups": false,
	}
}

// bot is the bot's ID, the number before the token's colon.
func (s *Server) bot() json.Number {
	id, _, _ := strings.Cut(s.options.Token, ":")
	return json.Number(id)
}

// respond writes the answer's envelope. A client that has gone doesn't matter.
func respond(w http.ResponseWriter, result any, err error) {
	body, code := map[string]any{"ok": true, "result": result}, http.StatusOK
	if r, ok := errors.AsType[*refusal](err); ok {
		code = r.code
		body = map[string]any{"ok": false, "error_code": r.code, "description": r.description}
		if r.retryAfter > 0 {
			body["parameters"] = map[string]any{"retry_after": r.retryAfter}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
