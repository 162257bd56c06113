package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bobbin-agent/bobbin/localstack/deploy"
)

// shortPatience bounds a scenario of the short run. It is below the ten seconds after which the reaper looks for a turn
// that nobody has started: whoever lacks a grant is not to be helped out.
const shortPatience = 9 * time.Second

// short are the scenarios that need every grant of the functions.
var short = []scenario{
	{"turn two knows turn one", nil, turnTwoKnowsTurnOne},
	{"a tool is used", nil, toolIsUsed},
	{"a burst is answered in order", nil, burstIsAnsweredInOrder},
	{"Telegram's request to wait is honoured", nil, telegramsRequestToWaitIsHonoured},
	{"the page is answered", nil, pageIsAnswered},
	{"a turn without wake-up is started", nil, turnWithoutWakeUpIsStarted},
	{"a dead worker's turn is told", nil, deadWorkersTurnIsTold},
	{"a lost transcript is said", nil, lostTranscriptIsSaid},
	{"a stop ends what runs and what waits", nil, stopEndsWhatRunsAndWhatWaits},
	{"a stop of a dead process is carried out", nil, stopOfADeadProcessIsCarriedOut},
}

// trial is a test whose failure is no failure, but a result.
type trial struct {
	testing.TB
	ctx  context.Context //nolint:containedctx // Context's result
	name string
	said []string // what went wrong
}

func (r *trial) Context() context.Context { return r.ctx }
func (r *trial) Name() string             { return r.name }
func (r *trial) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *trial) Error(args ...any) { r.said = append(r.said, fmt.Sprint(args...)) }

func (r *trial) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *trial) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

// try plays the short run up to its first failure and returns what that says; "" when all went well.
func (w *deployed) try(t *testing.T, label string) string {
	t.Helper()
	for _, s := range short {
		r := &trial{TB: t, ctx: t.Context(), name: label + " " + s.name}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.play(r, w)
		}()
		<-ended
		if len(r.said) > 0 {
			return s.name + ": " + r.said[0]
		}
	}
	return ""
}

// refresh ends what the functions remember, secrets and credentials, and what a failed run has left in the queue.
func (w *deployed) refresh(t *testing.T) {
	t.Helper()
	for name := range w.out.Functions {
		w.killAll(t, name)
	}
	_, err := sqs.NewFromConfig(deploy.Config(w.out.Endpoint)).PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &w.out.QueueURL})
	if err != nil {
		t.Fatal(err)
	}
}

// grants lists the IDs of the grants that our own code needs with the model of this world.
func (w *deployed) grants(t *testing.T) (ids []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./grants", w.options.Settings["model"])
	cmd.Dir = "../../infra"
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Split(line, "\t"); fields[1] == "ours" {
			ids = append(ids, fields[0])
		}
	}
	return ids
}

// Each grant is taken away in turn, from the stack in place; then something must fail. At the end nothing does.
func TestGrants(t *testing.T) {
	if !asked("BOBBIN_GRANTS") {
		t.Skip("left out: that each grant is needed; `make grants` shows it")
	}
	w := startDeployed(t)
	w.patience = shortPatience
	w.control(t, "before")
	only := setting("BOBBIN_GRANT")
	for _, id := range w.grants(t) {
		if only != "" && !slices.Contains(strings.Fields(only), id) {
			continue
		}
		w.deploy(t, map[string]string{"without": id})
		w.refresh(t)
		failure := w.try(t, id)
		if failure == "" {
			t.Errorf("%-55s is not needed: the short run passes without it", id)
			continue
		}
		first, _, _ := strings.Cut(failure, "\n")
		t.Logf("%-55s is needed: %s", id, first)
	}
	w.deploy(t, nil)
	w.refresh(t)
	w.control(t, "after")
}

// control expects the short run to pass with all grants.
func (w *deployed) control(t *testing.T, when string) {
	t.Helper()
	begun := time.Now()
	if failure := w.try(t, when); failure != "" {
		t.Fatalf("%s, with all grants: %s", when, failure)
	}
	t.Logf("%s, with all grants, the short run passes in %v", when, time.Since(begun).Round(10*time.Millisecond))
}
