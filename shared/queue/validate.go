package queue

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// MaxReceive bounds the wake-ups of one Receive.
const MaxReceive = 10

// Validate reports, wrapped in ErrInvalid, how the message breaks a limit. Every implementation calls it first, so that
// what passes on one passes on all.
func (m Message) Validate() error {
	if err := checkName("group", m.Group); err != nil {
		return err
	}
	if err := checkName("deduplication ID", m.Dedup); err != nil {
		return err
	}
	if m.Body == "" || len(m.Body) > MaxBodyBytes {
		return invalid("a body has 1 to %d bytes, got %d", MaxBodyBytes, len(m.Body))
	}
	return checkBody(m.Body)
}

// checkName allows what SQS allows: printable ASCII without the space.
func checkName(what, name string) error {
	if name == "" || len(name) > MaxNameBytes {
		return invalid("a %s has 1 to %d bytes, got %d", what, MaxNameBytes, len(name))
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return invalid("a %s holds printable ASCII without spaces, got byte %#x", what, c)
		}
	}
	return nil
}

// checkBody allows what SQS allows: the characters of XML 1.0.
func checkBody(body string) error {
	if !utf8.ValidString(body) {
		return invalid("a body is valid UTF-8")
	}
	for _, r := range body {
		switch {
		case r == '\t', r == '\n', r == '\r', r >= ' ' && r != 0xfffe && r != 0xffff:
		default:
			return invalid("a body can't hold the character %U", r)
		}
	}
	return nil
}

// CheckReceive reports, wrapped in ErrInvalid, why that many wake-ups can't be asked for.
func CheckReceive(most int) error {
	if most < 1 || most > MaxReceive {
		return invalid("a receive takes 1 to %d wake-ups, asked for %d", MaxReceive, most)
	}
	return nil
}

// CheckVisibility reports, wrapped in ErrInvalid, why a wake-up can't be hidden that long.
func CheckVisibility(d time.Duration) error {
	if d < 0 || d > MaxVisibility {
		return invalid("a wake-up is hidden for 0 to %v, asked for %v", MaxVisibility, d)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
