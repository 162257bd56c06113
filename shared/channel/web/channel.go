package web

import (
	"context"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/channel"
)

// Channel is how the engine sends to the page: not at all, since a message that is stored is delivered.
type Channel struct{}

// Render returns the Markdown as its one part: the page renders it. Text of nothing but space becomes an ellipsis.
func (Channel) Render(markdown string) []channel.Part {
	if strings.TrimSpace(markdown) == "" {
		markdown = "…"
	}
	return []channel.Part{{Plain: markdown}}
}

// Send does nothing and never fails; messages have no ID of this channel's.
func (Channel) Send(context.Context, channel.Route, channel.Part) (externalID string, err error) {
	return "", nil
}
