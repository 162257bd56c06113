package conformance

import (
	"flag"
	"fmt"
	"strings"
)

// deviation is a guarantee that a server does not keep.
type deviation struct {
	test   string // the pattern of the tests to leave out, as go test -skip takes it
	reason string
}

// known has the deviations of each server that has some.
var known = map[string][]deviation{
	"moto": {},
}

// leaveOut skips the tests of what the server is known to get wrong, and says so; "" leaves out nothing.
func leaveOut(name string) error {
	if name == "" {
		return nil
	}
	deviations, ok := known[name]
	if !ok {
		return fmt.Errorf("BOBBIN_TEST_KNOWN: no deviations of %q are known", name)
	}
	var patterns []string
	for _, d := range deviations {
		say("left out, %s: %s: %s", name, d.test, d.reason)
		patterns = append(patterns, d.test)
	}
	return flag.Set("test.skip", strings.Join(patterns, "|"))
}
