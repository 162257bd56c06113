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
	name     string
	settings map[string]string // of the world, named as the stack's; nil for any
	play     func(testing.TB, world)
}

// common are the scenarios that any world with a webhook goes through. On the deployed stack one follows the other.
var common = []scenario{
	{"a code pairs once", nil, codePairsOnce},
	{"a wrong code pairs nobody", nil, wrongCodePairsNobody},
	{"a stranger gets one fixed reply", nil, strangerGetsOneFixedReply},
	{"a burst is answered in order", nil, burstIsAnsweredInOrder},
	{"what is sent to a working turn is answered by it", nil, whatIsSentToAWorkingTurnIsAnsweredByIt},
	{"a long reply comes in parts, in order", nil, longReplyComesInPartsInOrder},
	{"Telegram's request to wait is honoured", nil, telegramsRequestToWaitIsHonoured},
	{"refused markup is sent as plain text", nil, refusedMarkupIsSentAsPlainText},
	{"a blocked bot's reply is held and seen", nil, blockedBotsReplyIsHeldAndSeen},
	{"samples make the right turns", nil, samplesMakeTheRightTurns},
	{"the same body makes one turn", nil, sameBodyMakesOneTurn},
	{"a body that is too large is refused", nil, bodyThatIsTooLargeIsRefused},
	{"a turn without wake-up is started", nil, turnWithoutWakeUpIsStarted},
	{"a dead worker's turn is told", nil, deadWorkersTurnIsTold},
	{"a lost transcript is said", nil, lostTranscriptIsSaid},
	{"the page is answered", nil, pageIsAnswered},
	{"a stop ends what runs and what waits", nil, stopEndsWhatRunsAndWhatWaits},
	{"the page's stop ends what runs", nil, pageStopEndsWhatRuns},
	{"a late stop spares what was sent after it", nil, lateStopSparesWhatWasSentAfterIt},
	{"a stop of a dead process is carried out", nil, stopOfADeadProcessIsCarriedOut},
	{"the page withdraws what waits", nil, pageWithdrawsWhatWaits},
	{"a question is answered by a reply", nil, questionIsAnsweredByAReply},
	{"a model that repeats itself is ended", nil, modelThatRepeatsItselfIsEnded},
	{"a reset forgets the conversation", nil, resetForgetsTheConversation},
	{"the page clears the conversation", nil, pageClearsTheConversation},
}

// alone are those for what the one process has: a page that streams, tools of the test, settings that cost no deployment.
var alone = []scenario{
	{"the page streams", nil, pageStreams},
	{"a stop ends a turn whose tool does not end", nil, stopEndsATurnWhoseToolDoesNotEnd},
	{"a confirmed action is made once", nil, confirmedActionIsMadeOnce},
	{"a message to a busy session is refused", refusing, messageToABusySessionIsRefused},
	{"a burst becomes one turn", gathering, burstBecomesOneTurn},
	crowded,
}

// outliving are those in which another worker goes on from what one has left.
var outliving = []scenario{
	{"another worker remembers", nil, anotherWorkerRemembers},
	{"a question outlives its worker", nil, questionOutlivesItsWorker},
}

// asking are those that show how the model's vendor is spoken to.
var asking = []scenario{
	{"a message is answered", nil, messageIsAnswered},
	{"a tool is used", nil, toolIsUsed},
	{"turn two knows turn one", nil, turnTwoKnowsTurnOne},
	{"an overloaded model is asked again", nil, overloadedModelIsAskedAgain},
	{"a refused key is told in one line", nil, refusedKeyIsToldInOneLineWithoutTheKey},
	{"the provider's words come without the key", nil, providersWordsComeWithoutTheKey},
}

// parallel are those that need several wake-ups to be worked on at once.
var parallel = []scenario{
	{"two persons' turns run together", nil, twoPersonsTurnsRunTogether},
	{"two turns of one never do", nil, twoTurnsOfOneNeverDo},
	{"a full queue is told", nil, fullQueueIsTold},
	{"a reset waits for what runs", nil, resetWaitsForWhatRuns},
}

// killing are those in which the worker dies.
var killing = []scenario{
	{"a killed turn is told and the next answered", nil, killedTurnIsToldAndTheNextAnswered},
	{"a killed turn does not take the queue with it", nil, killedTurnDoesNotTakeTheQueueWithIt},
}

func TestMain(m *testing.M) {
	code := m.Run()
	removeBinary()
	os.Exit(code)
}

// Each scenario has a world of its own, so that all run side by side.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(common, outliving, parallel, alone) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.play(t, startInProcess(t, "anthropic:test-model", s.settings))
		})
	}
	for _, choice := range []string{"anthropic:test-model", "openai:test-model"} {
		for _, s := range asking {
			t.Run(choice+" "+s.name, func(t *testing.T) {
				t.Parallel()
				s.play(t, startInProcess(t, choice, s.settings))
			})
		}
	}
}

func TestProcessOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(killing, outliving) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.play(t, startProcess(t))
		})
	}
}
