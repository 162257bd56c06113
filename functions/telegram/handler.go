package main

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/secret"
)

// handler answers the calls that the HTTP API passes on.
type handler struct {
	secrets  secret.Store
	receiver telegram.Receiver
	log      *slog.Logger
}

func (h handler) handle(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	status, err := h.receive(ctx, e)
	if err != nil {
		h.log.LogAttrs(ctx, slog.LevelWarn, "answering a webhook", slog.Int("status", status), slog.Any("error", err))
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: status}, nil
}

func (h handler) receive(ctx context.Context, e events.APIGatewayV2HTTPRequest) (int, error) {
	body, err := body(e)
	if err != nil {
		return http.StatusBadRequest, err
	}
	expected, err := h.secrets.Get(ctx, config.TelegramSecret)
	if err != nil {
		return http.StatusInternalServerError, err
	}
	// The HTTP API passes header names on in lower case.
	given := e.Headers[strings.ToLower(telegram.SecretHeader)]
	return telegram.Webhook{Secret: expected, Receiver: h.receiver}.Handle(ctx, time.Now(), given, body)
}

// body is the request's body as it was sent: the HTTP API encodes what it does not take for text.
func body(e events.APIGatewayV2HTTPRequest) ([]byte, error) {
	if e.IsBase64Encoded {
		return base64.StdEncoding.DecodeString(e.Body)
	}
	return []byte(e.Body), nil
}
