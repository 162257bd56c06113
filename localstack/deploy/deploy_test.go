package deploy

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/config"
)

// fakeBuild is a folder as `make build` would make it, with empty bootstraps.
func fakeBuild(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range functions {
		writeFile(t, filepath.Join(dir, f, "bootstrap"), "")
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestMissingNodeIsToldApart(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Up(t.Context(), "http://127.0.0.1:1", Options{Root: t.TempDir(), Build: fakeBuild(t)})
	if !errors.Is(err, ErrNoNode) {
		t.Errorf("error %v, want ErrNoNode", err)
	}
}

func TestMissingNpmIsToldApart(t *testing.T) {
	bin := t.TempDir()
	writeFile(t, filepath.Join(bin, "node"), "#!/bin/sh\n")
	t.Setenv("PATH", bin)
	_, err := Up(t.Context(), "http://127.0.0.1:1", Options{Root: t.TempDir(), Build: fakeBuild(t)})
	if !errors.Is(err, ErrNoNode) {
		t.Errorf("error %v, want ErrNoNode", err)
	}
}

func TestABrokenInstallationLeavesNothingBehind(t *testing.T) {
	bin, root := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(bin, "node"), "#!/bin/sh\n")
	writeFile(t, filepath.Join(bin, "npm"), "#!/bin/sh\necho the registry is away\nexit 7\n")
	t.Setenv("PATH", bin)
	_, err := Up(t.Context(), "http://127.0.0.1:1", Options{Root: root, Build: fakeBuild(t)})
	if err == nil || !strings.Contains(err.Error(), "installing the CDK's command line: exit status 7") ||
		!strings.Contains(err.Error(), "the registry is away") {
		t.Errorf("error %v, want what was being done and what npm said", err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".tools", "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMissingBootstrapSaysHowToMakeIt(t *testing.T) {
	t.Parallel()
	build := fakeBuild(t)
	if err := os.Remove(filepath.Join(build, "reap", "bootstrap")); err != nil {
		t.Fatal(err)
	}
	_, err := Up(t.Context(), "http://127.0.0.1:1", Options{Root: t.TempDir(), Build: build})
	if err == nil || !strings.Contains(err.Error(), "make build") || !strings.Contains(err.Error(), "reap/bootstrap") {
		t.Errorf("error %v, want the missing file and the way to make it", err)
	}
}

func TestAddressWithoutHostIsRefused(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"", "127.0.0.1:4566", "http:///"} {
		if _, err := Up(t.Context(), endpoint, Options{}); err == nil || !strings.Contains(err.Error(), "address") {
			t.Errorf("endpoint %q: error %v, want one about the address", endpoint, err)
		}
	}
}

func TestSettingsAskedForGoBeforeTheEmulators(t *testing.T) {
	t.Parallel()
	got := settings(Options{Build: "/b", Settings: map[string]string{"stage": "other", "mapping": "off"}})
	want := map[string]string{
		"arch": runtime.GOARCH, "build": "/b", "retain": "off", "synthesizer": "cli", "tls": "off",
		"stage": "other", "mapping": "off",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// local is a deployment to an address where nothing is.
func local(t *testing.T) deployment {
	t.Helper()
	u, err := url.Parse("http://127.0.0.1:4566")
	if err != nil {
		t.Fatal(err)
	}
	return deployment{root: t.TempDir(), endpoint: u, settings: map[string]string{"stage": "main"}, log: io.Discard}
}

func TestToolsNeverSeeTheUsersOwnAWS(t *testing.T) {
	t.Setenv("AWS_PROFILE", "mine")
	t.Setenv("AWS_SESSION_TOKEN", "mine")
	t.Setenv("AWS_ACCESS_KEY_ID", "mine")
	t.Setenv("AWS_CONFIG_FILE", "mine")
	env := local(t).environ()
	for _, entry := range env {
		if strings.HasPrefix(entry, "AWS_") && strings.HasSuffix(entry, "=mine") {
			t.Errorf("a tool would see %s", entry)
		}
	}
	for _, want := range []string{"AWS_ENDPOINT_URL=http://127.0.0.1:4566", "AWS_ACCESS_KEY_ID=test"} {
		if !slices.Contains(env, want) {
			t.Errorf("a tool would not see %s", want)
		}
	}
}

func TestAToolEndsWithItsContextAndAllItsChildren(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d := local(t)
	started := &signal{said: make(chan struct{})}
	d.log = started
	go func() {
		<-started.said
		cancel()
	}()
	begun := time.Now()
	// The child keeps the output open: only its end, or the end of patience, lets run return.
	err := d.run(ctx, "waiting", t.TempDir(), "sh", "-c", "sleep 60 & echo on; wait")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if took := time.Since(begun); took >= grace {
		t.Errorf("it took %v: the child outlived its parent", took)
	}
}

// signal closes its channel at the first write.
type signal struct {
	said chan struct{}
	done bool
}

func (s *signal) Write(p []byte) (int, error) {
	if !s.done {
		s.done = true
		close(s.said)
	}
	return len(p), nil
}

func TestErrorsShowTheLastWholeLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line that is too early to be shown\n", 100) + "the cause\n"
	got := string(last([]byte(long)))
	if !strings.HasSuffix(got, "the cause") || !strings.HasPrefix(got, "a line") || len(got) > lastBytes {
		t.Errorf("%d bytes: %.40q … %q", len(got), got, got[len(got)-20:])
	}
	if got := string(last([]byte("short\n"))); got != "short" {
		t.Errorf("got %q", got)
	}
}

const wholeOutputs = `{"Bobbin-main": {
	"Address": "http://abc.execute-api.localhost:4566", "ApiId": "abc", "Table": "t", "Bucket": "b",
	"QueueUrl": "http://localhost:4566/q.fifo",
	"Telegram": "f1", "Web": "f2", "Runner": "f3", "Reap": "f4"
}}`

func TestOutputsAreReadFromWhatTheCommandLineWrote(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outputs.json")
	writeFile(t, path, wholeOutputs)
	got, err := local(t).readOutputs(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Outputs{
		Endpoint: "http://127.0.0.1:4566", Host: "abc.execute-api.localhost:4566",
		Table: "t", Bucket: "b", QueueURL: "http://localhost:4566/q.fifo",
		Functions: map[string]string{"telegram": "f1", "web": "f2", "runner": "f3", "reap": "f4"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOutputsThatAreNotWholeAreAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `{"Bobbin-other": {}}`,
		strings.Replace(wholeOutputs, `"ApiId": "abc", `, "", 1), strings.Replace(wholeOutputs, `"Runner"`, `"Walker"`, 1),
	} {
		path := filepath.Join(t.TempDir(), "outputs.json")
		writeFile(t, path, text)
		if out, err := local(t).readOutputs(path); err == nil {
			t.Errorf("%s: got %+v and no error", text, out)
		}
	}
}

func TestFunctionsAndSecretsAreThoseOfTheStack(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./grants")
	cmd.Dir = filepath.Join("..", "..", "infra")
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	named, secrets := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		id, _, _ := strings.Cut(line, "\t") // function/action or function/action/secret
		parts := strings.Split(id, "/")
		named[parts[0]] = true
		if len(parts) == 3 {
			secrets[parts[2]] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(functions)), slices.Sorted(maps.Keys(named))); diff != "" {
		t.Errorf("functions (-here +infra)\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(config.Variables)), slices.Sorted(maps.Keys(secrets))); diff != "" {
		t.Errorf("secrets (-shared/config +infra)\n%s", diff)
	}
}
