package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/local/bolt"
)

// asCommand is the variable that makes the test binary the command.
const asCommand = "BOBBIN_TEST_AS_COMMAND"

// endsWithin bounds one process, which takes a fraction of a second.
const endsWithin = time.Minute

func TestMain(m *testing.M) {
	if _, command := config.Environment()(asCommand); command {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	modelKey = "sk-hush-model-key-0123456789"
	botToken = "123456789:hush-token-AAAAAAAAAAAAAAAAAAAAAAA"
)

// ended is how a process went.
type ended struct {
	code           int
	stdout, stderr string
}

// bobbin runs the command with these variables on top of those of a process that would run well.
func bobbin(t *testing.T, variables map[string]string, args ...string) ended {
	t.Helper()
	env := map[string]string{
		asCommand: "1", "BOBBIN_DATA": filepath.Join(t.TempDir(), "data"), "BOBBIN_ADDR": "127.0.0.1:0", "BOBBIN_MODEL": "scripted",
	}
	maps.Copy(env, variables)
	ctx, cancel := context.WithTimeout(t.Context(), endsWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = []string{}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// refuses asks for the one line that names all of the words.
func refuses(t *testing.T, got ended, words ...string) {
	t.Helper()
	line, rest, _ := strings.Cut(got.stderr, "\n")
	if got.code != 1 || rest != "" || !strings.HasPrefix(line, "bobbin: ") {
		t.Errorf("ended with %d and on standard error\n%s\nwant 1 and one line that begins with %q", got.code, got.stderr, "bobbin: ")
	}
	for _, word := range words {
		if !strings.Contains(line, word) {
			t.Errorf("%q does not say %q", line, word)
		}
	}
	if strings.Contains(got.stdout+got.stderr, "hush") {
		t.Errorf("there is a secret in\n%s%s", got.stdout, got.stderr)
	}
}

// answering is a server that answers everything alike, in JSON.
func answering(t *testing.T, status int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

type variables = map[string]string

func TestAWrongSettingEndsInOneLineThatNamesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set   variables
		words []string
	}{
		"unknown provider":        {variables{"BOBBIN_MODEL": "nosuch:model"}, []string{"BOBBIN_MODEL", "nosuch"}},
		"no provider":             {variables{"BOBBIN_MODEL": ":model"}, []string{"BOBBIN_MODEL"}},
		"no model's name":         {variables{"BOBBIN_MODEL": "openai"}, []string{"BOBBIN_MODEL"}},
		"no key of Anthropic":     {variables{"BOBBIN_MODEL": "anthropic:m", "OPENAI_API_KEY": modelKey}, []string{"ANTHROPIC_API_KEY"}},
		"no key of OpenAI":        {variables{"BOBBIN_MODEL": "openai:m", "ANTHROPIC_API_KEY": modelKey}, []string{"OPENAI_API_KEY"}},
		"address without model":   {variables{"BOBBIN_MODEL": "", "BOBBIN_MODEL_URL": "http://127.0.0.1:1"}, []string{"BOBBIN_MODEL=", "BOBBIN_MODEL_URL"}},
		"model's address":         {variables{"BOBBIN_MODEL_URL": "owner:hush@127.0.0.1"}, []string{"BOBBIN_MODEL_URL"}},
		"Bot API's address":       {variables{"BOBBIN_TELEGRAM_API": "owner:hush@127.0.0.1"}, []string{"BOBBIN_TELEGRAM_API"}},
		"other machines' address": {variables{"BOBBIN_ADDR": "0.0.0.0:0"}, []string{"BOBBIN_ADDR", "loopback"}},
		"no address":              {variables{"BOBBIN_ADDR": "127.0.0.1:http"}, []string{"BOBBIN_ADDR"}},
		"a file for a folder":     {variables{"BOBBIN_DATA": os.Args[0]}, []string{"BOBBIN_DATA"}},
		"a folder below a file":   {variables{"BOBBIN_DATA": filepath.Join(os.Args[0], "data")}, []string{"BOBBIN_DATA"}},
		"malformed token":         {variables{"BOBBIN_TELEGRAM_TOKEN": "hush"}, []string{"BOBBIN_TELEGRAM_TOKEN"}},
		"hook without token":      {variables{"BOBBIN_TELEGRAM_WEBHOOK_SECRET": "hush"}, []string{"BOBBIN_TELEGRAM_TOKEN"}},
		"rate":                    {variables{"BOBBIN_TELEGRAM_RATE": "fast"}, []string{"BOBBIN_TELEGRAM_RATE"}},
		"workers":                 {variables{"BOBBIN_WORKERS": "none"}, []string{"BOBBIN_WORKERS"}},
		"two at once":             {variables{"BOBBIN_WORKERS": "0", "BOBBIN_ADDR": "here"}, []string{"BOBBIN_WORKERS", "BOBBIN_ADDR"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuses(t, bobbin(t, c.set), c.words...)
		})
	}
}

func TestWhatTheOtherSideRefusesEndsTheProcessInOneLine(t *testing.T) {
	t.Parallel()
	const (
		noKey   = `{"error":{"message":"Incorrect API key provided: ` + modelKey + `.\nFind yours\nelsewhere.","type":"authentication_error"}}`
		noModel = `{"error":{"message":"The model 'no-such' does not exist","type":"not_found_error"}}`
		noToken = `{"ok":false,"error_code":401,"description":"Unauthorized"}`
		taken   = `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`
		hooked  = `{"ok":false,"error_code":409,"description":"Conflict: can't use getUpdates method while webhook is active"}`
	)
	for name, c := range map[string]struct {
		set    variables
		at     string // the variable of the other side's address
		status int
		body   string
		words  []string
	}{
		"key of Anthropic":   {variables{"BOBBIN_MODEL": "anthropic:m", "ANTHROPIC_API_KEY": modelKey}, "BOBBIN_MODEL_URL", 401, noKey, []string{"ANTHROPIC_API_KEY"}},
		"key of OpenAI":      {variables{"BOBBIN_MODEL": "openai:m", "OPENAI_API_KEY": modelKey}, "BOBBIN_MODEL_URL", 401, noKey, []string{"OPENAI_API_KEY"}},
		"model of Anthropic": {variables{"BOBBIN_MODEL": "anthropic:no-such", "ANTHROPIC_API_KEY": modelKey}, "BOBBIN_MODEL_URL", 404, noModel, []string{"BOBBIN_MODEL"}},
		"model of OpenAI":    {variables{"BOBBIN_MODEL": "openai:no-such", "OPENAI_API_KEY": modelKey}, "BOBBIN_MODEL_URL", 404, noModel, []string{"BOBBIN_MODEL"}},
		"model of Ollama":    {variables{"BOBBIN_MODEL": "ollama:no-such"}, "BOBBIN_MODEL_URL", 404, noModel, []string{"BOBBIN_MODEL"}},
		"token":              {variables{"BOBBIN_TELEGRAM_TOKEN": botToken}, "BOBBIN_TELEGRAM_API", 401, noToken, []string{"BOBBIN_TELEGRAM_TOKEN"}},
		"token with a hook":  {variables{"BOBBIN_TELEGRAM_TOKEN": botToken, "BOBBIN_TELEGRAM_WEBHOOK_SECRET": "hush"}, "BOBBIN_TELEGRAM_API", 401, noToken, []string{"BOBBIN_TELEGRAM_TOKEN"}},
		"bot of another":     {variables{"BOBBIN_TELEGRAM_TOKEN": botToken}, "BOBBIN_TELEGRAM_API", 409, taken, []string{"BOBBIN_TELEGRAM_TOKEN", "stop it"}},
		"bot with a hook":    {variables{"BOBBIN_TELEGRAM_TOKEN": botToken}, "BOBBIN_TELEGRAM_API", 409, hooked, []string{"BOBBIN_TELEGRAM_TOKEN", "webhook"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.set[c.at] = answering(t, c.status, c.body)
			refuses(t, bobbin(t, c.set), c.words...)
		})
	}
}

func TestATakenPortIsNamed(t *testing.T) {
	t.Parallel()
	other, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	address := other.Addr().String()
	refuses(t, bobbin(t, variables{"BOBBIN_ADDR": address}), "BOBBIN_ADDR", address)
}

func TestAFolderThatMayNotBeWrittenIsNamed(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // who may write everywhere but there
		if runtime.GOOS != "linux" {
			t.Skip("left out the folder that may not be written: root may write all of them here")
		}
		folder = "/proc/bobbin"
	}
	refuses(t, bobbin(t, variables{"BOBBIN_DATA": folder}), "BOBBIN_DATA", folder)
	refuses(t, bobbin(t, variables{"BOBBIN_DATA": folder}, "pair"), "BOBBIN_DATA", folder)
}

func TestAFolderInUseIsNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store, err := bolt.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	refuses(t, bobbin(t, variables{"BOBBIN_DATA": folder}), "BOBBIN_DATA", folder)
	refuses(t, bobbin(t, variables{"BOBBIN_DATA": folder}, "pair"), "BOBBIN_DATA", folder)
}

