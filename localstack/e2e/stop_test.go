package e2e

import (
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// stoppedWithin is the promise: from the press of Stop to the records that say so.
const stoppedWithin = time.Second

// stops has the person send /stop, and expects these messages to be cancelled by the time it is answered.
func stops(t testing.TB, page *browser, p *person, texts ...string) {
	t.Helper()
	pressed := time.Now()
	p.say("/stop")
	p.acknowledged(t)
	took := time.Since(pressed)
	for _, text := range texts {
		if got := page.state(t, text); got != web.Cancelled {
			t.Errorf("%q is %q when the stop has been answered, want cancelled", text, got)
		}
	}
	if took > stoppedWithin {
		t.Errorf("stopped after %v, want within %v", took, stoppedWithin)
	} else {
		t.Logf("stopped after %v", took.Round(time.Millisecond))
	}
}

// The model is in the middle of an answer that never ends, and another message waits behind it.
func stopEndsWhatRunsAndWhatWaits(t testing.TB, w world) {
	page, p := ownerAtHome(t, w)
	name, behind := t.Name(), "say what waits "+t.Name()
	p.say("hold " + name)
	p.mind.wait(p.ctx, t, "hold "+name, 1)
	p.say(behind)
	p.acknowledged(t)
	stops(t, page, p, "hold "+name, behind)
	p.hears(t, "Stopped. No action had been begun. Not started: 1 message that waited.")
	eventually(p.ctx, t, "the request to the model is broken off", func() bool { return p.mind.holding(name) == 0 })
	p.asks(t, "say after the stop", "after the stop")
	if !noted(p.mind.wait(p.ctx, t, "say after the stop", 1), "stopped your previous turn") {
		t.Error("the model was not told of the stop")
	}
	if n := len(p.mind.asked(behind)); n != 0 {
		t.Errorf("the model was asked %d times about a message that waited", n)
	}
	p.heardAll(t)
}

// The tool goes on for as long as the process does, and what it brings reaches nobody.
func stopEndsATurnWhoseToolDoesNotEnd(t testing.TB, w world) {
	page, p := ownerAtHome(t, w)
	const stuck = "call stuck {}"
	p.say(stuck)
	w.(*inProcess).tools.waitStuck(p.ctx, t)
	stops(t, page, p, stuck)
	p.hears(t, "Stopped. Under way, and its outcome unknown: stuck. Check before you ask for it again.")
	p.asks(t, "say all the same", "all the same")
	p.heardAll(t)
}

func pageStopEndsWhatRuns(t testing.TB, w world) {
	page, _ := w.(hooked).home(t)
	name, mind := t.Name(), w.around().mind
	page.post(t, "hold "+name)
	mind.wait(page.ctx, t, "hold "+name, 1)
	pressed := time.Now()
	page.press(t, "stop", nil)
	if took := time.Since(pressed); took > stoppedWithin {
		t.Errorf("stopped after %v, want within %v", took, stoppedWithin)
	}
	if got := page.state(t, "hold "+name); got != web.Cancelled {
		t.Errorf("the message is %q when the stop has been answered, want cancelled", got)
	}
	page.hears(t, "Stopped. No action had been begun.")
	page.post(t, "say on the page")
	page.hears(t, "on the page")
}

// A stop that arrives late spares what was sent after it had been pressed.
func lateStopSparesWhatWasSentAfterIt(t testing.TB, w world) {
	page, _ := w.(hooked).home(t)
	name, mind := t.Name(), w.around().mind
	page.post(t, "hold "+name)
	mind.wait(page.ctx, t, "hold "+name, 1)
	page.press(t, "stop", map[string]any{"ago_ms": time.Minute.Milliseconds()})
	page.hears(t, "There was nothing to stop.")
	if got := page.state(t, "hold "+name); got != web.Running {
		t.Errorf("the message is %q, want running", got)
	}
	mind.release(name)
	page.hears(t, "held "+name)
}

// The process that took the stop died when it had stored that it was pressed.
func stopOfADeadProcessIsCarriedOut(t testing.TB, w world) {
	p := owner(t, w)
	never := "say never " + t.Name()
	w.(stored).behind(t, func(records table.Table, _ blob.Blob) {
		p.accepted(t, records, time.Now(), never)
		then := time.Now()
		head, err := thread.Load(p.ctx, records, p.thread(t, records))
		if err != nil {
			t.Fatal(err)
		}
		route := channel.Route{Connection: connection, Conversation: p.who()}
		s := turn.Stop{ID: t.Name(), Thread: head.ID, Route: route, Raised: then.Add(-time.Minute)}
		head, s.Stop = head.Raise(thread.Stop{Conversation: route.Key(), Order: turn.Order(then, 1, 0), Pressed: then})
		ops := append(s.Press(), head.Put())
		if err := records.Write(p.ctx, table.Write{ID: (&id.Source{}).New(then), Ops: ops}); err != nil {
			t.Fatal(err)
		}
	})
	p.hearsOf(t, "top") // nothing, if whoever looked at the session was quicker to cancel what waited
	p.asks(t, "say afterwards", "afterwards")
	p.heardAll(t)
	if n := len(p.mind.asked(never)); n != 0 {
		t.Errorf("the model was asked %d times about what was stopped", n)
	}
}

func pageWithdrawsWhatWaits(t testing.TB, w world) {
	page, _ := w.(hooked).home(t)
	name, mind, text := t.Name(), w.around().mind, "say never "+t.Name()
	running := page.post(t, "hold "+name)
	mind.wait(page.ctx, t, "hold "+name, 1)
	waiting := page.post(t, text)
	page.press(t, "cancel", map[string]any{"turn": waiting})
	if got := page.state(t, text); got != web.Cancelled {
		t.Errorf("what was withdrawn is %q, want cancelled", got)
	}
	if told := page.press(t, "cancel", map[string]any{"turn": running}); told == "" {
		t.Error("the page is not told that what runs can't be withdrawn")
	}
	mind.release(name)
	page.hears(t, "held "+name)
	if n := len(mind.asked(text)); n != 0 {
		t.Errorf("the model was asked %d times about what was withdrawn", n)
	}
}
