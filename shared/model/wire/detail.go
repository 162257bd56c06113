package wire

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// detail is what an error object says, in any of the vendors' shapes.
type detail struct {
	Type    string // overloaded_error, invalid_request_error …
	Code    string // context_length_exceeded, insufficient_quota, 503 …
	Message string
}

// words is the message, or what stands for it.
func (d detail) words() string {
	for _, w := range []string{d.Message, d.Code, d.Type} {
		if w != "" {
			return w
		}
	}
	return "an error without a message"
}

// parseDetail reads an error object: {"error":{…}} (Anthropic, OpenAI, llama.cpp), {"error":"…"} (Ollama), the bare
// object (older vLLM), or {"detail":"…"} and {"message":"…"} (gateways). Text that is none of them gives an empty
// detail.
func parseDetail(text []byte) detail {
	var outer map[string]json.RawMessage
	if json.Unmarshal(text, &outer) != nil {
		return detail{}
	}
	inner := outer["error"]
	if d := (detail{Message: asText(inner)}); d.Message != "" {
		return d
	}
	fields := outer
	if inner != nil {
		fields = nil
		if json.Unmarshal(inner, &fields) != nil {
			return detail{}
		}
	}
	d := detail{Type: asText(fields["type"]), Code: asText(fields["code"]), Message: asText(fields["message"])}
	if d.Message == "" {
		d.Message = asText(fields["detail"])
	}
	return d
}

// asText returns a JSON string's text or a number's digits, and "" for anything else.
func asText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// kind classifies an error by its own words; the second result is false where they say nothing that decides.
func (d detail) kind() (model.ErrorKind, bool) {
	if Overflow(d.Message) || d.Code == "context_length_exceeded" || d.Type == "exceed_context_size_error" {
		return model.ErrorOverflow, true
	}
	for _, w := range []string{d.Type, d.Code} {
		if kind, ok := kindOfWord[w]; ok {
			return kind, true
		}
	}
	return model.ErrorOther, false
}

// eventKind classifies an error that came without a status and whose words did not decide.
func (d detail) eventKind() model.ErrorKind {
	if status, err := strconv.Atoi(d.Code); err == nil && status >= 400 && status < 600 {
		return statusKind(status)
	}
	if d.Type == "invalid_request_error" {
		return model.ErrorOther
	}
	return model.ErrorTemporary
}

// kindOfWord says what the vendors' error types and codes mean. A bad request that the status alone would call
// temporary, such as an empty account's 429, is among them.
var kindOfWord = map[string]model.ErrorKind{
	"overloaded_error":        model.ErrorTemporary,
	"api_error":               model.ErrorTemporary,
	"rate_limit_error":        model.ErrorTemporary,
	"rate_limit_exceeded":     model.ErrorTemporary,
	"timeout_error":           model.ErrorTemporary,
	"server_error":            model.ErrorTemporary,
	"request_too_large":       model.ErrorOverflow,
	"authentication_error":    model.ErrorAuth,
	"permission_error":        model.ErrorAuth,
	"invalid_api_key":         model.ErrorAuth,
	"insufficient_quota":      model.ErrorOther,
	"billing_error":           model.ErrorOther,
	"billing_not_active":      model.ErrorOther,
	"billing_hard_limit_hit":  model.ErrorOther,
	"not_found_error":         model.ErrorName,
	"model_not_found":         model.ErrorName,
	"content_policy_violated": model.ErrorOther,
}

// overflowWords are how providers say that a request does not fit the model's context window, in lower case.
var overflowWords = []string{
	"prompt is too long",                // Anthropic
	"input length and `max_tokens`",     // Anthropic: … exceed context limit
	"exceed context limit",              // Anthropic
	"context_length_exceeded",           // OpenAI
	"maximum context length",            // OpenAI, vLLM, OpenRouter, DeepSeek
	"exceeds the context window",        // OpenAI
	"request too large for",             // OpenAI: one request above the whole rate limit
	"input is too long",                 // Bedrock
	"exceeds the available context",     // llama.cpp
	"context size has been exceeded",    // LM Studio
	"greater than the context length",   // LM Studio
	"context shift is disabled",         // llama.cpp
	"prompt too long",                   // Ollama
	"exceeded max context length",       // Ollama
	"longer than the model's context",   // SGLang
	"exceeds the maximum number of tok", // Gemini
	"maximum prompt length",             // xAI
	"reduce the length of the messages", // Groq
	"too large for model with",          // Mistral
	"exceeds the model's max",           // gateways
}

// Overflow reports whether a provider's words say that the request does not fit the context window.
func Overflow(words string) bool {
	words = strings.ToLower(words)
	for _, w := range overflowWords {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// statusKind classifies a status whose body said nothing that decides. A conflict (409) is temporary: the vendors
// answer with it when a lock was held.
func statusKind(status int) model.ErrorKind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.ErrorAuth
	case http.StatusNotFound:
		return model.ErrorName
	case http.StatusRequestEntityTooLarge:
		return model.ErrorOverflow
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return model.ErrorTemporary
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return model.ErrorOther
	}
	if status >= 500 {
		return model.ErrorTemporary
	}
	return model.ErrorOther
}
