package stack

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// What shared/config refuses too, when a function starts; here, in a module that does not import it, it is refused before
// anything is deployed.
const (
	mostDebounce = 30 * time.Second
	mostReset    = 64 // characters
)

func (r *reader) busy(name string) string { return r.oneOf(name, "", "steer", "queue", "refuse") }

func (r *reader) debounce(name string) string {
	v := r.text(name)
	if d, err := time.ParseDuration(v); v != "" && (err != nil || d < 0 || d > mostDebounce) {
		r.wrong(name, v, fmt.Sprintf("a time from 0s to %v, such as 1.5s", mostDebounce))
	}
	return v
}

func (r *reader) reset(name string) string {
	v := r.text(name)
	if v == "/stop" || utf8.RuneCountInString(v) > mostReset || strings.ContainsFunc(v, unicode.IsControl) {
		r.wrong(name, v, fmt.Sprintf("one line of at most %d characters, such as /reset, and not /stop; - is for none", mostReset))
	}
	return v
}

// room demands that the mapping invokes more runners than turns may run: turns would hold as many, and no wake-up would
// come through that finds out that its session has to wait, or delivers a reply.
func (r *reader) room(s Settings) {
	if s.Mapping && s.Concurrency <= float64(s.Turns) {
		r.wrong("concurrency", r.text("concurrency"),
			fmt.Sprintf("a number above that of turns, which is %d: raise concurrency or lower turns", s.Turns))
	}
}
