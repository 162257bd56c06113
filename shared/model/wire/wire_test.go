package wire

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
)

const key = "sk-secret-0123456789"

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(status int, body string, header ...string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func send(t *testing.T, transport http.RoundTripper, url string) error {
	t.Helper()
	c := NewClient("fake", &http.Client{Transport: transport}, url, key)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func TestErrorResponsesAreClassified(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		kind   model.ErrorKind
		words  string
	}{
		{"Anthropic overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ErrorTemporary, "Overloaded"},
		{"Anthropic too long", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205351 tokens > 200000 maximum"}}`, model.ErrorOverflow, "205351"},
		{"Anthropic too many bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, model.ErrorOverflow, "maximum size"},
		{"Anthropic wrong key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, model.ErrorAuth, "invalid x-api-key"},
		{"Anthropic no credit", 400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, model.ErrorOther, "credit"},
		{"OpenAI rate limit", 429, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, model.ErrorTemporary, "Rate limit"},
		{"OpenAI quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, model.ErrorOther, "quota"},
		{"OpenAI too long by code", 400, `{"error":{"message":"Too long.","type":"invalid_request_error","code":"context_length_exceeded"}}`, model.ErrorOverflow, "Too long"},
		{"OpenAI no such model", 404, `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`, model.ErrorName, "does not exist"},
		{"vLLM too long", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","code":400}`, model.ErrorOverflow, "4096"},
		{"llama.cpp too long", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, model.ErrorOverflow, "available context"},
		{"llama.cpp loading", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, model.ErrorTemporary, "Loading model"},
		{"Ollama no such model", 404, `{"error":"model 'x' not found, try pulling it first"}`, model.ErrorName, "pulling"},
		{"Anthropic no such model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`, model.ErrorName, "claude-x"},
		{"a gateway without the model", 400, `{"error":{"message":"unknown model","code":"model_not_found"}}`, model.ErrorName, "unknown model"},
		{"nothing at the address", 404, "404 page not found", model.ErrorName, "page not found"},
		{"a gateway's detail", 422, `{"detail":"unprocessable"}`, model.ErrorOther, "unprocessable"},
		{"a gateway's page", 502, "<html><body>nginx</body></html>", model.ErrorTemporary, "Bad Gateway"},
		{"plain text", 500, "upstream\n gone", model.ErrorTemporary, "upstream gone"},
		{"nothing", 503, "", model.ErrorTemporary, "Service Unavailable"},
		{"a timeout", 408, "", model.ErrorTemporary, "Timeout"},
		{"a conflict", 409, "", model.ErrorTemporary, "Conflict"},
		{"forbidden", 403, "", model.ErrorAuth, "Forbidden"},
		{"not implemented", 501, "", model.ErrorOther, "Not Implemented"},
		{"an echo of the key", 400, `{"error":{"message":"Incorrect API key provided: ` + key + `"}}`, model.ErrorOther, "[redacted]"},
		{"not even UTF-8", 500, "\xff\xfe", model.ErrorTemporary, "\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := send(t, response(tt.status, tt.body), "http://fake.test/v1")
			e, ok := errors.AsType[*model.Error](err)
			if !ok {
				t.Fatalf("got %v, want a *model.Error", err)
			}
			if e.Kind != tt.kind || e.Status != tt.status || !strings.Contains(e.Message, tt.words) {
				t.Errorf("got %v, %q (%d), want %v with %q", e.Kind, e.Message, e.Status, tt.kind, tt.words)
			}
			if strings.Contains(err.Error(), key) {
				t.Errorf("the error holds the key: %v", err)
			}
		})
	}
}

func TestASuccessfulResponseThatIsNoStreamIsAnError(t *testing.T) {
	t.Parallel()
	const doubt = "is BOBBIN_MODEL_URL right?"
	for name, tt := range map[string]struct {
		kind, body string
		want       model.ErrorKind
		words      string
	}{
		"a gateway's rate limit":    {"application/json", `{"error":{"message":"Slow down","type":"rate_limit_error"}}`, model.ErrorTemporary, "Slow down"},
		"a gateway's error by code": {"application/json; charset=utf-8", `{"error":{"message":"no such key","code":401}}`, model.ErrorAuth, "no such key"},
		"an overflow":               {"application/json", `{"error":{"message":"prompt is too long"}}`, model.ErrorOverflow, "too long"},
		"a bad request":             {"application/json", `{"error":{"message":"bad tool","type":"invalid_request_error"}}`, model.ErrorOther, "bad tool"},
		"an error called a text":    {"text/plain", `{"error":"model 'x' is not there"}`, model.ErrorTemporary, "not there"},
		"a whole answer":            {"application/json", `{"id":"1","object":"chat.completion","choices":[]}`, model.ErrorOther, "(application/json): " + doubt},
		"Anthropic's whole answer":  {"application/json", `{"id":"1","type":"message","content":[]}`, model.ErrorOther, doubt},
		"a page":                    {"text/html; charset=utf-8", "<html>log in</html>", model.ErrorOther, "(text/html): " + doubt},
		"a page, loosely":           {"text/html; charset", "<html>", model.ErrorOther, "(text/html): " + doubt},
		"nothing":                   {"application/json", "", model.ErrorOther, doubt},
		"an echo of the key":        {"application/json", `{"error":{"message":"what is ` + key + `"}}`, model.ErrorTemporary, "[redacted]"},
	} {
		err := send(t, response(http.StatusOK, tt.body, "Content-Type", tt.kind, "Retry-After", "7"), "http://fake.test/v1")
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.Kind != tt.want || !strings.Contains(e.Message, tt.words) {
			t.Errorf("%s: got %v, want %v with %q", name, err, tt.want, tt.words)
		}
		if ok && e.Kind == model.ErrorTemporary && e.RetryAfter != 7*time.Second {
			t.Errorf("%s: the server's own wait is lost: %v", name, e.RetryAfter)
		}
	}
	for _, kind := range []string{"text/event-stream", "Text/Event-Stream; charset=utf-8", "text/event-stream;", ""} {
		header := []string{"Content-Type", kind}
		if kind == "" {
			header = nil
		}
		if err := send(t, response(http.StatusOK, "data: {}\n\n", header...), "http://fake.test/v1"); err != nil {
			t.Errorf("%q: got %v, want it taken for a stream", kind, err)
		}
	}
}

func TestLongWordsAreCut(t *testing.T) {
	t.Parallel()
	err := send(t, response(500, strings.Repeat("é", 5000)), "http://fake.test")
	e, _ := errors.AsType[*model.Error](err)
	if e == nil || len(e.Message) > maxMessage+len("…") || !strings.HasSuffix(e.Message, "é…") {
		t.Errorf("the message was not cut at a character: %d bytes", len(err.Error()))
	}
}

func TestTheOwnerReadsPlainWordsOfABrokenConnection(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8000}, Err: err}
	}
	reset := &net.OpError{
		Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 33030}, Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8000},
		Err: os.NewSyscallError("read", syscall.ECONNRESET),
	}
	fail := func(err error) roundTrip {
		return func(*http.Request) (*http.Response, error) { return nil, err }
	}
	half := func(err error) roundTrip {
		return func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(iotest.ErrReader(err)), Request: r}, nil
		}
	}
	const host = "fake-10.1.2.3.test"
	tests := []struct {
		name      string
		transport http.RoundTripper
		url       string
		kind      model.ErrorKind
		words     string
		detail    string
	}{
		{"refused", fail(dial(os.NewSyscallError("connect", syscall.ECONNREFUSED))), "https://me:hunter22@" + host + "/v1?key=" + key, model.ErrorTemporary, "the model can't be reached: connection refused", "reaching " + host + ": dial tcp 10.1.2.3:8000"},
		{"no such host", fail(dial(&net.DNSError{Err: "no such host", Name: host, Server: "10.1.2.3:53", IsNotFound: true})), "https://" + host, model.ErrorTemporary, "the model can't be reached: the name of its host is not known", "no such host"},
		{"no way there", fail(dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH))), "https://" + host, model.ErrorTemporary, "the model can't be reached: no connection could be made", "dial tcp 10.1.2.3"},
		{"reset before the answer", fail(reset), "https://" + host, model.ErrorTemporary, brokeOff, "10.1.2.3:33030->10.1.2.3:8000"},
		{"closed before the answer", fail(io.EOF), "https://" + host, model.ErrorTemporary, brokeOff, "EOF"},
		{"reset within the answer", half(reset), "https://" + host, model.ErrorTemporary, brokeOff, "10.1.2.3:33030->10.1.2.3:8000"},
		{"ended within the answer", half(io.ErrUnexpectedEOF), "https://" + host, model.ErrorTemporary, brokeOff, "EOF"},
		{"with the key in it", fail(errors.New("bad header " + key + " hunter22")), "https://me:hunter22@" + host, model.ErrorTemporary, brokeOff, "bad header [redacted] [redacted]"},
		{"wrong certificate", fail(&tls.CertificateVerificationError{Err: errors.New("not for " + host)}), "https://" + host, model.ErrorOther, "the model can't be reached: its certificate is not valid", "not for " + host},
		{"no protocol", http.DefaultTransport, "ftp://" + host, model.ErrorOther, "its address must begin with http", "unsupported protocol"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := readAll(t, tt.transport, tt.url, 0)
			e, ok := errors.AsType[*model.Error](err)
			if !ok || e.Kind != tt.kind || !strings.Contains(e.Message, tt.words) || !strings.Contains(e.Detail, tt.detail) {
				t.Fatalf("got %+v, want %v with %q and the detail %q", err, tt.kind, tt.words, tt.detail)
			}
			if strings.Contains(err.Error(), "10.1.2.3") {
				t.Errorf("the owner would read an address: %v", err)
			}
			for _, secret := range []string{key, "hunter22"} {
				if strings.Contains(err.Error()+e.Detail, secret) {
					t.Errorf("the error holds %q: %+v", secret, e)
				}
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the request went on to another host with key %q", r.Header.Get("X-Api-Key"))
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	err := send(t, server.Client().Transport, server.URL)
	e, _ := errors.AsType[*model.Error](err)
	if e == nil || e.Kind != model.ErrorOther || !strings.Contains(e.Message, "base URL") {
		t.Errorf("got %v, want a permanent error that doubts the base URL", err)
	}
}

// silence is a body that never brings anything until its request ends.
type silence struct{ ctx context.Context } //nolint:containedctx // stands in for the connection's end

func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// silent is a server that answers with this body; nil for no answer at all.
func silent(body func(context.Context) io.Reader) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		if body == nil {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body(r.Context())), Request: r}, nil
	}
}

