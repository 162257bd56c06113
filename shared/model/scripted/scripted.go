// Package scripted is a model without a language model: it obeys simple instructions in the owner's newest message, and
// otherwise answers in a friendly way from what was said before. Tests, demonstrations and people without a key use the
// same one. The same request always gives the same answer, with nothing sent anywhere.
//
// # Instructions
//
// One a line, in any case; they are carried out in order. A line that is none continues the say before it.
//
//	say TEXT                   answer exactly TEXT
//	repeat N TEXT              answer TEXT N times
//	think TEXT                 think TEXT before going on
//	wait DURATION              keep the request open for that long, such as 2s
//	pace DURATION              from here on wait that long after each word
//	call TOOL {JSON}           call the tool; several are called in one step
//	then                       what follows waits for the results of the calls before it
//	fail temporary [N times]   fail as a provider that is overloaded, each time or the first N times
//	fail overflow              fail as a request that is too long
//	fail auth                  fail as a wrong key
//	fail other MESSAGE         fail for good with MESSAGE
//
// When the results of a script's last calls are in, it answers with a line for each: the tool, an arrow, the result.
//
// Without instructions it knows help, recall and a few phrases (what did I say, my … is …, what is my …, remember …),
// and answers anything else by repeating it and saying what it is.
//
// What is obeyed is the last text of the last user message that has one; user messages that bring only results go on
// with it. Texts in square brackets and <quoted> ones are circumstances, not the owner's words.
package scripted

import (
	"context"
	"sync"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// Provider is the provider's name in model.Info.
const Provider = "scripted"

// Model is the scripted model. It is safe for concurrent use.
type Model struct {
	name string

	mu       sync.Mutex
	attempts map[string]int // of requests that are to fail a number of times, by their script and its step
}

// New returns a scripted model that calls itself name; Provider if empty.
func New(name string) *Model {
	if name == "" {
		name = Provider
	}
	return &Model{name: name}
}

// Info names the model.
func (m *Model) Info() model.Info { return model.Info{Provider: Provider, Name: m.name} }

// Stream does as model.Model says. Usage counts words: what is new in the request as Input, an estimate of what was
// there before as CacheRead.
func (m *Model) Stream(ctx context.Context, req model.Request, show func(model.Delta)) (model.Response, error) {
	if err := ctx.Err(); err != nil {
		return model.Response{}, err
	}
	at := locate(req.Messages)
	r := run{ctx: ctx, model: m, at: at, messages: req.Messages, show: show, limit: req.MaxTokens}
	if err := r.play(); err != nil {
		return model.Response{}, err
	}
	return r.response(), nil
}

// maxAttempts bounds how many failing requests are remembered; past it all are forgotten, and fail anew.
const maxAttempts = 1024

// attempt counts a request that is to fail, and returns how often it came, from 1.
func (m *Model) attempt(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.attempts == nil || len(m.attempts) >= maxAttempts && m.attempts[key] == 0 {
		m.attempts = make(map[string]int)
	}
	m.attempts[key]++
	return m.attempts[key]
}
