package e2e

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	invocation "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/bobbin-agent/bobbin/localstack/deploy"
	"github.com/bobbin-agent/bobbin/localstack/emulator"
	"github.com/bobbin-agent/bobbin/localstack/poller"
	"github.com/bobbin-agent/bobbin/shared/aws/dynamo"
	"github.com/bobbin-agent/bobbin/shared/aws/s3"
	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/id"
	book "github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// deployedPatience is the promise about dead workers, and room for the emulator.
const deployedPatience = 90 * time.Second

// deployed is the stack on an emulator that enforces the policies of roles.
type deployed struct {
	*surroundings
	emulator *emulator.Server
	options  deploy.Options
	out      deploy.Outputs
	front    *httptest.Server // leads to the HTTP API, which only its Host header names
}

// startDeployed starts the emulator and deploys what `make build` has made.
func startDeployed(t testing.TB) *deployed {
	t.Helper()
	w := &deployed{surroundings: surround(t, deployedPatience)}
	var err error
	w.emulator, err = emulator.Start(t.Context(), emulator.Config{
		Product: emulator.Ministack, Env: []string{"AUTH=true", "AWS_ENDPOINT_URL=" + w.startGate(t).URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.emulator.Stop)
	bot, _, _ := strings.Cut(telegramtest.Token, ":")
	w.options = deploy.Options{
		Settings: map[string]string{
			"web-clearing": "on",
			"model":        "openai:test-model", "model-url": w.vendor.OpenAIURL(),
			"telegram-api": w.bot.URL(), "telegram-bot": bot, "telegram-rate": "off",
		},
		Secrets: map[string]string{
			config.TelegramToken: telegramtest.Token, config.TelegramSecret: webhookSecret, config.OpenAIKey: modelKey,
		},
	}
	w.deploy(t, nil)
	w.front = httptest.NewServer(w.api(t))
	t.Cleanup(w.front.Close)
	w.bot.SetWebhook(w.url()+"/telegram", webhookSecret)
	return w
}

// deploy brings the stack up to what it is with these settings more.
func (w *deployed) deploy(t testing.TB, more map[string]string) {
	t.Helper()
	begun, o := time.Now(), w.options
	o.Settings = maps.Clone(o.Settings)
	maps.Copy(o.Settings, more)
	out, err := deploy.Up(t.Context(), w.emulator.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	w.out = out
	t.Logf("deployed with %v in %v", more, time.Since(begun).Round(10*time.Millisecond))
}

// api leads to the HTTP API.
func (w *deployed) api(t testing.TB) http.Handler {
	t.Helper()
	to, err := url.Parse(w.out.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = w.out.Host
	}}
}

func (w *deployed) url() string { return w.front.URL }

func (w *deployed) table() table.Table { return dynamo.New(deploy.Config(w.out.Endpoint), w.out.Table) }

func (w *deployed) code(t testing.TB, name string) string {
	t.Helper()
	return w.codes(t, name, 1)[0]
}

func (w *deployed) home(t testing.TB) (page *browser, code string) {
	t.Helper()
	codes := w.codes(t, t.Name(), 2)
	page = &browser{url: w.url(), ctx: w.within(t)}
	page.pair(t, codes[0])
	return page, codes[1]
}

// codes makes pairing codes for one new owner.
func (w *deployed) codes(t testing.TB, name string, n int) (codes []string) {
	t.Helper()
	ctx, b := w.within(t), &book.Book{Table: w.table(), IDs: &id.Source{}}
	o, err := b.Add(ctx, name, time.Now())
	for range n {
		var code string
		if err == nil {
			code, err = b.NewCode(ctx, o.ID, time.Now())
		}
		codes = append(codes, code)
	}
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

// behind lets the minute's function look at once for what do has left.
func (w *deployed) behind(t testing.TB, do func(table.Table, blob.Blob)) {
	t.Helper()
	do(w.table(), s3.New(deploy.Config(w.out.Endpoint), w.out.Bucket))
	_, err := lambda.NewFromConfig(deploy.Config(w.out.Endpoint)).Invoke(w.within(t), &lambda.InvokeInput{
		FunctionName: aws.String(w.out.Functions["reap"]), Payload: []byte("{}"),
		InvocationType: invocation.InvocationTypeEvent, // as the clock invokes it
	})
	if err != nil {
		t.Fatalf("invoking the reaper: %v", err)
	}
}

// anew ends the runner's processes, once none is at work.
func (w *deployed) anew(t testing.TB) {
	t.Helper()
	ctx, client := w.within(t), sqs.NewFromConfig(deploy.Config(w.out.Endpoint))
	kinds := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}
	eventually(ctx, t, "no wake-up is left", func() bool {
		got, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &w.out.QueueURL, AttributeNames: kinds})
		if err != nil {
			t.Fatal(err)
		}
		return got.Attributes[string(kinds[0])] == "0" && got.Attributes[string(kinds[1])] == "0"
	})
	w.kill(t)
}

// kill kills the processes that the emulator runs the runner in.
func (w *deployed) kill(t testing.TB) {
	t.Helper()
	if w.killAll(t, "runner") == 0 {
		t.Fatal("the runner has no process to kill")
	}
}

// killAll kills all processes of a function and counts them.
func (w *deployed) killAll(t testing.TB, function string) (killed int) {
	t.Helper()
	for _, pid := range children(t, w.emulator.PID()) {
		if environ(pid)["AWS_LAMBDA_FUNCTION_NAME"] != w.out.Functions[function] {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed++
	}
	return killed
}

// children are the processes that a process has started.
func children(t testing.TB, parent int) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob("/proc/" + strconv.Itoa(parent) + "/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Fatalf("finding the children of process %d: %d threads, %v", parent, len(lists), err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// poll invokes the runner as AWS's mapping does: conversations side by side, where the emulator's goes one by one.
func (w *deployed) poll(t testing.TB) {
	t.Helper()
	p := poller.New(deploy.Config(w.out.Endpoint), w.out.QueueURL, w.out.Functions["runner"])
	p.Concurrency = 8 // as many as the one process has workers
	p.Failed = func(err error) { t.Logf("the poller: %v", err) }
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// setting is a variable of the environment.
func setting(variable string) string {
	value, _ := os.LookupEnv(variable)
	return value
}

// asked reports whether a variable is 1.
func asked(variable string) bool { return setting(variable) == "1" }

// Scenarios follow one another: the emulator's own mapping handles one wake-up at a time.
func TestDeployed(t *testing.T) {
	if !asked("BOBBIN_EMULATE") {
		t.Skip("left out: the stack on an emulator; `make emulate` runs it")
	}
	w := startDeployed(t)
	play := func(t *testing.T, scenarios []scenario) {
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) { s.play(t, w) })
		}
	}
	t.Run("with the mapping", func(t *testing.T) {
		play(t, asking)
		play(t, common)
		play(t, outliving)
		play(t, killing[:1])
	})
	t.Run("with a poller", func(t *testing.T) {
		w.deploy(t, map[string]string{"mapping": "off", "runner-timeout": "60", "turns": crowded.settings["turns"]})
		w.poll(t)
		play(t, parallel)
		long := beginLongTurn(t, w) // which holds one of the permits meanwhile
		play(t, []scenario{crowded})
		t.Run("a long turn is handed over", long.isHandedOver)
		play(t, killing)
		play(t, asking[:1])
	})
}
