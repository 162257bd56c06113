package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// handler serves the site behind an HTTP API, whose events are whole requests and whole answers.
type handler struct{ site http.Handler }

func (h handler) handle(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	r, err := request(ctx, e)
	if err != nil {
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest}, nil //nolint:nilerr // the caller's fault
	}
	a := answer{header: http.Header{}, status: http.StatusOK}
	h.site.ServeHTTP(&a, r)
	return a.event(), nil
}

// request is the event as net/http has it.
func request(ctx context.Context, e events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return nil, fmt.Errorf("decoding the body: %w", err)
		}
	}
	u := url.URL{Path: e.RawPath, RawQuery: e.RawQueryString}
	if path, err := url.PathUnescape(e.RawPath); err == nil {
		u.Path, u.RawPath = path, e.RawPath
	}
	r, err := http.NewRequestWithContext(ctx, e.RequestContext.HTTP.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	for name, value := range e.Headers {
		r.Header.Set(name, value)
	}
	if len(e.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	r.Host = e.RequestContext.DomainName
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	r.RemoteAddr = e.RequestContext.HTTP.SourceIP
	return r, nil
}

// answer collects what the site writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
	begun  bool
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if !a.begun {
		a.status, a.begun = status, true
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.body.Write(b)
}

func (a *answer) event() events.APIGatewayV2HTTPResponse {
	out := events.APIGatewayV2HTTPResponse{
		StatusCode: a.status, Headers: map[string]string{}, Cookies: a.header.Values("Set-Cookie"),
	}
	for name, values := range a.header {
		if name != "Set-Cookie" {
			out.Headers[name] = strings.Join(values, ", ")
		}
	}
	if utf8.Valid(a.body.Bytes()) {
		out.Body = a.body.String()
	} else {
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(a.body.Bytes()), true
	}
	return out
}