// pinging is a body that brings a comment a little before the silence would be too long, some times, and then falls
// silent.
type pinging struct {
	silence
	left int
}

func (p *pinging) Read(b []byte) (int, error) {
	if p.left == 0 {
		return p.silence.Read(b)
	}
	p.left--
	time.Sleep(maxSilence - time.Second)
	return copy(b, ":\n"), nil
}

func TestSilentServerIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body func(context.Context) io.Reader
		slow time.Duration // what our side takes after each read
		want time.Duration
	}{
		"no answer":                {nil, 0, maxSilence},
		"an answer without a byte": {func(ctx context.Context) io.Reader { return silence{ctx} }, 0, maxSilence},
		"pings count as bytes": {
			func(ctx context.Context) io.Reader { return &pinging{silence{ctx}, 3} }, 0, 3*(maxSilence-time.Second) + maxSilence,
		},
		"our own time does not count": {
			func(ctx context.Context) io.Reader { return io.MultiReader(strings.NewReader("a"), silence{ctx}) },
			2 * maxSilence, 2*maxSilence + maxSilence,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				err := readAll(t, silent(tt.body), "http://fake.test", tt.slow)
				e, ok := errors.AsType[*model.Error](err)
				if !ok || e.Kind != model.ErrorTemporary || !strings.Contains(e.Message, "sent nothing") || time.Since(begin) != tt.want {
					t.Errorf("got %v after %v, want a temporary error after %v", err, time.Since(begin), tt.want)
				}
			})
		})
	}
}

