package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// openAIRequest is the part of a chat completions request that matters here.
type openAIRequest struct {
	Model           string          `json:"model"`
	Stream          bool            `json:"stream"`
	MaxTokens       int             `json:"max_tokens"`
	MaxCompletion   int             `json:"max_completion_tokens"`
	ReasoningEffort string          `json:"reasoning_effort"`
	Messages        []openAIMessage `json:"messages"`
	StreamOptions   struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type openAIMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// texts returns the content's parts; a string is one part.
func (m openAIMessage) texts() []string {
	blocks, _ := anthropicBlocks("", m.Content) // the same two forms as Anthropic's, with the same names
	var out []string
	for _, b := range blocks {
		if b.Text != "" {
			out = append(out, b.Text)
		}
	}
	return out
}

func decodeOpenAI(c Config, h http.Header, body []byte) (exchange, *problem) {
	if bad := openAIKey(c, h); bad != nil {
		return exchange{}, bad
	}
	var r openAIRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return exchange{}, invalid("We could not parse the JSON body of your request.")
	}
	switch {
	case r.Model == "":
		return exchange{}, invalid("you must provide a model parameter")
	case len(r.Messages) == 0:
		return exchange{}, invalid("Missing required parameter: 'messages'.")
	case !r.Stream:
		return exchange{}, invalid("Only streaming is served here.")
	case c.Unreasoned && len(r.Tools) > 0 && r.ReasoningEffort != "none":
		return exchange{}, invalid("Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. "+
			"To use function tools, use /v1/responses or set reasoning_effort to 'none'.", r.Model)
	}
	if bad := checkOpenAI(r.Messages); bad != nil {
		return exchange{}, bad
	}
	return r.exchange(c.Loose), nil
}

func openAIKey(c Config, h http.Header) *problem {
	key, bearer := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	switch {
	case c.Loose:
		return nil
	case !bearer || key == "":
		return &problem{
			status: http.StatusUnauthorized, kind: "invalid_request_error",
			message: "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth.",
		}
	case c.Key != "" && key != c.Key:
		return &problem{
			status: http.StatusUnauthorized, kind: "invalid_request_error", code: "invalid_api_key",
			message: "Incorrect API key provided: " + key + ".",
		}
	}
	return nil
}

// checkOpenAI asks that every call be answered right after its message, and nothing else.
func checkOpenAI(messages []openAIMessage) *problem {
	pending := map[string]bool{}
	for i, m := range messages {
		if m.Role == "tool" {
			if !pending[m.ToolCallID] {
				return invalid("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
			}
			delete(pending, m.ToolCallID)
			continue
		}
		if bad := unanswered(pending); bad != nil {
			return bad
		}
		switch m.Role {
		case "system", "developer", "user":
			if len(m.texts()) == 0 {
				return invalid("Invalid value for 'content': expected a string, got null. (messages[%d])", i)
			}
		case "assistant":
			if len(m.ToolCalls) == 0 && len(m.texts()) == 0 {
				return invalid("Invalid value for 'content': expected a string, got null. (messages[%d])", i)
			}
		default:
			return invalid("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'.", m.Role)
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || c.Type != "function" || !json.Valid([]byte(c.Function.Arguments)) {
				return invalid("Invalid 'messages[%d].tool_calls'.", i)
			}
			pending[c.ID] = true
		}
	}
	return unanswered(pending)
}

func unanswered(pending map[string]bool) *problem {
	for id := range pending {
		return invalid("An assistant message with 'tool_calls' must be followed by tool messages responding to each "+
			"'tool_call_id'. The following tool_call_ids did not have response messages: %s", id)
	}
	return nil
}

// exchange turns the request into ours; a tool's messages join the user message after them.
func (r openAIRequest) exchange(loose bool) exchange {
	out := exchange{model: r.Model, number: len(r.Messages), loose: loose, usage: r.StreamOptions.IncludeUsage}
	out.request.MaxTokens = max(r.MaxTokens, r.MaxCompletion)
	for _, t := range r.Tools {
		out.request.Tools = append(out.request.Tools, model.Tool{
			Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters,
		})
	}
	for _, m := range r.Messages {
		if m.Role == "system" || m.Role == "developer" {
			out.request.System += strings.Join(m.texts(), "\n")
			continue
		}
		out.add(m)
	}
	return out
}

func (e *exchange) add(m openAIMessage) {
	role, blocks := m.ours()
	if n := len(e.request.Messages); n > 0 && e.request.Messages[n-1].Role == role {
		last := &e.request.Messages[n-1]
		last.Blocks = append(last.Blocks, blocks...)
		return
	}
	e.request.Messages = append(e.request.Messages, model.Message{Role: role, Blocks: blocks})
}

func (m openAIMessage) ours() (model.Role, []model.Block) {
	if m.Role == "tool" {
		text := strings.Join(m.texts(), "")
		return model.User, []model.Block{{Result: &model.ToolResult{CallID: m.ToolCallID, Text: text}}}
	}
	var blocks []model.Block
	for _, t := range m.texts() {
		blocks = append(blocks, model.Block{Text: t})
	}
	for _, c := range m.ToolCalls {
		blocks = append(blocks, model.Block{Call: &model.ToolCall{
			ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments),
		}})
	}
	return model.Role(m.Role), blocks
}

// openAIError is an error object in OpenAI's words.
func openAIError(p problem) map[string]any {
	kind, code := p.kind, any(nil)
	if p.code != "" {
		code = p.code
	}
	switch {
	case p.overflow:
		code = "context_length_exceeded"
		p.message = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. " +
			"Please reduce the length of the messages."
	case p.status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case p.status >= http.StatusInternalServerError:
		kind, p.message = "server_error", "The server is currently overloaded. Please try again later."
	case p.status == http.StatusUnauthorized && p.kind == "authentication_error":
		kind, code, p.message = "invalid_request_error", "invalid_api_key", "Incorrect API key provided."
	}
	return map[string]any{"error": map[string]any{"message": p.message, "type": kind, "param": nil, "code": code}}
}

func refuseOpenAI(w http.ResponseWriter, p problem) {
	w.Header().Set("X-Request-Id", "req_modeltest")
	p.header(w)
	status := p.status
	if status == statusOverloaded {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, openAIError(p))
}

func openAIErrorEvent(p problem) []byte {
	return fmt.Appendf(nil, "data: %s\n\n", mustJSON(openAIError(p)))
}
