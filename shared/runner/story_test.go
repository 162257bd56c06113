package runner_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what happens into the stories")

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
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
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
	time.Sleep(time.Millisecond) // no two things happen at once
	verb, rest, _ := strings.Cut(command, " ")
	name, what, _ := strings.Cut(rest, " ")
	switch verb {
	case "say": // TEXT: the owner sends a message
		s.updates = append(s.updates, rest)
		s.deliver(len(s.updates))
	case "redeliver": // N: the channel delivers the owner's Nth message once more
		var n int
		if _, err := fmt.Sscan(rest, &n); err != nil {
			s.Fatal(err)
		}
		s.deliver(n)
	case "lose": // N: the next N wake-ups get lost on their way to the queue
		if _, err := fmt.Sscan(rest, &s.lose); err != nil {
			s.Fatal(err)
		}
	case "take": // WORKER: it takes a wake-up from the queue
		s.take(name)
	case "answer": // WORKER TEXT: its model answers; a line of the reply ends at each /
		s.worker(name).model <- said{text: strings.ReplaceAll(what, "/", "\n")}
	case "call": // WORKER: its model asks for a tool, which hangs
		s.worker(name).model <- said{call: true}
	case "finish": // WORKER: its tool returns
		s.worker(name).tool <- struct{}{}
	case "hold": // WORKER writes|answers|extends: these of its calls hang, and the last is refused
		s.worker(name).hold(what)
	case "step": // WORKER: what hung goes on, up to the next such call
		s.worker(name).step()
	case "release": // WORKER: what hung goes on
		s.worker(name).release()
	case "kill": // WORKER: it dies where it stands
		s.worker(name).kill()
	case "stop": // WORKER: it is asked to end
		s.worker(name).cancel()
	case "wait": // DURATION
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.Fatal(err)
		}
		time.Sleep(d)
	case "sweep": // the reaper looks at what is due
		s.sweep()
	case "show": // the turns and the conversation as they are stored
		s.show()
	default:
		s.Fatalf("no such command: %s", command)
	}
	synctest.Wait()
}
