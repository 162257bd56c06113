package openai

import (
	"encoding/json"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// request is the body of a chat completions request. The order of its fields is the order of its bytes: what changes
// with each request comes last.
type request struct {
	Model               string        `json:"model"`
	Stream              bool          `json:"stream"`
	StreamOptions       streamOptions `json:"stream_options"`
	ReasoningEffort     string        `json:"reasoning_effort,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	Tools               []tool        `json:"tools,omitempty"` // OpenAI refuses an empty list
	Messages            []message     `json:"messages"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type tool struct {
	Type     string   `json:"type"` // function
	Function function `json:"function"`
}

// function describes a tool, or is a call of one.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Arguments   *string         `json:"arguments,omitempty"` // JSON in a string; in a call only
}

type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content,omitempty"` // a string or []part
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"` // of role tool
}

type part struct {
	Type string `json:"type"` // text
	Text string `json:"text"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"` // function
	Function function `json:"function"`
}

// request is req in the API's words. The same model.Request always gives the same bytes.
func (m *Model) request(req model.Request) request {
	r := request{
		Model:         m.info.Name,
		Stream:        true,
		StreamOptions: streamOptions{IncludeUsage: true},
		Tools:         tools(req.Tools),
		Messages:      messages(req),
	}
	if len(req.Tools) > 0 && m.unreasoned.Load() {
		r.ReasoningEffort = "none"
	}
	if m.modern {
		r.MaxCompletionTokens = req.MaxTokens
	} else {
		r.MaxTokens = req.MaxTokens
	}
	return r
}

func tools(in []model.Tool) []tool {
	out := make([]tool, 0, len(in))
	for _, t := range in {
		out = append(out, tool{Type: "function", Function: function{
			Name: t.Name, Description: t.Description, Parameters: t.Schema,
		}})
	}
	return out
}

func messages(req model.Request) []message {
	out := make([]message, 0, len(req.Messages)+1)
	if strings.TrimSpace(req.System) != "" {
		out = append(out, message{Role: "system", Content: req.System})
	}
	for _, m := range req.Messages {
		if m.Role == model.Assistant {
			out = appendAssistant(out, m.Blocks)
		} else {
			out = appendUser(out, m.Blocks)
		}
	}
	return out
}

// appendUser adds the results first, each a message of its own, as the API wants them right after their calls. One text
// is sent as a plain string, which every server takes; several as parts, which keeps them apart.
func appendUser(out []message, blocks []model.Block) []message {
	var texts []part
	for _, b := range blocks {
		switch {
		case b.Result != nil:
			out = append(out, message{Role: "tool", ToolCallID: b.Result.CallID, Content: resultText(b.Result)})
		case b.Text != "":
			texts = append(texts, part{Type: "text", Text: b.Text})
		}
	}
	switch len(texts) {
	case 0:
		return out
	case 1:
		return append(out, message{Role: "user", Content: texts[0].Text})
	}
	return append(out, message{Role: "user", Content: texts})
}

// resultText marks a failure in words, since the API has no field for it.
func resultText(r *model.ToolResult) string {
	if r.IsError {
		return "Error: " + r.Text
	}
	return r.Text
}

// appendAssistant adds what the model said and called; its thinking is not sent back, and a message of nothing else is
// left out.
func appendAssistant(out []message, blocks []model.Block) []message {
	var texts []string
	m := message{Role: "assistant"}
	for _, b := range blocks {
		switch {
		case b.Call != nil:
			m.ToolCalls = append(m.ToolCalls, callAgain(b.Call))
		case b.Text != "":
			texts = append(texts, b.Text)
		}
	}
	if len(texts) > 0 {
		m.Content = strings.Join(texts, "\n\n")
	}
	if m.Content == nil && m.ToolCalls == nil {
		return out
	}
	return append(out, m)
}

// callAgain tells the model what it called.
func callAgain(c *model.ToolCall) toolCall {
	arguments := string(c.Arguments)
	if arguments == "" {
		arguments = "{}"
	}
	return toolCall{ID: c.ID, Type: "function", Function: function{Name: c.Name, Arguments: &arguments}}
}
