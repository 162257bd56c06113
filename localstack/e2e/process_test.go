package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
)

// process is `bobbin` as anyone runs it: a process of its own, which fetches its updates.
type process struct {
	*surroundings
	data    string
	running *exec.Cmd
}

// binary builds the command once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bobbin-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "bobbin")
	out, err := exec.Command("go", "build", "-o", path, "../bobbin").CombinedOutput() //nolint:noctx // all tests wait for it
	if err != nil {
		err = &exec.Error{Name: "go build ../bobbin: " + string(out), Err: err}
	}
	return path, err
})

// removeBinary removes what binary has left, if it was called.
func removeBinary() {
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path)) // a leftover in the machine's temporary folder is not worth failing for
	}
}

func startProcess(t testing.TB) *process {
	t.Helper()
	w := &process{surroundings: surround(t, localPatience), data: t.TempDir()}
	w.start(t)
	t.Cleanup(func() { w.end(t, os.Interrupt) })
	return w
}

func (w *process) command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...) //nolint:noctx // it ends with end
	cmd.Stderr = t.Output()
	cmd.Env = []string{
		"BOBBIN_DATA=" + w.data, "BOBBIN_ADDR=127.0.0.1:0",
		"BOBBIN_MODEL=openai:test-model", "BOBBIN_MODEL_URL=" + w.vendor.OpenAIURL(), "OPENAI_API_KEY=" + modelKey,
		"BOBBIN_TELEGRAM_TOKEN=" + telegramtest.Token, "BOBBIN_TELEGRAM_API=" + w.bot.URL(), "BOBBIN_TELEGRAM_RATE=off",
	}
	return cmd
}

// start starts the process. That it is there shows when it fetches updates.
func (w *process) start(t testing.TB) {
	t.Helper()
	w.running = w.command(t)
	if err := w.running.Start(); err != nil {
		t.Fatal(err)
	}
}

func (w *process) end(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := w.running.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	err := w.running.Wait()
	if signal != os.Kill && err != nil {
		t.Errorf("bobbin ended with: %v", err)
	}
}

// code asks the command, which asks the process or, while that is not up yet, makes the code itself.
func (w *process) code(t testing.TB, name string) string {
	t.Helper()
	var out []byte
	eventually(w.within(t), t, "a pairing code is there", func() (ok bool) {
		var err error
		out, err = w.command(t, "pair", "-owner", name).Output()
		return err == nil
	})
	return strings.TrimSpace(string(bytes.TrimSpace(out)))
}

func (w *process) anew(t testing.TB) {
	t.Helper()
	w.end(t, os.Interrupt)
	w.start(t)
}

// kill leaves the process no time for anything; whoever runs it starts it again.
func (w *process) kill(t testing.TB) {
	t.Helper()
	w.end(t, os.Kill)
	w.start(t)
}
