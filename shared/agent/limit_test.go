package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// step is an answer of turn u that asks for calls, each a name and its arguments with a space between, and its results.
func step(calls ...string) []transcript.Entry {
	answer := transcript.Entry{Kind: transcript.Assistant, Turn: "u", Blocks: []model.Block{{Text: "Let me see."}}}
	results := transcript.Entry{Kind: transcript.Results, Turn: "u"}
	for _, c := range calls {
		name, arguments, _ := strings.Cut(c, " ")
		answer.Blocks = append(answer.Blocks, model.Block{Call: &model.ToolCall{Name: name, Arguments: json.RawMessage(arguments)}})
		results.Blocks = append(results.Blocks, model.Block{Result: &model.ToolResult{Text: "ok"}})
	}
	return []transcript.Entry{answer, results}
}

func of(t id.Turn, entries []transcript.Entry) []transcript.Entry {
	for i := range entries {
		entries[i].Turn = t
	}
	return entries
}

func join(parts ...[]transcript.Entry) (all []transcript.Entry) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestRepeatedCountsTheLastStepsThatAskForTheSame(t *testing.T) {
	t.Parallel()
	said := []transcript.Entry{{Kind: transcript.Owner, Turn: "u", Blocks: []model.Block{{Text: "And now?"}}}}
	for name, tc := range map[string]struct {
		entries []transcript.Entry
		want    int
	}{
		"nothing yet":            {nil, 0},
		"no step yet":            {said, 0},
		"an answer without call": {step(), 0},
		"one step":               {step(`a {}`), 1},
		"two alike":              {join(step(`a {}`), step(`a {}`)), 2},
		"alike before another":   {join(step(`a {}`), step(`a {}`), step(`b {}`)), 1},
		"only those in a row":    {join(step(`a {}`), step(`b {}`), step(`a {}`), step(`a {}`)), 2},
		"taking turns":           {join(step(`a {}`), step(`b {}`), step(`a {}`), step(`b {}`)), 1},
		"before a last answer":   {join(step(`a {}`), step(`a {}`), step()), 0},
		"other arguments":        {join(step(`a {"x":1}`), step(`a {"x":2}`)), 1},
		"spaces and order":       {join(step(`a {"x":{"p":1,"q":[2,3]},"y":"é"}`), step(`a { "y": "\u00e9", "x": {"q":[2, 3],"p":1}}`)), 2},
		"order in a list":        {join(step(`a {"x":[2,3]}`), step(`a {"x":[3,2]}`)), 1},
		"long numbers":           {join(step(`a {"x":9007199254740993}`), step(`a {"x":9007199254740992}`)), 1},
		"a number and its text":  {join(step(`a {"x":1}`), step(`a {"x":"1"}`)), 1},
		"no JSON":                {join(step(`a {`), step(`a {`)), 2},
		"other things, no JSON":  {join(step(`a {`), step(`a [`)), 1},
		"whole lists":            {join(step(`a {}`, `b {}`), step(`a {}`, `b {}`)), 2},
		"lists in another order": {join(step(`a {}`, `b {}`), step(`b {}`, `a {}`)), 1},
		"a longer list":          {join(step(`a {}`), step(`a {}`, `a {}`)), 1},
		"a message in between":   {join(step(`a {}`), said, step(`a {}`)), 2},
		"another turn's steps":   {join(of("before", step(`a {}`)), step(`a {}`)), 1},
		"only another turn's":    {of("before", step(`a {}`)), 0},
	} {
		if got := repeated(tc.entries, "u"); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

func TestALimitIsExceededWhenItIsReached(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		limits         Limits
		steps, repeats int
		want           *Exceeded
	}{
		{Limits{}, 0, 0, nil},
		{Limits{}, 74, 4, nil},
		{Limits{}, 75, 1, &Exceeded{Steps: 75}},
		{Limits{}, 5, 5, &Exceeded{Steps: 5, Repeats: 5}},
		{Limits{}, 75, 5, &Exceeded{Steps: 75, Repeats: 5}},
		{Limits{Steps: 3}, 2, 2, nil},
		{Limits{Steps: 3}, 3, 3, &Exceeded{Steps: 3}},
		{Limits{Steps: 3}, 5, 5, &Exceeded{Steps: 5, Repeats: 5}},
		{Limits{Identical: 2}, 74, 1, nil},
		{Limits{Identical: 2}, 2, 2, &Exceeded{Steps: 2, Repeats: 2}},
		{Limits{Identical: 100}, 74, 74, nil},
	} {
		if diff := cmp.Diff(tc.want, tc.limits.exceeded(tc.steps, tc.repeats)); diff != "" {
			t.Errorf("%+v, %d steps, %d alike: want (-), got (+):\n%s", tc.limits, tc.steps, tc.repeats, diff)
		}
	}
}

func TestTheOwnerIsToldHowFarATurnCameAndHowItGoesOn(t *testing.T) {
	t.Parallel()
	failed := func(why, text string) turn.Ending {
		return turn.Ending{Status: turn.Failed, From: thread.Notice, Error: why, Text: text}
	}
	entries := join(step(`read {"n":1}`, `read {"n":2}`, `find {}`), of("other", step(`none {}`)))
	for _, tc := range []struct {
		exceeded Exceeded
		want     turn.Ending
	}{
		{Exceeded{Steps: 75}, failed("stopped after 75 steps",
			"I stopped after 75 steps without coming to an end. Say “continue” and I will go on.")},
		{Exceeded{Steps: 12, Repeats: 5}, failed("asked for the same (read, find) 5 times in a row; stopped after 12 steps",
			"I stopped because I had asked for the same thing (read, find) 5 times in a row without getting further, "+
				"after 12 steps in all. Say “continue” and I will go on.")},
	} {
		if diff := cmp.Diff(tc.want, tc.exceeded.ending(entries, "u")); diff != "" {
			t.Errorf("%+v: want (-), got (+):\n%s", tc.exceeded, diff)
		}
	}
}

// A step must not cost more the longer its session is. This one is not parallel: what others allocate would count.
func TestRepeatedLooksNoFurtherBackThanItHasTo(t *testing.T) {
	cost := func(earlier int) float64 {
		var entries []transcript.Entry
		for i := range earlier {
			entries = append(entries, of("before", step(fmt.Sprintf(`a {"n":%d}`, i)))...)
		}
		entries = append(entries, join(step(`b {}`), step(`b {}`))...)
		return testing.AllocsPerRun(10, func() { repeated(entries, "u") })
	}
	if few, many := cost(10), cost(10_000); many > 2*few { // a few come and go with the pools of the JSON package
		t.Errorf("%v allocations after 10 earlier turns, %v after 10,000", few, many)
	}
}
