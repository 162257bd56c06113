package turn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

// answer is what the owner is told of the stop.
func (s Stop) answer(now time.Time) thread.Message {
	at := now
	if earliest := s.Raised.Add(time.Millisecond); at.Before(earliest) {
		at = earliest
	}
	return thread.Message{
		ID: id.Message(id.From("stop", string(s.Thread), s.ID)), At: at.Truncate(time.Microsecond),
		From: thread.Notice, Text: s.Tally.String(),
	}
}

// String says to the owner what was stopped: what of it had been done, had not begun, and is unknown.
func (t Tally) String() string {
	if t.Queued+t.Running+t.Waiting == 0 {
		return "There was nothing to stop."
	}
	said := []string{"Stopped."}
	if len(t.Work.Done) > 0 {
		said = append(said, "Done before that: "+list(t.Work.Done)+".")
	}
	if len(t.Work.Open) > 0 {
		said = append(said, "Under way, and its outcome unknown: "+list(count(t.Work.Open))+". Check before you ask for it again.")
	}
	if t.Running > 0 && len(t.Work.Done)+len(t.Work.Open) == 0 {
		said = append(said, "No action had been begun.")
	}
	if t.Queued > 0 {
		said = append(said, "Not started: "+plural(t.Queued, "message")+" that waited.")
	}
	if t.Waiting > 0 {
		said = append(said, "Closed: "+plural(t.Waiting, "open question")+".")
	}
	return strings.Join(said, " ")
}

func count(names []string) map[string]int {
	n := map[string]int{}
	for _, name := range names {
		n[name]++
	}
	return n
}

func list(n map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if n[name] > 1 {
			name = fmt.Sprintf("%s (%d times)", name, n[name])
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
