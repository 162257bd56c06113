// Package wire holds what the vendors' HTTP APIs have in common: one careful HTTP client, how an error response is
// read, classified and cleared of keys, and what becomes of a tool call's arguments.
package wire

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxSilence is how long a server may send nothing while it is waited for, before its answer or within it; any byte ends
// a silence, such as that of a comment or a ping. It leaves time to a local server that loads its model or reads a long
// prompt without a word. It is no longer because a session can do nothing else meanwhile, and a server that hangs, or a
// connection that died unnoticed, looks the same.
const maxSilence = 120 * time.Second

// Client sends a provider's requests. It satisfies the HTTP client interfaces of the vendors' SDKs. It follows no
// redirect, so that a key never travels to another host.
type Client struct {
	provider string
	http     http.Client
	secrets  []string
}

// NewClient returns a Client that names provider in its errors, sends through base (nil: http.DefaultClient) and cuts
// key, and the password in baseURL if it has one, out of every error.
func NewClient(provider string, base *http.Client, baseURL, key string) *Client {
	if base == nil {
		base = http.DefaultClient
	}
	c := &Client{provider: provider, http: *base, secrets: []string{key}}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if u, err := url.Parse(baseURL); err == nil {
		if password, ok := u.User.Password(); ok {
			c.secrets = append(c.secrets, password)
		}
	}
	return c
}

// Do sends req and returns its successful response, a stream of events. Any other status or content, and a request that
// got no response, is a *model.Error; reading a body that falls silent fails.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.Send(req)
	if err != nil {
		return nil, c.Broken(req.Context(), err)
	}
	if kind, ok := otherKind(resp.Header); ok {
		defer resp.Body.Close()
		return nil, c.noStream(req.Context(), resp, kind)
	}
	return resp, nil
}

// Send is Do for what is not answered with a stream: any content will do. The error of a request that got no response
// is the network's own, which is not fit to be shown; Reason tells it.
func (c *Client) Send(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(maxSilence, func() { cancel(errSilent) })
	resp, err := c.http.Do(req.WithContext(ctx))
	timer.Stop()
	if err != nil {
		cancel(nil)
		return nil, causeOr(ctx, err)
	}
	resp.Body = &body{ReadCloser: resp.Body, ctx: ctx, timer: timer, cancel: cancel}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, c.refused(req.Context(), resp)
	}
	return resp, nil
}

var errSilent = fmt.Errorf("the server sent nothing for %v", maxSilence)

// causeOr prefers the reason why we cancelled a request over the error that the cancellation brought about.
func causeOr(ctx context.Context, err error) error {
	if context.Cause(ctx) == errSilent { //nolint:errorlint // identity: the cause is never wrapped
		return errSilent
	}
	return err
}

// body is a response's body that ends the request once it has been silent for too long.
type body struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // lives exactly as long as the request whose end it tells
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// Read is io.Reader's. Only the server's silence counts, not the time that our side takes between two reads.
func (b *body) Read(p []byte) (int, error) {
	b.timer.Reset(maxSilence)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil {
		return n, orEOF(b.ctx, err)
	}
	return n, nil
}

func orEOF(ctx context.Context, err error) error {
	if err == io.EOF { //nolint:errorlint // readers return io.EOF itself
		return err
	}
	return lostError{causeOr(ctx, err)}
}

func (b *body) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