// readAll sends a request and reads its response up to the error, slowly.
func readAll(t *testing.T, transport http.RoundTripper, url string, slow time.Duration) error {
	t.Helper()
	c := NewClient("fake", &http.Client{Transport: transport}, url, key)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for {
		if _, err = resp.Body.Read(make([]byte, 8)); err != nil {
			return c.Broken(t.Context(), err)
		}
		time.Sleep(slow)
	}
}

func TestErrorEventsAreTemporaryUnlessTheySayOtherwise(t *testing.T) {
	t.Parallel()
	c := NewClient("fake", nil, "", key)
	tests := map[string]model.ErrorKind{
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:       model.ErrorTemporary,
		`{"error":{"message":"The server had an error","type":"server_error","code":null}}`: model.ErrorTemporary,
		`{"error":{"message":"something new","code":500}}`:                                  model.ErrorTemporary,
		`not JSON`: model.ErrorTemporary,
		`{"error":{"message":"prompt is too long"}}`:                                          model.ErrorOverflow,
		`{"type":"error","error":{"type":"permission_error","message":"no"}}`:                 model.ErrorAuth,
		`{"type":"error","error":{"type":"invalid_request_error","message":"bad tool"}}`:      model.ErrorOther,
		`{"error":{"type":"insufficient_quota","message":"empty account","code":"whatever"}}`: model.ErrorOther,
	}
	for body, want := range tests {
		e, ok := errors.AsType[*model.Error](c.Event([]byte(body)))
		if !ok || e.Kind != want || e.Message == "" {
			t.Errorf("%s: got %v, want %v", body, e, want)
		}
	}
}

func TestRetryAfterIsReadInAllItsForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	tests := []struct {
		name, header, value string
		want                time.Duration
	}{
		{"seconds", "Retry-After", "12", 12 * time.Second},
		{"a fraction", "Retry-After", "0.5", 500 * time.Millisecond},
		{"milliseconds", "Retry-After-Ms", "250", 250 * time.Millisecond},
		{"a date", "Retry-After", "Wed, 04 Mar 2026 05:06:37 GMT", 30 * time.Second},
		{"a date that has passed", "Retry-After", "Wed, 04 Mar 2026 05:00:00 GMT", 0},
		{"below nothing", "Retry-After", "-3", 0},
		{"no number", "Retry-After", "NaN", 0},
		{"beyond all sense", "Retry-After", "1e300", 24 * time.Hour},
		{"words", "Retry-After", "soon", 0},
		{"none", "X-Other", "1", 0},
	}
	for _, tt := range tests {
		h := http.Header{}
		h.Set(tt.header, tt.value)
		if got := RetryAfter(h, now); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func FuzzArgumentsAreAlwaysAnObject(f *testing.F) {
	for _, s := range []string{"", "null", "{}", `{"a":1}`, " {\"a\":\n1} ", `{"a":1`, `[1]`, `"x"`, "{}{}", "\xff", "{\"a\":\"\xff\"}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Arguments(s)
		var object map[string]any
		if err := json.Unmarshal(got, &object); err != nil || object == nil {
			t.Errorf("%q became %q, which is no object", s, got)
		}
	})
}

func FuzzErrorBodiesAreAlwaysTold(f *testing.F) {
	for _, s := range []string{"", "{}", `{"error":null}`, `{"error":[]}`, `{"error":{"message":{}}}`, `{"error":1}`, "<html>"} {
		f.Add(s)
	}
	c := NewClient("fake", nil, "", key)
	f.Fuzz(func(t *testing.T, s string) {
		if c.Event([]byte(s)).Error() == "" {
			t.Errorf("%q became an error without words", s)
		}
	})
}
