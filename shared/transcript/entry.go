// Package transcript keeps what a session remembers: append-only entries, saved as immutable parts that a small
// manifest lists.
//
// A checkpoint uploads only what is new, as one part, and the caller commits the manifest that lists it inside the
// turn's fenced write: that write is the one moment at which the checkpoint happens. Parts that no manifest lists are
// garbage, whatever crashed between upload and commit.
//
// Objects in blob storage:
//
//	session/<session>/<epoch>-<hash>    zstd of one JSON Entry a line; epoch in decimal, hash of the content
package transcript

import (
	"slices"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
)

// Kind says what an entry is.
type Kind string

// The kinds.
const (
	Owner     Kind = "owner"     // what the owner said, with the turn's context
	Assistant Kind = "assistant" // one answer of the model
	Results   Kind = "results"   // the results of the calls in the answer before
	Note      Kind = "note"      // what the model should know and nobody said
)

// Entry is one element of a transcript, never changed once written.
type Entry struct {
	Kind   Kind          `json:"k"`
	Turn   id.Turn       `json:"t"`
	Blocks []model.Block `json:"b"`
}

// Interrupted is the result of a call whose tool had been started and never answered; NotStarted of one whose had not.
const (
	Interrupted = "This action was interrupted. Its outcome is unknown; check before doing it again."
	NotStarted  = "This action was not started: the turn that asked for it ended before."
)

// Orphans returns the results that are missing after the last answer: one for each call that no entry answers; begun
// says that they had been started. A history with an unanswered call is refused by providers, for ever.
func Orphans(entries []Entry, begun bool) []model.Block {
	text := NotStarted
	if begun {
		text = Interrupted
	}
	last := len(entries) - 1
	for last >= 0 && entries[last].Kind != Assistant {
		if entries[last].Kind == Results {
			return nil
		}
		last--
	}
	if last < 0 {
		return nil
	}
	var missing []model.Block
	for _, b := range entries[last].Blocks {
		if b.Call != nil {
			missing = append(missing, model.Block{
				Result: &model.ToolResult{CallID: b.Call.ID, Text: text, IsError: true},
			})
		}
	}
	return missing
}

// Messages turns entries into what a model reads: the roles alternate, beginning with the user. Equal entries always
// give equal messages, and more entries leave the earlier messages as they were, but for the last one.
func Messages(entries []Entry) []model.Message {
	out := make([]model.Message, 0, len(entries))
	for _, e := range entries {
		role := model.User
		if e.Kind == Assistant {
			role = model.Assistant
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Blocks = append(slices.Clip(out[n-1].Blocks), e.Blocks...)
			continue
		}
		out = append(out, model.Message{Role: role, Blocks: e.Blocks})
	}
	return out
}
