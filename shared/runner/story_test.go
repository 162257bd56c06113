package runner_test

import (
	"bytes"
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/inbox"
)

var updating = flag.Bool("update", false, "write what happens into the stories")

// A story is a text file: what happens, in prose; commands, a line each, after "> "; and under each exactly what comes of
// it. Play runs its commands in a world of its own, in fake time. A new race is a new file.
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are %d stories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = play(t, string(want)) })
			if *updating {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := gocmp.Diff(string(want), got); diff != "" {
				t.Errorf("it went otherwise (-story +run; -update writes it down):\n%s", diff)
			}
		})
	}
}

// play runs the commands of a story and returns it with what came of them.
func play(t *testing.T, story string) string {
	t.Helper()
	var out bytes.Buffer
	s := newStage(t)
	defer s.close()
	told := false // the lines under a command are what came of it
	for line := range strings.Lines(story) {
		command, ok := strings.CutPrefix(line, "> ")
		switch {
		case ok:
			out.WriteString(line)
			s.do(strings.TrimSpace(command))
			for _, event := range s.events() {
				out.WriteString(event + "\n")
			}
		case line == "\n" || !told:
			out.WriteString(line)
		}
		told = ok || told && line != "\n"
	}
	return out.String()
}

// do carries out one command and waits until everybody waits for something.
func (s *stage) do(command string) {
	s.Helper()
	time.Sleep(10 * time.Millisecond) // no two things happen at once, nor stand at the same time in the conversation
	verb, rest, _ := strings.Cut(command, " ")
	if !s.owners(verb, rest) && !s.acts(verb, rest) && !s.around(verb, rest) {
		s.Fatalf("no such command: %s", command)
	}
	synctest.Wait()
}

// owners carries out what the owner does, and the channel between.
func (s *stage) owners(verb, rest string) bool {
	s.Helper()
	first, more, _ := strings.Cut(rest, " ")
	switch verb {
	case "say": // TEXT: the owner sends a message
		s.door.deliver(s.door.send("", "", rest, ""))
	case "album": // NAME TEXT: they send a part of something that is sent as one
		n := s.door.send("", "", more, "")
		s.door.updates[n-1].message.Group = first
		s.door.deliver(n)
	case "reply": // N TEXT: they reply to the Nth part that they have heard
		s.door.deliver(s.door.send("", "", more, "m"+first))
	case "stop", "clear": // they press that
		s.door.deliver(s.door.send(verb, "", "", ""))
	case "press": // yes|no TURN: they press that below what the turn asks
		s.door.deliver(s.door.send(first, more, "", ""))
	case "withdraw": // TURN: they withdraw its message
		s.door.deliver(s.door.send(verb, first, "", ""))
	case "chat": // NUMBER: they go on in that chat
		s.door.chat = first
	case "send": // say|stop TEXT: as that, but it is not delivered yet
		s.door.send(strings.TrimPrefix(first, "say"), "", more, "")
	case "deliver": // N: the channel delivers the owner's Nth update, once more or at last
		s.door.deliver(s.number(first))
	case "crash": // N: the process that accepts dies before its Nth write from now
		s.door.left = s.number(first)
	case "restart": // another process accepts from now on
		s.door.open(s)
	default:
		return false
	}
	return true
}

// acts carries out what a worker and its model do.
func (s *stage) acts(verb, rest string) bool {
	s.Helper()
	name, what, _ := strings.Cut(rest, " ")
	switch verb {
	case "take": // WORKER: it takes a wake-up from the queue
		s.take(name)
	case "answer": // WORKER TEXT: its model answers; a line of the reply ends at each /
		give(s, s.worker(name).model, text(what))
	case "call": // WORKER [TOOL [TEXT]]: its model asks for a tool, which hangs
		tool, argument, _ := strings.Cut(what, " ")
		give(s, s.worker(name).model, call(cmp.Or(tool, "hang"), argument))
	case "fail": // WORKER TEXT: its model's provider answers with an error
		give(s, s.worker(name).model, broken(what))
	case "finish": // WORKER: its tool returns
		give(s, s.worker(name).tool, struct{}{})
	case "deadline": // WORKER DURATION: so long it has for each wake-up that it takes from now on
		s.worker(name).limit = s.duration(what)
	case "hold": // WORKER writes|sent writes|answers|extends: these of its calls hang, and the last is refused
		s.worker(name).hold(what)
	case "step": // WORKER: what hung goes on, up to the next such call
		s.worker(name).step()
	case "release": // WORKER: what hung goes on
		s.worker(name).release()
	case "kill": // WORKER: it dies where it stands
		s.worker(name).kill()
	case "end": // WORKER: it is asked to end
		s.worker(name).cancel()
	default:
		return false
	}
	return true
}

// give hands over what somebody waits for.
func give[T any](s *stage, to chan<- T, what T) {
	s.Helper()
	select {
	case to <- what:
	default:
		s.note("nobody waits for that")
	}
}

// around carries out what happens to all of them.
func (s *stage) around(verb, rest string) bool {
	s.Helper()
	switch verb {
	case "rules": // busy=steer|queue|refuse debounce=DURATION scope=owner|conversation reset=TEXT
		for rule := range strings.FieldsSeq(rest) {
			s.rule(rule)
		}
	case "permits": // N: so many turns run at once
		s.permits = s.number(rest)
	case "lose": // N: the next N wake-ups get lost on their way to the queue
		s.lose = s.number(rest)
	case "wait": // DURATION
		time.Sleep(s.duration(rest))
	case "sweep": // the reaper looks at what is due
		s.sweep()
	case "show": // the turns and the conversation as they are stored
		s.show()
	case "open": // what is waited for
		s.open()
	case "line": // who holds the permits and who waits for one
		s.line()
	default:
		return false
	}
	return true
}

func (s *stage) rule(rule string) {
	s.Helper()
	switch name, value, _ := strings.Cut(rule, "="); name {
	case "busy":
		s.rules.Busy = inbox.Busy(value)
	case "debounce":
		s.rules.Debounce = s.duration(value)
	case "scope":
		s.rules.Scope = inbox.Scope(value)
	case "reset":
		s.rules.Reset = value
	default:
		s.Fatalf("no such rule: %s", rule)
	}
}

func (s *stage) number(text string) int {
	s.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *stage) duration(text string) time.Duration {
	s.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		s.Fatal(err)
	}
	return d
}
