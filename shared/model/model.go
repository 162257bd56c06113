// Package model is the seam to language models: one request in, one streamed answer out, errors classified.
//
// Implementations: model/anthropic, model/openai (anything that speaks its chat completions), and model/scripted, which
// obeys simple instructions in its input and serves tests, demonstrations and people without a key alike. Retry wraps
// any of them with the waits for temporary errors.
package model

import (
	"context"
	"encoding/json"
)

// Role says who speaks in a message.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one turn of the exchange with the model. Messages alternate: User first, then Assistant, and so on; every
// ToolCall of an Assistant message is answered by exactly one ToolResult in the User message after it.
type Message struct {
	Role   Role
	Blocks []Block // at least one
}

// Block is one piece of a message; exactly one of its fields is set.
type Block struct {
	Text     string      `json:"text,omitempty"`
	Thinking *Thinking   `json:"thinking,omitempty"` // Assistant only
	Call     *ToolCall   `json:"call,omitempty"`     // Assistant only
	Result   *ToolResult `json:"result,omitempty"`   // User only
}

// Thinking is reasoning that a provider wants back unchanged in later requests. Another provider's is left out.
type Thinking struct {
	Provider  string `json:"provider"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"` // opaque
	Redacted  string `json:"redacted,omitempty"`  // opaque; instead of Text
}

// ToolCall is the model's request to run a tool.
type ToolCall struct {
	ID        string          `json:"id"` // unique in its message
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // always a valid JSON object; what a model sent otherwise is under "_invalid"
}

// ToolResult answers a ToolCall.
type ToolResult struct {
	CallID  string `json:"call_id"`
	Text    string `json:"text"`
	IsError bool   `json:"is_error,omitempty"`
}

// Tool describes a tool to the model.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments; an object
}

// Request is one call of a model. Prefixes of System, Tools and Messages that were sent before are sent byte for byte
// again, so that a provider's prompt cache hits.
type Request struct {
	System    string
	Messages  []Message // not empty, ends with a User message
	Tools     []Tool
	MaxTokens int // of the answer; 0 leaves it to the provider's package
}

// StopReason says why the model ended its answer.
type StopReason string

// The reasons.
const (
	StopEnd     StopReason = "end"     // it was finished
	StopTools   StopReason = "tools"   // it wants its tool calls run
	StopLength  StopReason = "length"  // it ran into MaxTokens
	StopRefused StopReason = "refused" // the provider's safety system ended it
)

// Usage counts the tokens of one call as the provider reports them.
type Usage struct {
	Input      int `json:"input"` // without those of the cache
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
}

// Response is a whole answer.
type Response struct {
	Blocks []Block // text, thinking and calls in the order in which the model gave them; never empty
	Stop   StopReason
	Usage  Usage
}

// DeltaKind says what a Delta brings.
type DeltaKind uint8

// The kinds.
const (
	DeltaText     DeltaKind = iota + 1 // more text
	DeltaThinking                      // more reasoning
	DeltaRestart                       // forget all deltas of this call: the attempt failed and another begins
)

// Delta is a piece of an answer as it streams in. Deltas are for showing; only the Response counts.
type Delta struct {
	Kind DeltaKind
	Text string
}

// Info describes a model.
type Info struct {
	Provider string // anthropic, openai, scripted …
	Name     string // as the provider spells it
}

// Model is a language model.
type Model interface {
	Info() Info
	// Stream sends one request and returns the whole answer. Pieces are passed to show, which may be nil, as they
	// arrive, from one goroutine, none after Stream has returned. It makes one attempt. Errors are *Error, or the
	// context's; an answer that breaks off is an error, never a short Response.
	Stream(ctx context.Context, req Request, show func(Delta)) (Response, error)
}
