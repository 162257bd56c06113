// Package tool is what the engine knows of tools, and the guard through which every call of one goes.
//
// A tool's failure is content for the model, which can try something else. A Go error means that the machinery broke.
package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// Tool is one thing that the model can do.
type Tool struct {
	Name        string
	Description string          // for the model
	Schema      json.RawMessage // JSON Schema of the arguments, an object
	Limit       time.Duration   // how long one call may take; 0 is DefaultLimit
	// Confirm, if set, says in Markdown what the owner is asked before a call is made; "" lets it be made at once. It only
	// reads the call, and has no effects.
	Confirm func(c Call) string
	// Run does it. The context ends with the turn and with the limit.
	Run func(ctx context.Context, c Call) (Result, error)
}

// DefaultLimit is how long a call may take when its tool says nothing else.
const DefaultLimit = time.Minute

// Call is one call of a tool.
type Call struct {
	// Key names the action among all: the same turn, step and call always give the same key. What has effects outside
	// passes it on, or looks whether it has been done.
	Key       string
	Turn      id.Turn
	Arguments json.RawMessage // a valid JSON object
}

// Result is what the model gets.
type Result struct {
	Text   string
	Failed bool // it did not do what was asked; Text says why
	// Ask, if set, is what the turn asks its owner: the turn ends as waiting once the results of its step are saved. A
	// tool that asks has done nothing else, because another call of the step may have asked first.
	Ask *wait.Ask
}

// Failure is a result that says what went wrong, in words that the model can act on.
func Failure(text string) Result { return Result{Text: text, Failed: true} }

// Describe lists the tools for a model's request.
func Describe(tools []Tool) []model.Tool {
	out := make([]model.Tool, len(tools))
	for i, t := range tools {
		out[i] = model.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema}
	}
	return out
}
