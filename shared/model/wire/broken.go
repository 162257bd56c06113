package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// brokeOff tells what came of a connection that was there.
const brokeOff = "the connection to the model broke off"

// lostError is an error of reading a response, as opposed to one of understanding it.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// Broken returns the error for a request that got no response, or whose response broke off: temporary, unless the
// address is wrong or the server's certificate does not fit. It tells the owner in plain words; what the network's own
// words were is in its Detail. A *model.Error stays; once ctx has ended, its error counts.
func (c *Client) Broken(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*model.Error](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, bufio.ErrTooLong) { // one event beyond what a reader of lines takes
		return c.tooLong()
	}
	kind := model.ErrorTemporary
	if permanent(err) {
		kind = model.ErrorOther
	}
	e := c.fail(kind, 0, brokenWords(err))
	e.Detail = c.clean(detailOf(err))
	return e
}

// permanent reports whether a transport error will come again however often the request is sent.
func permanent(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	return wrongScheme(err)
}

func wrongScheme(err error) bool {
	e, ok := errors.AsType[*url.Error](err)
	return ok && strings.Contains(e.Err.Error(), "unsupported protocol scheme")
}

// brokenWords tells the owner of a request that got no response or not all of it.
func brokenWords(err error) string {
	if errors.Is(err, errSilent) {
		return errSilent.Error()
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		if reason := Reason(err); reason != "" {
			return "the model can't be reached: " + reason
		}
		return brokeOff
	}
	_, lost := errors.AsType[lostError](err)
	if lost || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return brokeOff
	}
	return "the model's answer can't be read"
}

// Reason says in plain words why there was no connection to a server; "" when there was one, which then broke off.
func Reason(err error) string {
	if wrongScheme(err) {
		return "its address must begin with http:// or https://"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate is not valid"
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return "the name of its host is not known"
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "connection refused"
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return "no connection could be made"
	}
	return ""
}

// detailOf is an error's own text with the host it was for but without the rest of the address, which may hold secrets.
func detailOf(err error) string {
	e, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err.Error()
	}
	host := "the server"
	if u, parseErr := url.Parse(e.URL); parseErr == nil && u.Host != "" {
		host = u.Host
	}
	return "reaching " + host + ": " + e.Err.Error()
}
