package outbox

import (
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
)

// A part whose first sending is in doubt, and whose second the channel put off, may still have arrived: without the line
// that says so, the third could be a silent repeat.
func TestPuttingOffARepeatKeepsItsDoubt(t *testing.T) {
	t.Parallel()
	now := time.UnixMicro(1_000_000)
	row := Row{At: now, ID: "m"}.begin() // nobody heard what became of it
	row = row.begin().postpone(fault.Verdict{Action: fault.Retry, After: time.Second}, now)
	if got := decide(row, now); got != wait {
		t.Errorf("before the wait is over: move %d, want %d", got, wait)
	}
	if got := decide(row, now.Add(time.Second)); got != resend {
		t.Errorf("after the wait: move %d, want %d", got, resend)
	}
	if got := decide(row, now.Add(patience+time.Minute)); got != lost {
		t.Errorf("after a day: move %d, want %d: that it has not arrived is not known", got, lost)
	}
}