func TestAControlFileThatCanNotBeWrittenIsNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "control.json", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	refuses(t, bobbin(t, variables{"BOBBIN_DATA": folder}), "BOBBIN_DATA", "control.json")
}

func TestAWrongCommandLineEndsInOneLineWithTheRightOne(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"serve"}, {"-verbose"}, {"pair", "more"}, {"pair", "-nosuch"}, {"pair", "-count", "many"}, {"pair", "-count"},
	} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			t.Parallel()
			refuses(t, bobbin(t, nil, args...), "bobbin pair [-count N] [-owner NAME]")
		})
	}
	refuses(t, bobbin(t, nil, "pair", "-count", "0"), "-count")
	refuses(t, bobbin(t, variables{"BOBBIN_TABLE": "table"}, "pair"), "BOBBIN_TABLE")
}

func TestHelpIsGivenToWhoAsksForIt(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}, {"pair", "-h"}} {
		if got := bobbin(t, nil, args...); got != (ended{0, usage + "\n", ""}) {
			t.Errorf("%q ends with %+v", args, got)
		}
	}
}

func TestPairPrintsOneCodeALine(t *testing.T) {
	t.Parallel()
	got := bobbin(t, nil, "pair", "-count", "3", "-owner", "Ann")
	if got.code != 0 || got.stderr != "" || len(strings.Fields(got.stdout)) != 3 || strings.Count(got.stdout, "\n") != 3 {
		t.Errorf("ends with %+v, want three codes and nothing else", got)
	}
}
