// Package e2e takes Bobbin as its owner meets it: a webhook's HTTP request goes in, the Bot API's call comes out. The
// messenger is a fake Bot API server, the model a fake vendor's server, both over HTTP in the vendors' protocols.
//
// A scenario is a function over a world, which is one way of running Bobbin: the one process, inside the test; the
// command `bobbin` as a process that can be killed; and the stack, deployed to an emulator of AWS with its policies
// enforced, when BOBBIN_EMULATE is 1. Nothing sleeps: whoever waits, waits for the fakes.
package e2e

import (
	"os"
	"slices"
	"testing"
)

// scenario is what a world is put through.
type scenario struct {
	name string
	play func(testing.TB, world)
}

// common are the scenarios that any world with a webhook goes through. On the deployed stack one follows the other.
var common = []scenario{
	{"a code pairs once", codePairsOnce},
	{"a wrong code pairs nobody", wrongCodePairsNobody},
	{"a stranger gets one fixed reply", strangerGetsOneFixedReply},
	{"another worker remembers", anotherWorkerRemembers},
	{"a burst is answered in order", burstIsAnsweredInOrder},
	{"what is sent to a working turn is answered by it", whatIsSentToAWorkingTurnIsAnsweredByIt},
	{"a long reply comes in parts, in order", longReplyComesInPartsInOrder},
	{"Telegram's request to wait is honoured", telegramsRequestToWaitIsHonoured},
	{"refused markup is sent as plain text", refusedMarkupIsSentAsPlainText},
	{"a blocked bot's reply is held and seen", blockedBotsReplyIsHeldAndSeen},
	{"samples make the right turns", samplesMakeTheRightTurns},
	{"the same body makes one turn", sameBodyMakesOneTurn},
	{"a body that is too large is refused", bodyThatIsTooLargeIsRefused},
	{"a turn without wake-up is started", turnWithoutWakeUpIsStarted},
	{"a dead worker's turn is told", deadWorkersTurnIsTold},
	{"a lost transcript is said", lostTranscriptIsSaid},
	{"the page is answered", pageIsAnswered},
}

// asking are those that show how the model's vendor is spoken to.
var asking = []scenario{
	{"a message is answered", messageIsAnswered},
	{"a tool is used", toolIsUsed},
	{"turn two knows turn one", turnTwoKnowsTurnOne},
	{"an overloaded model is asked again", overloadedModelIsAskedAgain},
	{"a refused key is told in one line", refusedKeyIsToldInOneLineWithoutTheKey},
	{"the provider's words come without the key", providersWordsComeWithoutTheKey},
}

// parallel are those that need several turns to run at once.
var parallel = []scenario{
	{"two persons' turns run together", twoPersonsTurnsRunTogether},
	{"two turns of one never do", twoTurnsOfOneNeverDo},
}

// killing are those in which the worker dies.
var killing = []scenario{
	{"a killed turn is told and the next answered", killedTurnIsToldAndTheNextAnswered},
	{"a killed turn does not take the queue with it", killedTurnDoesNotTakeTheQueueWithIt},
}

func TestMain(m *testing.M) {
	code := m.Run()
	removeBinary()
	os.Exit(code)
}

// Each scenario has a world of its own, so that all run side by side.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(common, parallel, []scenario{{"the page streams", pageStreams}}) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.play(t, startInProcess(t, "anthropic:test-model"))
		})
	}
	for _, choice := range []string{"anthropic:test-model", "openai:test-model"} {
		for _, s := range asking {
			t.Run(choice+" "+s.name, func(t *testing.T) {
				t.Parallel()
				s.play(t, startInProcess(t, choice))
			})
		}
	}
}

func TestProcessOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(killing, []scenario{{"another worker remembers", anotherWorkerRemembers}}) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.play(t, startProcess(t))
		})
	}
}
