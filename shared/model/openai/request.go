package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// params is the request in the API's words. The same model.Request always gives the same bytes.
func (m *Model) params(req model.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model:         m.info.Name,
		Messages:      messages(req),
		Tools:         tools(req.Tools),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if len(req.Tools) > 0 && m.unreasoned.Load() {
		p.ReasoningEffort = shared.ReasoningEffortNone
	}
	switch {
	case req.MaxTokens <= 0:
	case m.modern:
		p.MaxCompletionTokens = sdk.Int(int64(req.MaxTokens))
	default:
		p.MaxTokens = sdk.Int(int64(req.MaxTokens))
	}
	return p
}

// tools returns nil rather than an empty list, which OpenAI refuses.
func tools(in []model.Tool) []sdk.ChatCompletionToolUnionParam {
	var out []sdk.ChatCompletionToolUnionParam
	for _, t := range in {
		out = append(out, sdk.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](function{
			Name: t.Name, Description: t.Description, Parameters: t.Schema,
		})))
	}
	return out
}

// function is shared.FunctionDefinitionParam with the schema's own bytes.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

func messages(req model.Request) []sdk.ChatCompletionMessageParamUnion {
	out := make([]sdk.ChatCompletionMessageParamUnion, 0, len(req.Messages)+1)
	if strings.TrimSpace(req.System) != "" {
		out = append(out, sdk.SystemMessage(req.System))
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
func appendUser(
	out []sdk.ChatCompletionMessageParamUnion, blocks []model.Block,
) []sdk.ChatCompletionMessageParamUnion {
	var texts []sdk.ChatCompletionContentPartUnionParam
	for _, b := range blocks {
		switch {
		case b.Result != nil:
			out = append(out, sdk.ToolMessage(resultText(b.Result), b.Result.CallID))
		case b.Text != "":
			texts = append(texts, sdk.TextContentPart(b.Text))
		}
	}
	switch len(texts) {
	case 0:
		return out
	case 1:
		return append(out, sdk.UserMessage(texts[0].OfText.Text))
	}
	return append(out, sdk.UserMessage(texts))
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
func appendAssistant(
	out []sdk.ChatCompletionMessageParamUnion, blocks []model.Block,
) []sdk.ChatCompletionMessageParamUnion {
	var texts []string
	a := &sdk.ChatCompletionAssistantMessageParam{}
	for _, b := range blocks {
		switch {
		case b.Call != nil:
			a.ToolCalls = append(a.ToolCalls, toolCall(b.Call))
		case b.Text != "":
			texts = append(texts, b.Text)
		}
	}
	if len(texts) > 0 {
		a.Content.OfString = sdk.String(strings.Join(texts, "\n\n"))
	}
	if len(texts) == 0 && len(a.ToolCalls) == 0 {
		return out
	}
	return append(out, sdk.ChatCompletionMessageParamUnion{OfAssistant: a})
}

func toolCall(c *model.ToolCall) sdk.ChatCompletionMessageToolCallUnionParam {
	arguments := string(c.Arguments)
	if arguments == "" {
		arguments = "{}"
	}
	return sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
		ID:       c.ID,
		Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: arguments},
	}}
}
