package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// DefaultBase is the address of Telegram's own Bot API server.
const DefaultBase = "https://api.telegram.org"

const (
	dialTimeout    = 10 * time.Second
	callTimeout    = 30 * time.Second // of a call that should answer at once
	maxAnswerBytes = 16 << 20         // 100 updates of long messages are about 4 MiB
	idleTimeout    = 30 * time.Second // shorter than the server's, so that a stale connection is rarely picked
	perHost        = 64               // connections kept open, for many chats at once
)

// Client calls the Bot API. It is safe for concurrent use and reuses its connections. Errors of its methods are an
// *APIError when the server answered with one, else about the network; none holds the token.
type Client struct {
	base  string
	token string
	bot   int64
	http  *http.Client
}

// NewClient makes a client for a bot; base "" is DefaultBase, another one is a Bot API server of the owner's. The error
// is ErrToken, or says what is wrong with base.
func NewClient(base, token string) (*Client, error) {
	bot, err := BotID(token)
	if err != nil {
		return nil, err
	}
	if base == "" {
		base = DefaultBase
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("the Telegram API's address must look like " + DefaultBase)
	}
	return &Client{base: strings.TrimRight(base, "/"), token: token, bot: bot, http: newHTTP()}, nil
}

// Bot is the bot's ID.
func (c *Client) Bot() int64 { return c.bot }

// newHTTP follows no redirect: the token is in the path, and would go wherever the answer says.
func newHTTP() *http.Client {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: perHost,
		IdleConnTimeout:     idleTimeout,
		TLSHandshakeTimeout: dialTimeout,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// answer is what every method returns.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// call runs one method and decodes its result into result, unless that is nil.
func (c *Client) call(ctx context.Context, timeout time.Duration, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", method, err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var sent atomic.Bool
	req, err := http.NewRequestWithContext(trace(ctx, &sent), http.MethodPost, c.address(method), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("calling Telegram's %s: %w", method, c.redact(err))
	}
	req.Header.Set("Content-Type", "application/json")
	status, data, err := c.exchange(req)
	if err != nil {
		return &transportError{method: method, sent: sent.Load(), err: c.redact(err)}
	}
	return c.decode(method, status, data, result)
}

func (c *Client) address(method string) string { return c.base + "/bot" + c.token + "/" + method }

// trace notes whether the request got as far as a connection: from then on the server may have seen it. The transport
// tries another connection only when it wrote nothing to the first.
func trace(ctx context.Context, sent *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { sent.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
}

func (c *Client) exchange(req *http.Request) (status int, body []byte, err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	return resp.StatusCode, body, err
}

func (c *Client) decode(method string, status int, data []byte, result any) error {
	var a answer
	err := json.Unmarshal(data, &a)
	success := status >= 200 && status < 300
	if !success || err == nil && !a.OK {
		return c.refusal(method, status, a)
	}
	if err == nil && result != nil {
		err = json.Unmarshal(a.Result, result)
	}
	if err != nil {
		return &transportError{method: method, sent: true, err: fmt.Errorf("decoding the answer: %w", err)}
	}
	return nil
}

// refusal makes an error of an answer that isn't a success; a proxy's may be no JSON at all, and has only its status.
func (c *Client) refusal(method string, status int, a answer) error {
	e := &APIError{
		Method:      method,
		Code:        a.Code,
		Description: strings.ReplaceAll(a.Description, c.token, "TOKEN"),
		RetryAfter:  time.Duration(a.Parameters.RetryAfter) * time.Second,
		MigrateTo:   a.Parameters.MigrateTo,
	}
	if e.Code == 0 {
		e.Code = status
	}
	if e.Description == "" {
		e.Description = http.StatusText(e.Code)
	}
	return e
}

// redact takes the address, which holds the token, out of an error of net/http. What is wrapped stays reachable unless
// it names the token itself.
func (c *Client) redact(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if text := err.Error(); strings.Contains(text, c.token) {
		return errors.New(strings.ReplaceAll(text, c.token, "TOKEN"))
	}
	return err
}
