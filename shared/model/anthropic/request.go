package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// params is the request in the API's words. The same model.Request always gives the same bytes.
func (m *Model) params(req model.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{
		Model:     m.name,
		MaxTokens: DefaultMaxTokens,
		Messages:  messages(req.Messages),
		Tools:     tools(req.Tools),
	}
	if req.MaxTokens > 0 {
		p.MaxTokens = int64(req.MaxTokens)
	}
	if strings.TrimSpace(req.System) != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	return p
}

func tools(in []model.Tool) []sdk.ToolUnionParam {
	out := make([]sdk.ToolUnionParam, 0, len(in))
	for _, t := range in {
		out = append(out, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
			Name:        t.Name,
			Description: sdk.String(t.Description),
			InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema),
		}})
	}
	return out
}

// messages makes the exchange one that the API accepts: no empty blocks, no foreign thinking, none at the end of a
// message, tool results first, and neighbours of one role, which the above may leave, as one message.
func messages(in []model.Message) []sdk.MessageParam {
	out := make([]sdk.MessageParam, 0, len(in))
	for _, m := range in {
		role, content := sdk.MessageParamRoleUser, userContent
		if m.Role == model.Assistant {
			role, content = sdk.MessageParamRoleAssistant, assistantContent
		}
		blocks := content(m.Blocks)
		switch {
		case len(blocks) == 0:
		case len(out) > 0 && out[len(out)-1].Role == role:
			last := &out[len(out)-1]
			last.Content = append(last.Content, blocks...)
		default:
			out = append(out, sdk.MessageParam{Role: role, Content: blocks})
		}
	}
	markCache(out)
	return out
}

func userContent(blocks []model.Block) []sdk.ContentBlockParamUnion {
	results := make([]sdk.ContentBlockParamUnion, 0, len(blocks))
	var texts []sdk.ContentBlockParamUnion
	for _, b := range blocks {
		switch {
		case b.Result != nil:
			results = append(results, result(b.Result))
		case strings.TrimSpace(b.Text) != "":
			texts = append(texts, sdk.NewTextBlock(b.Text))
		}
	}
	return append(results, texts...)
}

func result(r *model.ToolResult) sdk.ContentBlockParamUnion {
	p := &sdk.ToolResultBlockParam{ToolUseID: callID(r.CallID)}
	if strings.TrimSpace(r.Text) != "" { // without content it is a result all the same; an empty text is refused
		p.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: r.Text}}}
	}
	if r.IsError {
		p.IsError = sdk.Bool(true)
	}
	return sdk.ContentBlockParamUnion{OfToolResult: p}
}

func assistantContent(blocks []model.Block) []sdk.ContentBlockParamUnion {
	out := make([]sdk.ContentBlockParamUnion, 0, len(blocks))
	end := 0 // after the last block that is not thinking
	for _, b := range blocks {
		switch {
		case b.Call != nil:
			out = append(out, sdk.NewToolUseBlock(callID(b.Call.ID), input(b.Call.Arguments), b.Call.Name))
			end = len(out)
		case b.Thinking != nil:
			out = appendThinking(out, b.Thinking)
		case strings.TrimSpace(b.Text) != "":
			out = append(out, sdk.NewTextBlock(b.Text))
			end = len(out)
		}
	}
	return out[:end]
}

// appendThinking adds Anthropic's own thinking unchanged; without its signature the API would refuse it.
func appendThinking(out []sdk.ContentBlockParamUnion, t *model.Thinking) []sdk.ContentBlockParamUnion {
	switch {
	case t.Provider != Provider:
		return out
	case t.Redacted != "":
		return append(out, sdk.NewRedactedThinkingBlock(t.Redacted))
	case t.Signature != "":
		return append(out, sdk.NewThinkingBlock(t.Signature, t.Text))
	}
	return out
}

func input(arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		return json.RawMessage("{}")
	}
	return arguments
}

// callID spells the ID of a call so that the API takes it, since a conversation may have begun with another provider:
// letters, digits, _ and - only.
func callID(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
}

// markCache marks the last blocks of the two newest user messages: the older mark finds what the last step wrote, the
// newer one writes for the next.
func markCache(messages []sdk.MessageParam) {
	marks := 2
	for i := len(messages) - 1; i >= 0 && marks > 0; i-- {
		if messages[i].Role != sdk.MessageParamRoleUser {
			continue
		}
		last := messages[i].Content[len(messages[i].Content)-1]
		if c := last.GetCacheControl(); c != nil {
			*c = sdk.NewCacheControlEphemeralParam()
		}
		marks--
	}
}
