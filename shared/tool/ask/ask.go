// Package ask is the tool that asks the owner a question, which ends the turn as waiting.
package ask

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// Longest bounds a question with its options, in characters: one message of a messenger.
const Longest = 4000

// Tool asks one question. The owner's next message to the session answers it.
func Tool() tool.Tool {
	return tool.Tool{
		Name: "ask_user",
		Description: "Asks the owner one question and ends your turn; the answer comes as their next message. Use it when " +
			"you cannot go on without knowing something that only the owner can tell you.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"question":{"type":"string","description":"what to ask, in the owner's language; Markdown"},` +
			`"options":{"type":"array","items":{"type":"string"},"description":"answers to choose from, if there are few"}` +
			`},"required":["question"],"additionalProperties":false}`),
		Limit: time.Second,
		Run:   run,
	}
}

func run(_ context.Context, c tool.Call) (tool.Result, error) {
	var in struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return tool.Failure("question must be a string, options a list of strings: " + err.Error()), nil //nolint:nilerr // for the model
	}
	question := strings.TrimSpace(in.Question)
	if question == "" {
		return tool.Failure("The question is empty; say in question what you want to know."), nil
	}
	text := question + list(in.Options)
	if utf8.RuneCountInString(text) > Longest {
		return tool.Failure("The question is too long; ask it in at most 4,000 characters, options included."), nil
	}
	return tool.Result{
		Text: "The owner has been asked, and your turn ends here. Their answer comes as their next message.",
		Ask:  &wait.Ask{Kind: wait.Question, Text: text},
	}, nil
}

// list writes options below a question, each on one line.
func list(options []string) string {
	var lines []string
	for _, o := range options {
		if o = strings.Join(strings.Fields(o), " "); o != "" {
			lines = append(lines, "- "+o)
		}
	}
	if lines == nil {
		return ""
	}
	return "\n\n" + strings.Join(lines, "\n")
}
