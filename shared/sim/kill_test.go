package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/sim"
)

// oneTool is a message that takes a tool and then a reply.
const oneTool = "call act {\"letter\":\"#m0.\",\"ms\":2000}\nthen\nwait 1s\nsay #m0. done"

// TestDeathAtEveryCall kills the process that makes it at every call of the life of one message, from its acceptance to
// its delivery, before the call is done and after: the owner always gets exactly one answer or notice, and soon.
func TestDeathAtEveryCall(t *testing.T) {
	t.Parallel()
	dieAtEveryCall(t, []string{oneTool})
}

// TestDeathAtEveryCallOfATurnThatTakesMessages does the same to a turn that is sent two more messages while its tool runs:
// each is answered or told of, by the turn that took it or by its own, whatever the moment.
func TestDeathAtEveryCallOfATurnThatTakesMessages(t *testing.T) {
	t.Parallel()
	scripts := []string{
		"call act {\"letter\":\"#m0.\",\"ms\":4000}\nthen\nsay #m0. done", "say #m1. done",
		"call act {\"letter\":\"#m2.\",\"ms\":500}\nthen\nsay #m2. done",
	}
	calm := sim.Play(t, sim.Setup{Seed: 1, Calm: true, Size: sim.Size{Owners: 1}, Scripts: scripts})
	if n := calm.Coverage.Count("message taken"); n != 2 {
		t.Fatalf("%d messages are taken when nobody dies, want 2", n)
	}
	dieAtEveryCall(t, scripts)
}

// TestWithoutGivingBackDeathsAreNoticedLate takes away that a wake-up which meets a live turn is given back: the worker may
// have died since, and then only the reaper's minute would tell. A test that finds nothing late then would prove nothing.
func TestWithoutGivingBackDeathsAreNoticedLate(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		for call := 1; ; call++ {
			k := sim.Kill{Call: call}
			r := sim.Play(t, sim.Setup{
				Seed: seed + 1, Calm: true, Size: sim.Size{Owners: 1}, Scripts: []string{oneTool}, Kill: &k, Without: sim.GiveBack,
			})
			if r.Killed == nil {
				break
			}
			if d := r.Killed; !d.Silent && (d.Told == "" || late(d) > 45*time.Second) {
				t.Logf("seed %d, call %d: %v later", seed+1, call, late(d))
				return
			}
		}
	}
	t.Error("no death was noticed late")
}

func dieAtEveryCall(t *testing.T, scripts []string) {
	t.Helper()
	var table strings.Builder
	for call := 1; ; call++ {
		for _, after := range []bool{false, true} {
			worst := worstDeath(t, scripts, sim.Kill{Call: call, After: after})
			if worst == nil {
				t.Logf("%d calls\n%s", call-1, table.String())
				return
			}
			fmt.Fprintf(&table, "%2d %-6s %-8s %-7s told %7v later: %d %-7s %s\n", call, map[bool]string{true: "after", false: "before"}[after],
				worst.Role, map[bool]string{true: "running"}[worst.Running], late(worst).Round(time.Millisecond), worst.Messages,
				worst.Told, worst.Call)
		}
	}
}

// worstDeath runs the world several times, the reaper's minute beginning at another time in each, and returns the death
// after which it took longest; nil when the life of the message has no such call.
func worstDeath(t *testing.T, scripts []string, k sim.Kill) *sim.Death {
	t.Helper()
	var worst *sim.Death
	for seed := range uint64(12) {
		r := sim.Play(t, sim.Setup{Seed: seed + 1, Calm: true, Size: sim.Size{Owners: 1}, Scripts: scripts, Kill: &k})
		report(t, r)
		if r.Killed == nil {
			return nil
		}
		checkDeath(t, k, r.Killed)
		if worst == nil || late(r.Killed) > late(worst) {
			worst = r.Killed
		}
	}
	return worst
}

func late(d *sim.Death) time.Duration { return max(d.ToldAt-d.At, 0) }

// checkDeath holds an outcome to what the owner may expect. A worker that dies before it has given its first sign of
// life leaves a turn that is queued and a wake-up that is hidden for as long as a function may run: that is for the
// reaper's next minute.
func checkDeath(t *testing.T, k sim.Kill, d *sim.Death) {
	t.Helper()
	limit := 45 * time.Second
	if d.Silent {
		limit = 75 * time.Second
	}
	switch {
	case d.Told == "":
		t.Errorf("%+v (%s): silence", k, d.Call)
	case late(d) > limit:
		t.Errorf("%+v (%s): the owner was told %v later", k, d.Call, late(d))
	}
}
