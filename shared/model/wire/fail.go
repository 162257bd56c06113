package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// maxMessage bounds a provider's words in an error, in bytes; a proxy may answer with a whole page.
const maxMessage = 2000

// maxError bounds what is read of a response that is no answer, in bytes.
const maxError = 64 << 10

// Temporary returns an error that the same request may not meet again.
func (c *Client) Temporary(words string) error {
	return c.fail(model.ErrorTemporary, 0, words)
}

// Event returns the error for an error object that came inside a successful stream: {"error":{"type","code","message"}}
// or its parts. It is temporary unless its own words say otherwise.
func (c *Client) Event(data []byte) error {
	return c.event(parseDetail(data))
}

func (c *Client) event(d detail) *model.Error {
	kind, known := d.kind()
	if !known {
		kind = d.eventKind()
	}
	return c.fail(kind, 0, d.words())
}

// streamType is the media type of a stream of events.
const streamType = "text/event-stream"

// otherKind returns the media type of a response that says to be something else than a stream of events. A few servers
// say nothing.
func otherKind(h http.Header) (string, bool) {
	said := h.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(said)
	if err != nil && kind == "" {
		kind, _, _ = strings.Cut(said, ";")
	}
	return kind, said != "" && kind != streamType
}

// noStream reads a successful response that is no stream: a gateway's error object, which counts like an error event,
// or something that no model sends, such as the page of a proxy that wants a login.
func (c *Client) noStream(ctx context.Context, resp *http.Response, kind string) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return c.Broken(ctx, err)
	}
	if d := parseDetail(text); d.Message != "" || d.Code != "" {
		e := c.event(d)
		e.RetryAfter = RetryAfter(resp.Header, time.Now())
		return e
	}
	return c.fail(model.ErrorOther, 0, fmt.Sprintf("the server did not answer with a stream (%s): is BOBBIN_MODEL_URL right?", kind))
}

// refused reads a response whose status says that it is none.
func (c *Client) refused(ctx context.Context, resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	d := parseDetail(text)
	if d.Message == "" {
		d.Message = plainWords(resp, text)
	}
	kind, known := d.kind()
	if !known {
		kind = statusKind(resp.StatusCode)
	}
	e := c.fail(kind, resp.StatusCode, d.words())
	e.RetryAfter = RetryAfter(resp.Header, time.Now())
	return e
}

// plainWords tells a response that holds no error object.
func plainWords(resp *http.Response, text []byte) string {
	if location := resp.Header.Get("Location"); location != "" {
		return "the server answered with a redirect, which is not followed: the base URL is probably wrong"
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	if words == "" || strings.HasPrefix(words, "<") {
		return http.StatusText(resp.StatusCode)
	}
	return words
}

func (c *Client) fail(kind model.ErrorKind, status int, words string) *model.Error {
	return &model.Error{Provider: c.provider, Kind: kind, Status: status, Message: c.clean(words)}
}

// clean cuts keys out of words, and what is beyond their bound.
func (c *Client) clean(words string) string {
	words = model.Redact(strings.ToValidUTF8(words, "\uFFFD"), c.secrets...)
	if len(words) > maxMessage {
		words = strings.ToValidUTF8(words[:maxMessage], "") + "…"
	}
	return words
}

// RetryAfter reads how long a server asks to wait: retry-after-ms, or Retry-After in seconds or as a date; 0 if it does
// not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return span(ms, time.Millisecond)
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return span(s, time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// span is n units, none for what is not a sensible number and a day at most.
func span(n float64, unit time.Duration) time.Duration {
	const most = float64(24 * time.Hour)
	if !(n > 0) { // NaN too
		return 0
	}
	return time.Duration(min(n*float64(unit), most))
}

// Arguments makes a tool call's arguments a valid JSON object: none become {}, and what is no object stays for the
// model to see, as a string under "_invalid".
func Arguments(raw string) json.RawMessage {
	raw = strings.TrimSpace(raw)
	if raw == "" || raw == "null" {
		return json.RawMessage("{}")
	}
	if raw[0] == '{' && json.Valid([]byte(raw)) {
		return json.RawMessage(strings.ToValidUTF8(raw, "\uFFFD"))
	}
	wrapped, _ := json.Marshal(map[string]string{"_invalid": raw}) // strings always marshal
	return wrapped
}
