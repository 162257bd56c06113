package emulator_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/localstack/emulator"
)

// asChild makes the test binary start a server, print its address, and wait to be killed.
const asChild = "EMULATOR_TEST_CHILD"

func TestMain(m *testing.M) {
	if _, child := os.LookupEnv(asChild); child {
		s, err := emulator.Start(context.Background(), emulator.Config{Product: emulator.Ministack})
		if err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString(s.URL + "\n")
		select {}
	}
	os.Exit(m.Run())
}

func start(t *testing.T, p emulator.Product) *emulator.Server {
	t.Helper()
	s, err := emulator.Start(t.Context(), emulator.Config{Product: p})
	if emulator.Missing(err) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func TestServerIsReadyAfterStartAndGoneAfterStop(t *testing.T) {
	t.Parallel()
	s := start(t, emulator.Ministack)
	if !reachable(t, s.URL) {
		t.Errorf("%s is not there after Start", s.URL)
	}
	s.Stop()
	s.Stop()
	if reachable(t, s.URL) {
		t.Errorf("%s is still there after Stop", s.URL)
	}
}

func TestServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	start(t, emulator.Ministack).Stop() // skips where there can't be one; installs outside the child's time
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), asChild+"=1", "TMPDIR="+t.TempDir()) // nobody else tidies up after one that was killed
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	url = strings.TrimSpace(url)
	if err != nil || !reachable(t, url) {
		t.Fatalf("the child's server is not there: %q, %v", url, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	for deadline := time.Now().Add(10 * time.Second); reachable(t, url); {
		if time.Now().After(deadline) {
			t.Fatal("the server outlives its parent")
		}
	}
}

func TestInstallersAtOnceEndWithOneInstallation(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	tiny := emulator.Tiny() // a product that installs in a moment
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			python, err := emulator.Install(t.Context(), tools, tiny)
			if emulator.Missing(err) {
				return
			}
			if err != nil {
				t.Error(err)
			} else if _, err := os.Stat(python); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func TestInstallationBrokenOffIsBegunAnew(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	tiny := emulator.Tiny()
	rest := filepath.Join(tools, tiny.Name+"-"+tiny.Version, "bin", "python")
	if err := os.MkdirAll(rest, 0o750); err != nil { // a folder where the program belongs
		t.Fatal(err)
	}
	python, err := emulator.Install(t.Context(), tools, tiny)
	if emulator.Missing(err) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(python); err != nil || info.IsDir() {
		t.Errorf("%s: %v, %v", python, info, err)
	}
}

func TestNoPythonIsToldApart(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := emulator.Start(t.Context(), emulator.Config{Product: emulator.Ministack, Tools: t.TempDir()})
	if !errors.Is(err, emulator.ErrNoPython) || !emulator.Missing(err) {
		t.Errorf("got error %v, want ErrNoPython", err)
	}
}

func TestPackagesOutOfReachAreToldApart(t *testing.T) {
	t.Setenv("PIP_NO_INDEX", "1") // pip then looks nowhere
	_, err := emulator.Start(t.Context(), emulator.Config{Product: emulator.Ministack, Tools: t.TempDir()})
	if errors.Is(err, emulator.ErrNoPython) {
		t.Skip(err)
	}
	if !errors.Is(err, emulator.ErrNoPackages) || !emulator.Missing(err) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got error %v, want ErrNoPackages in one line", err)
	}
}

func reachable(t *testing.T, url string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}
