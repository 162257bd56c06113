package conformance

import (
	"errors"
	"flag"
	"fmt"
	"strings"
)

// faults is what is known to be wrong with a server.
type faults struct {
	serial     bool        // it must be asked one thing at a time
	deviations []deviation // guarantees that it does not keep
}

// deviation is a guarantee that a server does not keep.
type deviation struct {
	test   string // the pattern of the tests to leave out, as go test -skip takes it
	reason string
}

// known has the faults of each server that has some, at the version that the emulator package pins.
var known = map[string]faults{
	"ministack": {deviations: []deviation{
		{"TestTable/the_largest_write_is_kept", "it measures a transaction as JSON, where AWS adds up the sizes of the items"},
	}},
	"moto": {serial: true, deviations: []deviation{
		{"TestTable/a_write_sent_again_(succeeds|after)", "it ignores the token of a transaction"},
		{"TestTable/(no_increment|no_add|transfers|one_of_many|a_check)", "a cancelled transaction undoes what others wrote meanwhile"},
		{"TestTable/the_largest", "it refuses items over 405,000 bytes, where AWS takes 409,600"},
		{"TestQueue/a_duplicate_is_not_delivered_after_its_original_is_done", "it forgets a deduplication ID when the message is deleted"},
		{"TestQueue/a_lapsed_lease", "it takes receipt handles that have expired"},
	}},
}

// leaveOut skips the tests of what the server is known to get wrong, and says so; "" leaves out nothing.
func leaveOut(name string) error {
	f, ok := known[name]
	if !ok && name != "" {
		return fmt.Errorf("BOBBIN_TEST_KNOWN: no faults of %q are known", name)
	}
	var patterns []string
	for _, d := range f.deviations {
		say("left out, a known fault of %s: %s: %s", name, d.test, d.reason)
		patterns = append(patterns, d.test)
	}
	atOnce := "16" // most tests wait most of the time
	if f.serial {
		atOnce = "1"
	}
	return errors.Join(flag.Set("test.parallel", atOnce), flag.Set("test.skip", strings.Join(patterns, "|")))
}
