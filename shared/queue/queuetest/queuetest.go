// Package queuetest holds every implementation of shared/queue to its guarantees, and has an in-memory queue with
// faults for the tests of whoever uses one.
//
// What the suite waits for is bounded by seconds, so that it also runs against real servers; an implementation inside
// the process runs it in no time at all, see RunInstantly.
package queuetest

import (
	"testing"
	"testing/synctest"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

// Open makes an empty queue that nobody else uses, and cleans up after itself.
type Open func(t *testing.T) (queue.Sender, queue.Receiver)

// Run holds the queue to its guarantees by the clock on the wall, all tests side by side, each with a queue of its own.
// It leaves out the tests that would wait for minutes.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, c := range cases {
		if c.minutes {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newClient(t, open))
		})
	}
}

// RunInstantly is Run for a queue that does no I/O: each test has its own synctest bubble, in which waiting takes no
// time, and none is left out.
func RunInstantly(t *testing.T, open Open) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { c.run(newClient(t, open)) })
		})
	}
}

// testCase is one guarantee.
type testCase struct {
	name    string
	minutes bool // it waits for minutes, so that only an instant run has it
	run     func(c *client)
}

var cases = []testCase{
	{name: "wake-ups of a group come one at a time, in order", run: ordered},
	{name: "groups go side by side", run: sideBySide},
	{name: "order and exclusion hold among many senders and receivers", run: crowd},
	{name: "a wake-up comes as it was sent", run: bodies},
	{name: "names may use all printable ASCII", run: names},
	{name: "a duplicate is not delivered", run: duplicate},
	{name: "a duplicate is not delivered after its original is done", run: duplicateOfDone},
	{name: "a duplicate is delivered when its original is forgotten", minutes: true, run: duplicateOfForgotten},
	{name: "equal bodies are not duplicates", run: equalBodies},
	{name: "a lapsed wake-up comes again, before the rest of its group", run: lapse},
	{name: "a wake-up just received stays hidden for Visibility", minutes: true, run: visibility},
	{name: "extending counts from the call", run: extend},
	{name: "a wake-up given back comes again at once", run: giveBack},
	{name: "a wake-up given back for later keeps its group waiting", run: giveBackLater},
	{name: "a lapsed lease can't touch the next holder's wake-up", run: lapsedLease},
	{name: "a lease is over when its wake-up is done", run: doneLease},
	{name: "a receiver waits for what is sent later", run: receiveWaits},
	{name: "a receiver gives up with its context", run: receiveEnds},
	{name: "a receiver takes at most what it asks for", run: atMost},
	{name: "a receive outside its limits is invalid", run: receiveLimits},
	{name: "a message outside its limits is invalid", run: messageLimits},
	{name: "a visibility outside its limits is invalid and changes nothing", run: visibilityLimits},
	{name: "an ended context refuses", run: endedContext},
}
