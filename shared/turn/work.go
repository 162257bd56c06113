package turn

import (
	"maps"
	"slices"

	"github.com/bobbin-agent/bobbin/shared/id"
)

// Work is what a turn has done and is doing, for whoever ends it in its worker's place.
type Work struct {
	Turn id.Turn        `json:"turn"`
	Done map[string]int `json:"done,omitempty"` // how many calls of each tool have answered
	Open []string       `json:"open,omitempty"` // the tools of the calls that have begun and not answered
}

// begin is the work once calls of these tools have begun.
func (w *Work) begin(tools []string) *Work {
	return &Work{Turn: w.Turn, Done: w.Done, Open: tools}
}

// end is the work once the open calls have answered.
func (w *Work) end() *Work {
	done := maps.Clone(w.Done)
	if done == nil && len(w.Open) > 0 {
		done = map[string]int{}
	}
	for _, tool := range w.Open {
		done[tool]++
	}
	return &Work{Turn: w.Turn, Done: done}
}

// of is the work if it is the turn's, else none.
func (w *Work) of(t id.Turn) Work {
	if w == nil || w.Turn != t {
		return Work{Turn: t}
	}
	return *w
}

// add sums up the work of two turns.
func (w Work) add(o Work) Work {
	sum := Work{Turn: w.Turn, Done: maps.Clone(w.Done), Open: slices.Concat(w.Open, o.Open)}
	if sum.Done == nil && len(o.Done) > 0 {
		sum.Done = map[string]int{}
	}
	for tool, n := range o.Done {
		sum.Done[tool] += n
	}
	return sum
}
