package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/scripted"
)

func user(texts ...string) model.Message {
	m := model.Message{Role: model.User}
	for _, t := range texts {
		m.Blocks = append(m.Blocks, model.Block{Text: t})
	}
	return m
}

func assistant(blocks ...model.Block) model.Message {
	return model.Message{Role: model.Assistant, Blocks: blocks}
}

func request(messages ...model.Message) model.Request { return model.Request{Messages: messages} }

// answer is the text of a whole answer; calls stand in it as call:TOOL.
func answer(t *testing.T, m model.Model, req model.Request) string {
	t.Helper()
	resp, err := m.Stream(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, b := range resp.Blocks {
		switch {
		case b.Call != nil:
			parts = append(parts, "call:"+b.Call.Name+string(b.Call.Arguments))
		case b.Thinking != nil:
			parts = append(parts, "think:"+b.Thinking.Text)
		default:
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "|")
}

func TestInstructionsAreObeyed(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"say", "say hello  there", "hello  there"},
		{"in any case", "SAY Hello", "Hello"},
		{"two lines", "say a\nsay b", "a\nb"},
		{"a text over several lines", "say a\n  indented\n\nend", "a\n  indented\n\nend"},
		{"repeat", "repeat 3 ab c", "ab c ab c ab c"},
		{"think", "think hm\nsay a", "think:hm|a"},
		{"think alone", "think hm", "think:hm|Done."},
		{"a call", `call clock {"zone":"UTC"}`, `call:clock{"zone":"UTC"}`},
		{"several calls", "call a {}\ncall b {}", "call:a{}|call:b{}"},
		{"a call with broken arguments", `call a {"x":`, `call:a{"_invalid":"{\"x\":"}`},
		{"then without a call before it", "say a\nthen\nsay b", "a\nb"},
		{"then after a call", "call a {}\nthen\nsay b", "call:a{}"},
		{"nothing to say", "pace 0s", "Done."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := answer(t, scripted.New(""), request(user(tt.text))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSentencesThatBeginLikeInstructionsAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"wait for me", "call me Ada", "fail", "repeat that", "repeat 0 x", "then what", "pace yourself", "say"} {
		got := answer(t, scripted.New(""), request(user(text)))
		if got == "" || got == "Done." || strings.HasPrefix(got, "call:") {
			t.Errorf("%q was obeyed: %q", text, got)
		}
	}
}

func TestScriptGoesOnAfterResults(t *testing.T) {
	t.Parallel()
	m := scripted.New("")
	messages := []model.Message{user("[Mon, via web]", "call a {}\ncall b {}\nthen\nsay now\ncall c {}")}
	want := []string{"call:a{}|call:b{}", "now|call:c{}", "c -> result of c"}
	for _, w := range want {
		if got := answer(t, m, request(messages...)); got != w {
			t.Fatalf("got %q, want %q", got, w)
		}
		resp, _ := m.Stream(t.Context(), request(messages...), nil)
		results := model.Message{Role: model.User}
		for _, b := range resp.Blocks {
			if b.Call != nil {
				result := &model.ToolResult{CallID: b.Call.ID, Text: "result of " + b.Call.Name}
				results.Blocks = append(results.Blocks, model.Block{Result: result})
			}
		}
		messages = append(messages, assistant(resp.Blocks...), results)
	}
}

func TestNewWordsTakeOverFromAScript(t *testing.T) {
	t.Parallel()
	call := model.Block{Call: &model.ToolCall{ID: "1", Name: "a", Arguments: json.RawMessage("{}")}}
	steered := model.Message{Role: model.User, Blocks: []model.Block{
		{Result: &model.ToolResult{CallID: "1", Text: "x"}}, {Text: "[Mon, via web]"}, {Text: "say stop that"},
	}}
	got := answer(t, scripted.New(""), request(user("call a {}\nthen\nsay b"), assistant(call), steered))
	if got != "stop that" {
		t.Errorf("got %q, want the newest words obeyed", got)
	}
}

func TestSameRequestGetsTheSameAnswer(t *testing.T) {
	t.Parallel()
	req := request(user("say a"), assistant(model.Block{Text: "a"}), user("call x {}\nsay b"))
	first, err := scripted.New("").Stream(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := scripted.New("").Stream(t.Context(), req, nil)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the answers differ (-first +again):\n%s", diff)
	}
}

func TestAnswerStreamsWordByWord(t *testing.T) {
	t.Parallel()
	var got []model.Delta
	resp, err := scripted.New("").Stream(t.Context(), request(user("think hm hm\nsay one  two\nsay three")), func(d model.Delta) {
		got = append(got, d)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Delta{
		{Kind: model.DeltaThinking, Text: "hm "},
		{Kind: model.DeltaThinking, Text: "hm"},
		{Kind: model.DeltaText, Text: "one  "},
		{Kind: model.DeltaText, Text: "two"},
		{Kind: model.DeltaText, Text: "\nthree"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shown otherwise (-want +got):\n%s", diff)
	}
	if resp.Usage.Output != 5 || resp.Stop != model.StopEnd {
		t.Errorf("got usage %+v and stop %q", resp.Usage, resp.Stop)
	}
}

func TestLimitCutsTheAnswer(t *testing.T) {
	t.Parallel()
	req := request(user("repeat 10 word"))
	req.MaxTokens = 3
	resp, err := scripted.New("").Stream(t.Context(), req, nil)
	if err != nil || resp.Stop != model.StopLength || resp.Blocks[0].Text != "word word word " {
		t.Errorf("got %+v, %v, want three words and stop %q", resp, err, model.StopLength)
	}
}

func TestWaitAndPaceTakeTimeAndEndWithTheContext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       time.Duration
	}{
		{"wait", "wait 2s\nsay a b", 2 * time.Second},
		{"pace", "pace 50ms\nsay a b", 100 * time.Millisecond},
		{"neither", "say a b", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_ = answer(t, scripted.New(""), request(user(tt.text)))
				if got := time.Since(begin); got != tt.want {
					t.Errorf("took %v, want %v", got, tt.want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := scripted.New("").Stream(ctx, request(user("wait 1h")), nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
}

func TestFailuresAreOfTheirKind(t *testing.T) {
	t.Parallel()
	tests := map[string]model.ErrorKind{
		"fail temporary":        model.ErrorTemporary,
		"fail overflow":         model.ErrorOverflow,
		"say a\nfail auth":      model.ErrorAuth,
		"fail other the reason": model.ErrorOther,
	}
	for text, want := range tests {
		_, err := scripted.New("").Stream(t.Context(), request(user(text)), nil)
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.Kind != want || want == model.ErrorOther && e.Message != "the reason" {
			t.Errorf("%q: got %v, want kind %v", text, err, want)
		}
	}
}

func TestTemporaryFailureEndsAfterItsTimes(t *testing.T) {
	t.Parallel()
	m := scripted.New("")
	req := request(user("fail temporary 2 times\nsay made it"))
	for range 2 {
		if _, err := m.Stream(t.Context(), req, nil); err == nil {
			t.Fatal("the failure did not come")
		}
	}
	if got := answer(t, m, req); got != "made it" {
		t.Errorf("got %q", got)
	}
}

func TestItRemembersWhatWasSaid(t *testing.T) {
	t.Parallel()
	before := []model.Message{
		user("[Mon 2026-03-02 10:00 UTC, via web]", "Hi! My name is Ada. My favourite colour is deep blue!"),
		assistant(model.Block{Text: "ok"}),
		user("[Mon 2026-03-02 10:01 UTC, via telegram]", "<quoted>\nx\n</quoted>", "remember the milk"),
		assistant(model.Block{Text: "ok"}),
	}
	tests := []struct{ text, want string }{
		{"What is my name?", "Your name is Ada."},
		{"what’s my favourite colour", "Your favourite colour is deep blue."},
		{"who am I?", "Your name is Ada."},
		{"what is my age?", "You have not told me. Write “my age is …”, and I will remember."},
		{"recall", "You said:\n\n1. Hi! My name is Ada. My favourite colour is deep blue!\n2. remember the milk"},
		{"What did I say before?", "You said:\n\n1. Hi! My name is Ada. My favourite colour is deep blue!\n2. remember the milk"},
		{"hello", "Hello, Ada! Good to see you again."},
		{"my dog is called Rex", ""},
		{"my age is 36", "Your age is 36. I will remember that."},
		{"Remember that I owe you", "I will remember: i owe you. Send “recall” to see all you said."},
		{"/help", scripted.Help},
	}
	for _, tt := range tests {
		messages := slices.Concat(before, []model.Message{user("[Mon, via web]", tt.text)})
		got := answer(t, scripted.New(""), request(messages...))
		if tt.want != "" && got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestAnythingElseIsAnsweredHonestly(t *testing.T) {
	t.Parallel()
	got := answer(t, scripted.New(""), request(user("one"), assistant(model.Block{Text: "ok"}), user("Why is the sky blue?")))
	for _, want := range []string{"Why is the sky blue?", "not a language model", "1 earlier message", "BOBBIN_MODEL", "help"} {
		if !strings.Contains(got, want) {
			t.Errorf("the answer lacks %q: %s", want, got)
		}
	}
}

func FuzzAnyTextIsAnsweredWithoutPanic(f *testing.F) {
	for _, s := range []string{"", "say", "my  is ", "call a {", "then\nthen", "fail temporary x", "İ my İ is x", "mY \xb0 is 0", "repeat 99 a", "[x]"} {
		f.Add(s, "my name is X")
	}
	f.Fuzz(func(t *testing.T, text, before string) {
		if strings.Contains(strings.ToLower(text), "wait") || strings.Contains(strings.ToLower(text), "pace") {
			t.Skip("would take its time")
		}
		req := request(user(before), assistant(model.Block{Text: "ok"}), user(text))
		resp, err := scripted.New("").Stream(t.Context(), req, func(model.Delta) {})
		if err == nil && len(resp.Blocks) == 0 {
			t.Errorf("%q got no answer", text)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	messages := make([]model.Message, 0, 10_001)
	for range 5000 {
		messages = append(messages, user("say ok"), assistant(model.Block{Text: "ok"}))
	}
	req := request(append(messages, user("say ok"))...)
	m := scripted.New("")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Stream(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}
