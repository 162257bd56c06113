package scripted

import (
	"fmt"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// fact is something that the owner told: "my KEY is VALUE".
type fact struct{ key, value string }

// facts finds what a text tells, one thing a sentence.
func facts(text string) []fact {
	var told []fact
	for _, sentence := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".!?;\n", r) }) {
		if k, v, ok := sentenceFact(strings.Join(strings.Fields(sentence), " ")); ok {
			told = append(told, fact{k, v})
		}
	}
	return told
}

// lookUp finds the newest telling of a fact.
func lookUp(texts []string, key string) (value string, ok bool) {
	for i := len(texts) - 1; i >= 0 && !ok; i-- {
		for _, f := range facts(texts[i]) {
			if f.key == key {
				value, ok = f.value, true
			}
		}
	}
	return value, ok
}

// sentenceFact reads "my KEY is VALUE", and "call me VALUE" for a name.
func sentenceFact(s string) (key, value string, ok bool) {
	lower := asciiLower(s)
	if i := strings.Index(lower, "call me "); i == 0 {
		return "name", s[len("call me "):], true
	}
	i := strings.Index(lower, "my ")
	if i < 0 || i > 0 && lower[i-1] != ' ' {
		return "", "", false
	}
	k, _, found := strings.Cut(lower[i+len("my "):], " is ")
	if !found || k == "" {
		return "", "", false
	}
	value = s[i+len("my ")+len(k)+len(" is "):]
	return k, value, value != "" && !asking(lower[:i])
}

// asking reports whether what stands before "my" makes it a question.
func asking(before string) bool {
	return strings.HasPrefix(before, "what") || strings.HasPrefix(before, "who")
}

// asciiLower lowers a to z only, byte by byte, so that places in one are places in the other.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// said lists the owner's messages before the place, oldest first.
func said(messages []model.Message, at place) []string {
	var texts []string
	for _, m := range messages[:at.message+1] {
		if m.Role != model.User {
			continue
		}
		texts = append(texts, owners(m.Blocks)...)
	}
	if n := len(texts); n > 0 {
		texts = texts[:n-1] // the newest is the one being answered
	}
	return texts
}

// owners picks the owner's words out of a message: not its circumstances in brackets, nor what is quoted, unless there
// is nothing after them.
func owners(blocks []model.Block) []string {
	var texts []string
	for i, b := range blocks {
		t := strings.TrimSpace(b.Text)
		aside := strings.HasPrefix(t, "[") && strings.HasSuffix(t, "]") || strings.HasPrefix(t, "<quoted>")
		if t != "" && (!aside || i == len(blocks)-1) {
			texts = append(texts, t)
		}
	}
	return texts
}

// maxRecall bounds how many messages a list shows.
const maxRecall = 20

func recall(texts []string) string {
	if len(texts) == 0 {
		return "You have not said anything before this."
	}
	var b strings.Builder
	b.WriteString("You said:\n")
	first := max(0, len(texts)-maxRecall)
	if first > 0 {
		fmt.Fprintf(&b, "\n(%d earlier messages are not shown.)\n", first)
	}
	for i, t := range texts[first:] {
		fmt.Fprintf(&b, "\n%d. %s", first+i+1, brief(t))
	}
	return b.String()
}
