package transcript

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// history draws what turns leave behind: owners' messages, answers, results, notes, and ends at any point.
func history(t *rapid.T) (entries []Entry) {
	call := 0
	for turn := range rapid.IntRange(1, 5).Draw(t, "turns") {
		if missing := Orphans(entries, true); len(missing) > 0 {
			entries = append(entries, Entry{Kind: Results, Blocks: missing})
		}
		if rapid.Bool().Draw(t, "note") {
			entries = append(entries, Entry{Kind: Note, Blocks: []model.Block{{Text: "[note]"}}})
		}
		entries = append(entries, entry(fmt.Sprint("owner ", turn)))
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			answer := Entry{Kind: Assistant, Blocks: []model.Block{{Text: "answer"}}}
			results := Entry{Kind: Results}
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				call++
				name := fmt.Sprint("call-", call)
				answer.Blocks = append(answer.Blocks, model.Block{Call: &model.ToolCall{ID: name, Arguments: json.RawMessage(`{}`)}})
				results.Blocks = append(results.Blocks, model.Block{Result: &model.ToolResult{CallID: name, Text: "ok"}})
			}
			entries = append(entries, answer)
			if len(results.Blocks) == 0 || rapid.IntRange(0, 3).Draw(t, "dies") == 0 {
				break
			}
			entries = append(entries, results)
		}
	}
	if missing := Orphans(entries, true); len(missing) > 0 {
		entries = append(entries, Entry{Kind: Results, Blocks: missing})
	}
	return append(entries, entry("last"))
}

// calls lists the IDs of a message's calls; results those of its results.
func calls(m model.Message) (ids []string) {
	for _, b := range m.Blocks {
		if b.Call != nil {
			ids = append(ids, b.Call.ID)
		}
	}
	return ids
}

func results(m model.Message) (ids []string) {
	for _, b := range m.Blocks {
		if b.Result != nil {
			ids = append(ids, b.Result.CallID)
		}
	}
	return ids
}

func TestEveryHistoryIsOneThatAProviderTakes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := Messages(history(t))
		for i, m := range messages {
			want := model.User
			if i%2 == 1 {
				want = model.Assistant
			}
			if m.Role != want || len(m.Blocks) == 0 {
				t.Fatalf("message %d is %s's with %d blocks", i, m.Role, len(m.Blocks))
			}
			if i > 0 {
				if diff := cmp.Diff(calls(messages[i-1]), results(m)); diff != "" {
					t.Fatalf("message %d does not answer the calls before it:\n%s", i, diff)
				}
			}
			for j, b := range m.Blocks[:len(results(m))] {
				if b.Result == nil {
					t.Fatalf("message %d: block %d stands before the results", i, j)
				}
			}
		}
		if messages[len(messages)-1].Role != model.User {
			t.Fatal("the last message is not the user's")
		}
	})
}

func TestMoreEntriesLeaveTheEarlierMessagesAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := history(t)
		cut := rapid.IntRange(1, len(entries)).Draw(t, "cut")
		before := Messages(entries[:cut])
		frozen, err := json.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		after := Messages(entries)
		if now, err := json.Marshal(before); err != nil || string(now) != string(frozen) {
			t.Fatal("making more messages changed those made before")
		}
		if diff := cmp.Diff(before[:len(before)-1], after[:len(before)-1]); diff != "" {
			t.Fatalf("the prefix changed (-before +after):\n%s", diff)
		}
	})
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	asked := Entry{Kind: Assistant, Blocks: []model.Block{
		{Text: "let me see"}, {Call: &model.ToolCall{ID: "1"}}, {Call: &model.ToolCall{ID: "2"}},
	}}
	answered := Entry{Kind: Results}
	note := Entry{Kind: Note, Blocks: []model.Block{{Text: "[note]"}}}
	said := Entry{Kind: Assistant, Blocks: []model.Block{{Text: "done"}}}
	for name, tc := range map[string]struct {
		entries []Entry
		want    []string
	}{
		"empty":                  {nil, nil},
		"only the owner":         {[]Entry{entry("a")}, nil},
		"a final answer":         {[]Entry{entry("a"), said}, nil},
		"calls":                  {[]Entry{entry("a"), asked}, []string{"1", "2"}},
		"calls and a note":       {[]Entry{entry("a"), asked, note}, []string{"1", "2"}},
		"answered":               {[]Entry{entry("a"), asked, answered}, nil},
		"answered, then more":    {[]Entry{entry("a"), asked, answered, entry("b")}, nil},
		"answered, then a reply": {[]Entry{entry("a"), asked, answered, said}, nil},
	} {
		blocks := Orphans(tc.entries, true)
		if diff := cmp.Diff(tc.want, results(model.Message{Blocks: blocks})); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
		for _, b := range blocks {
			if b.Result.Text != Interrupted || !b.Result.IsError {
				t.Errorf("%s: the result is %+v", name, b.Result)
			}
		}
	}
}
