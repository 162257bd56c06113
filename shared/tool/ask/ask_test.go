package ask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/tool/ask"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

func run(t *testing.T, arguments string) tool.Result {
	t.Helper()
	r, err := ask.Tool().Run(t.Context(), tool.Call{Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// question is arguments that ask with a text of so many characters, which are more bytes.
func question(length int, options ...string) string {
	body, err := json.Marshal(map[string]any{"question": strings.Repeat("ü", length), "options": options})
	if err != nil {
		panic(err)
	}
	return string(body)
}

func TestTheOwnerIsAskedTheQuestionWithItsOptions(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"question":"Which one?"}`:                                    "Which one?",
		`{"question":" Which one? \n","options":[]}`:                   "Which one?",
		`{"question":"Which one?","options":null}`:                     "Which one?",
		`{"question":"Which one?","options":["the red","the blue"]}`:   "Which one?\n\n- the red\n- the blue",
		`{"question":"Which one?","options":["the\n- red ", " ", ""]}`: "Which one?\n\n- the - red",
		question(ask.Longest):                                          strings.Repeat("ü", ask.Longest),
	} {
		got := run(t, arguments)
		if diff := cmp.Diff(&wait.Ask{Kind: wait.Question, Text: want}, got.Ask); diff != "" || got.Failed {
			t.Errorf("%s: failed %t; want (-), got (+):\n%s", arguments, got.Failed, diff)
		}
		if !strings.Contains(got.Text, "has been asked") {
			t.Errorf("the model is told %q", got.Text)
		}
	}
}

func TestTheModelIsToldWhyAQuestionCannotBeAsked(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{}`:                                  "is empty",
		`{"question":" \n"}`:                  "is empty",
		`{"options":["a"]}`:                   "is empty",
		`{"question":7}`:                      "must be a string",
		`{"question":"a","options":"b"}`:      "list of strings",
		question(ask.Longest + 1):             "at most 4,000 characters",
		question(ask.Longest-5, "yes", "no"):  "options included",
		question(1, strings.Repeat("a", 4e3)): "options included",
	} {
		if got := run(t, arguments); !got.Failed || got.Ask != nil || !strings.Contains(got.Text, want) {
			t.Errorf("%.60s: got %+v, want a failure that says %q", arguments, got, want)
		}
	}
}

func TestItsSchemaRequiresTheQuestionOnly(t *testing.T) {
	t.Parallel()
	var schema struct {
		Type       string
		Properties map[string]struct{ Type string }
		Required   []string
	}
	if err := json.Unmarshal(ask.Tool().Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Type != "object" || schema.Properties["question"].Type != "string" ||
		schema.Properties["options"].Type != "array" || !cmp.Equal(schema.Required, []string{"question"}) {
		t.Errorf("got %+v", schema)
	}
}
