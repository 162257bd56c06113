package inbox

import (
	"testing"
	"time"
)

func TestStrangersShareAnAllowanceOfRepliesThatGrowsBack(t *testing.T) {
	t.Parallel()
	var g greetings
	now := time.Unix(1_900_000_000, 0)
	count := func() (n int) {
		for range 100 {
			if g.allow(now) {
				n++
			}
		}
		return n
	}
	if got := count(); got != greetBurst {
		t.Errorf("at once %d strangers are answered, want %d", got, greetBurst)
	}
	now = now.Add(3 * greetEvery)
	if got := count(); got != 3 {
		t.Errorf("three seconds later %d more are answered, want 3", got)
	}
	now = now.Add(time.Hour)
	if got := count(); got != greetBurst {
		t.Errorf("an hour later %d are answered, want %d", got, greetBurst)
	}
}
