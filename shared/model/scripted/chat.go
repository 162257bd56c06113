package scripted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// Help is what the model answers to "help": its instructions, and how to set a real model.
const Help = `I am Bobbin's scripted model, not a language model. I remember what you write and obey a few commands.

**To talk:** ` + "`recall`" + ` lists what you said. Tell me “my name is Ada” or “my favourite colour is blue”, and ask “what is my name?” later. “Remember the milk” works too. In Telegram ` + "`/stop`" + ` stops what I am doing, and ` + "`/reset`" + ` starts afresh.

**To try things**, one a line:

` + "```" + `
say TEXT                 answer exactly TEXT
repeat N TEXT            answer TEXT N times
think TEXT               think first
wait 2s                  keep you waiting
pace 50ms                slow down from here on
call TOOL {"key": "value"}
then                     go on after the tools' results
fail temporary 2 times   or: fail overflow, fail auth, fail other MESSAGE
` + "```" + `

` + realModel

// realModel says how to get real answers.
const realModel = "For real answers set ANTHROPIC_API_KEY or OPENAI_API_KEY, start Ollama, or choose with " +
	"BOBBIN_MODEL, such as ollama:llama3.2."

// chat answers a message without instructions.
func chat(messages []model.Message, at place) string {
	if at.message < 0 {
		return "I have nothing to answer yet. Send “help” to see what I can do."
	}
	plain := normal(at.text)
	switch {
	case oneOf(plain, "help", "/help", "/start"):
		return Help
	case oneOf(plain, "hi", "hello", "hey", "good morning", "good evening"):
		return hello(said(messages, at))
	case asksRecall(plain):
		return recall(said(messages, at))
	case plain == "who am i":
		return answerFact(said(messages, at), "name")
	}
	if key, ok := asksFact(plain); ok {
		return answerFact(said(messages, at), key)
	}
	if told := facts(at.text); len(told) > 0 {
		last := told[len(told)-1]
		return fmt.Sprintf("Your %s is %s. I will remember that.", last.key, last.value)
	}
	if what, ok := strings.CutPrefix(plain, "remember "); ok {
		return fmt.Sprintf("I will remember: %s. Send “recall” to see all you said.", strings.TrimPrefix(what, "that "))
	}
	return echo(at.text, len(said(messages, at)))
}

// normal is a message in lower case, its spaces single, without the marks at its end.
func normal(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	return strings.TrimRight(strings.ReplaceAll(s, "’", "'"), "?!. ")
}

func oneOf(s string, list ...string) bool {
	return slices.Contains(list, s)
}

func asksRecall(plain string) bool {
	for _, phrase := range []string{
		"what did i say", "what did i tell you", "what did i write", "what have i said", "what have i told you",
		"what do you remember", "what do you know about me", "do you remember me", "what did i ask you to remember",
	} {
		if strings.HasPrefix(plain, phrase) {
			return true
		}
	}
	return plain == "recall"
}

// asksFact recognises "what is my …" and its like.
func asksFact(plain string) (key string, ok bool) {
	for _, prefix := range []string{"what is my ", "what's my ", "whats my ", "do you know my ", "do you remember my ", "tell me my "} {
		if key, ok := strings.CutPrefix(plain, prefix); ok {
			return key, true
		}
	}
	return "", false
}

func answerFact(texts []string, key string) string {
	if value, ok := lookUp(texts, key); ok {
		return fmt.Sprintf("Your %s is %s.", key, value)
	}
	return fmt.Sprintf("You have not told me. Write “my %s is …”, and I will remember.", key)
}

func hello(texts []string) string {
	if name, ok := lookUp(texts, "name"); ok {
		return fmt.Sprintf("Hello, %s! Good to see you again.", name)
	}
	return "Hello! I am Bobbin's scripted model, not a language model: I remember what you write and obey a few " +
		"commands. Send “help” to see them."
}

func echo(text string, earlier int) string {
	memory := "I will remember it."
	switch {
	case earlier == 1:
		memory = "I remember 1 earlier message."
	case earlier > 1:
		memory = fmt.Sprintf("I remember %d earlier messages.", earlier)
	}
	return fmt.Sprintf("You said: “%s” %s\n\nI am the scripted model, not a language model; send “help” to see what "+
		"I can do. %s", brief(text), memory, realModel)
}

// brief is a text as one line of at most 200 characters.
func brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > 200 {
		return string(runes[:199]) + "…"
	}
	return s
}

// results tells what the newest calls brought, a line each.
func results(messages []model.Message) string {
	names := map[string]string{}
	for _, m := range messages[max(0, len(messages)-2):] { // the calls and their results are neighbours
		for _, b := range m.Blocks {
			if b.Call != nil {
				names[b.Call.ID] = b.Call.Name
			}
		}
	}
	var lines []string
	for _, b := range messages[len(messages)-1].Blocks {
		if b.Result != nil {
			lines = append(lines, names[b.Result.CallID]+" -> "+b.Result.Text)
		}
	}
	if len(lines) == 0 {
		return "Done."
	}
	return strings.Join(lines, "\n")
}
