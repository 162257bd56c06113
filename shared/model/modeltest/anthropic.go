package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// anthropicRequest is the part of a Messages request that matters here.
type anthropicRequest struct {
	Model     string          `json:"model"`
	MaxTokens *int            `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
}

// anthropicBlock is a content block in either direction.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

func decodeAnthropic(c Config, h http.Header, body []byte) (exchange, *problem) {
	switch key := h.Get("X-Api-Key"); {
	case key == "":
		return exchange{}, &problem{status: http.StatusUnauthorized, kind: "authentication_error", message: "x-api-key header is required"}
	case c.Key != "" && key != c.Key:
		return exchange{}, &problem{status: http.StatusUnauthorized, kind: "authentication_error", message: "invalid x-api-key"}
	case h.Get("Anthropic-Version") == "":
		return exchange{}, invalid("anthropic-version: header is required")
	}
	var r anthropicRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return exchange{}, invalid("The request body is not valid JSON: %v", err)
	}
	switch {
	case r.Model == "":
		return exchange{}, invalid("model: Field required")
	case r.MaxTokens == nil:
		return exchange{}, invalid("max_tokens: Field required")
	case *r.MaxTokens < 1:
		return exchange{}, invalid("max_tokens: Input should be greater than or equal to 1")
	case len(r.Messages) == 0:
		return exchange{}, invalid("messages: at least one message is required")
	case !r.Stream:
		return exchange{}, invalid("stream: only streaming is served here")
	}
	return r.exchange()
}

func invalid(format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, kind: "invalid_request_error", message: fmt.Sprintf(format, args...)}
}

// exchange turns the request into ours and refuses what the vendor would.
func (r anthropicRequest) exchange() (exchange, *problem) {
	out := exchange{model: r.Model, number: len(r.Messages)}
	out.request.MaxTokens = *r.MaxTokens
	system, bad := anthropicBlocks("system", r.System)
	if bad != nil {
		return exchange{}, bad
	}
	for _, b := range system {
		out.request.System += b.Text
	}
	for i, t := range r.Tools {
		if !json.Valid(t.InputSchema) || !strings.HasPrefix(strings.TrimSpace(string(t.InputSchema)), "{") {
			return exchange{}, invalid("tools.%d.custom.input_schema: Input should be a valid dictionary", i)
		}
		out.request.Tools = append(out.request.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	check := anthropicCheck{seen: map[string]bool{}}
	for i, m := range r.Messages {
		blocks, bad := anthropicBlocks(fmt.Sprintf("messages.%d.content", i), m.Content)
		if bad == nil {
			bad = check.message(i, m.Role, blocks)
		}
		if bad != nil {
			return exchange{}, bad
		}
		out.request.Messages = append(out.request.Messages, ours(m.Role, blocks))
	}
	return out, check.end()
}

// anthropicBlocks reads content that is a string or a list of blocks.
func anthropicBlocks(where string, raw json.RawMessage) ([]anthropicBlock, *problem) {
	if len(raw) == 0 {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []anthropicBlock{{Type: "text", Text: text}}, nil
	}
	var blocks []anthropicBlock
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return nil, invalid("%s: Input should be a valid list", where)
	}
	return blocks, nil
}

// ours is a message in the words of package model.
func ours(role string, blocks []anthropicBlock) model.Message {
	m := model.Message{Role: model.Role(role)}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			m.Blocks = append(m.Blocks, model.Block{Text: b.Text})
		case "thinking":
			m.Blocks = append(m.Blocks, model.Block{Thinking: &model.Thinking{Text: b.Thinking, Signature: b.Signature}})
		case "tool_use":
			m.Blocks = append(m.Blocks, model.Block{Call: &model.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input}})
		case "tool_result":
			m.Blocks = append(m.Blocks, model.Block{Result: &model.ToolResult{
				CallID: b.ToolUseID, Text: resultText(b.Content), IsError: b.IsError,
			}})
		}
	}
	return m
}

func resultText(raw json.RawMessage) string {
	blocks, _ := anthropicBlocks("", raw)
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(block.Text)
	}
	return b.String()
}

// anthropicCheck refuses what the vendor refuses about a list of messages.
type anthropicCheck struct {
	role    string          // of the message before
	seen    map[string]bool // IDs of all calls
	pending map[string]bool // calls of the message before
}

func (c *anthropicCheck) message(i int, role string, blocks []anthropicBlock) *problem {
	switch {
	case role != "user" && role != "assistant":
		return invalid("messages.%d.role: Input should be 'user' or 'assistant'", i)
	case i == 0 && role != "user":
		return invalid("messages: first message must use the %q role", "user")
	case role == c.role:
		return invalid("messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", role)
	case len(blocks) == 0:
		return invalid("messages.%d: all messages must have non-empty content", i)
	}
	c.role = role
	if bad := c.results(i, blocks); bad != nil {
		return bad
	}
	for j, b := range blocks {
		if bad := c.block(i, j, role, b); bad != nil {
			return bad
		}
	}
	if last := blocks[len(blocks)-1].Type; last == "thinking" || last == "redacted_thinking" {
		return invalid("messages.%d: The final block in an assistant message cannot be `thinking`.", i)
	}
	return nil
}

// results asks of a message that it answers exactly the calls of the one before it, and first of all.
func (c *anthropicCheck) results(i int, blocks []anthropicBlock) *problem {
	first := true
	for j, b := range blocks {
		if b.Type != "tool_result" {
			first = false
			continue
		}
		if !c.pending[b.ToolUseID] {
			return invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each "+
				"`tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
		}
		if !first {
			return invalid("messages.%d: `tool_result` blocks must come before other content", i)
		}
		delete(c.pending, b.ToolUseID)
	}
	for id := range c.pending {
		return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each "+
			"`tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, id)
	}
	c.pending = map[string]bool{}
	return nil
}

func (c *anthropicCheck) block(i, j int, role string, b anthropicBlock) *problem {
	where := fmt.Sprintf("messages.%d.content.%d", i, j)
	switch {
	case b.Type == "text" && strings.TrimSpace(b.Text) == "":
		return invalid("%s: text content blocks must contain non-whitespace text", where)
	case b.Type == "tool_use" && role != "assistant", b.Type == "tool_result" && role != "user":
		return invalid("%s: `%s` blocks are not allowed in %s messages", where, b.Type, role)
	case b.Type == "thinking" && b.Signature != signature(b.Thinking):
		return invalid("%s: Invalid `signature` in `thinking` block", where)
	case b.Type != "tool_use":
		return nil
	case c.seen[b.ID]:
		return invalid("%s: `tool_use` ids must be unique", where)
	case strings.Trim(b.ID, idRunes) != "" || b.ID == "":
		return invalid("%s.id: String should match pattern '^[a-zA-Z0-9_-]+$'", where)
	case !strings.HasPrefix(strings.TrimSpace(string(b.Input)), "{"):
		return invalid("%s.input: Input should be a valid dictionary", where)
	}
	c.seen[b.ID], c.pending[b.ID] = true, true
	return nil
}

const idRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// end refuses an exchange in which it is not the model's turn.
func (c *anthropicCheck) end() *problem {
	if c.role == "assistant" {
		return invalid("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return nil
}
