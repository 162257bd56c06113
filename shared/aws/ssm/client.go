package ssm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/bobbin-agent/bobbin/shared/pause"
)

const (
	callWithin     = 5 * time.Second        // of each attempt; the Parameter Store answers within a tenth of one
	attempts       = 3                      // of one call, as the SDK makes them
	firstPause     = 100 * time.Millisecond // between the first two; doubled, and spread over that
	maxAnswerBytes = 64 << 10               // a parameter holds 8 KB at most
)

// client makes the one call that is needed of the Systems Manager, with the SDK's own credentials, signature and HTTP
// client. The SDK's client of the service sets up its more than hundred operations whenever a program starts: 2 ms, as
// much as the rest of a small function's start.
type client struct {
	cfg      aws.Config
	endpoint string
	http     aws.HTTPClient
	signer   *v4.Signer
}

func newClient(cfg aws.Config) *client {
	c := &client{cfg: cfg, endpoint: endpoint(cfg), http: cfg.HTTPClient, signer: v4.NewSigner()}
	if c.http == nil {
		c.http = awshttp.NewBuildableClient()
	}
	return c
}

// endpoint is where the region's Parameter Store is, unless everything goes to an emulator.
func endpoint(cfg aws.Config) string {
	if cfg.BaseEndpoint != nil {
		return *cfg.BaseEndpoint
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(cfg.Region, "cn-") {
		domain += ".cn"
	}
	return "https://ssm." + cfg.Region + "." + domain
}

// parameter reads one parameter, decrypted. The error wraps errMissing if there is none of that name.
func (c *client) parameter(ctx context.Context, name string) (string, error) {
	body, err := json.Marshal(struct {
		Name           string
		WithDecryption bool
	}{name, true})
	if err != nil {
		return "", err
	}
	for attempt := 1; ; attempt++ {
		value, err := c.call(ctx, body)
		if err == nil || attempt == attempts || !passing(err) || !pause.UpTo(ctx, firstPause<<(attempt-1)) {
			return value, err
		}
	}
}

func (c *client) call(ctx context.Context, body []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	req, err := c.request(ctx, body)
	if err != nil {
		return "", err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", refusal(resp.StatusCode, answer)
	}
	var out struct{ Parameter struct{ Value string } }
	if err := json.Unmarshal(answer, &out); err != nil {
		return "", fmt.Errorf("decoding the answer: %w", err)
	}
	return out.Parameter.Value, nil
}

// request is the signed request of GetParameter.
func (c *client) request(ctx context.Context, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if req.URL.Path == "" {
		req.URL.Path = "/"
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "AmazonSSM.GetParameter")
	credentials, err := c.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding the credentials: %w", err)
	}
	sum := sha256.Sum256(body)
	err = c.signer.SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), "ssm", c.cfg.Region, time.Now())
	return req, err
}

// refused is an answer that is no success.
type refused struct {
	status  int
	kind    string
	message string
}

func (e *refused) Error() string { return fmt.Sprintf("status %d: %s %s", e.status, e.kind, e.message) }

func (e *refused) Is(target error) bool { return target == errMissing && e.kind == "ParameterNotFound" }

func refusal(status int, answer []byte) error {
	var told struct {
		Type    string `json:"__type"` // may begin with a namespace and #
		Message string `json:"message"`
	}
	_ = json.Unmarshal(answer, &told) // a proxy's answer may be anything; then the status says all
	return &refused{status: status, kind: told.Type[strings.LastIndexByte(told.Type, '#')+1:], message: told.Message}
}

// passing reports whether asking again may help: the network, the server, or too many calls.
func passing(err error) bool {
	e, answered := errors.AsType[*refused](err)
	return !answered || e.status >= http.StatusInternalServerError || e.status == http.StatusTooManyRequests ||
		e.kind == "ThrottlingException"
}
