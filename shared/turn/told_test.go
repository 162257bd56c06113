package turn

import (
	"testing"
	"time"
)

// Replies of a session are sent and shown by their time. Two workers' clocks differ, and two turns can end at the same
// microsecond, so the time alone must not decide.
func TestRepliesOfASessionStandInTheOrderOfItsTurns(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 678_901_234, time.UTC)
	asked := Turn{Created: now.Add(-time.Minute)}
	for name, last := range map[string]time.Time{
		"at the same instant":                 now,
		"by a clock that is ahead":            now.Add(time.Second),
		"within the microsecond":              now.Add(-time.Nanosecond),
		"at a time to the microsecond before": now.Truncate(time.Microsecond),
	} {
		if got := after(asked, last, now); got.UnixMicro() <= last.UnixMicro() {
			t.Errorf("the last reply was told %s, %v; the next stands at %v", name, last, got)
		}
	}
	if got := after(asked, time.Time{}, now); got.UnixMicro() != now.UnixMicro() {
		t.Errorf("a first reply stands at %v, want %v", got, now)
	}
	if got := after(Turn{Created: now}, time.Time{}, now); !got.After(now) {
		t.Errorf("a reply stands at %v, not after its question at %v", got, now)
	}
}
