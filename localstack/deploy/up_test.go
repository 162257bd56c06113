//go:build emulate

package deploy

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/localstack/emulator"
	"github.com/bobbin-agent/bobbin/localstack/poller"
)

// These tests deploy for real, with the probe in place of every function. They build the CDK app, which takes minutes
// and a gigabyte the first time, and so run only under the tag emulate.

// buildProbe makes the folder that `make build` would make.
func buildProbe(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	probe := filepath.Join(dir, "bootstrap")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", probe, "./testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the probe: %v\n%s", err, out)
	}
	for _, f := range functions {
		if err := os.Mkdir(filepath.Join(dir, f), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(probe, filepath.Join(dir, f, "bootstrap")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// start starts an emulator that enforces policies.
func start(t *testing.T) string {
	t.Helper()
	server, err := emulator.Start(t.Context(), emulator.Config{Product: emulator.Ministack, Env: []string{"AUTH=true"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server.URL
}

// up deploys and logs how long it took.
func up(t *testing.T, endpoint string, o Options) Outputs {
	t.Helper()
	begun := time.Now()
	out, err := Up(t.Context(), endpoint, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("deployed in %v", time.Since(begun).Round(10*time.Millisecond))
	return out
}

// ask sends a request to the HTTP API and returns what the probe answers: the error code of each call it tried.
func ask(t *testing.T, out Outputs, method, path string) map[string]string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, out.Endpoint+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = out.Host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answers(t, body)
}

func answers(t *testing.T, body []byte) map[string]string {
	t.Helper()
	var codes map[string]string
	if err := json.Unmarshal(body, &codes); err != nil {
		t.Fatalf("the answer is %s: %v", body, err)
	}
	return codes
}

// invoke asks the probe by an invocation.
func invoke(t *testing.T, out Outputs, function string) map[string]string {
	t.Helper()
	got, err := lambda.NewFromConfig(Config(out.Endpoint)).Invoke(t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(out.Functions[function]), Payload: []byte("{}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var response struct{ Body string }
	if err := json.Unmarshal(got.Payload, &response); err != nil {
		t.Fatalf("the answer is %s: %v", got.Payload, err)
	}
	return answers(t, []byte(response.Body))
}

func TestUpDeploysFunctionsThatMayDoWhatTheyAreGranted(t *testing.T) {
	o := Options{
		Build:    buildProbe(t),
		Settings: map[string]string{"mapping": "off"},
		Secrets:  map[string]string{"telegram-token": "1:token", "telegram-webhook-secret": "hush"},
	}
	endpoint := start(t)
	out := up(t, endpoint, o)
	const (
		refused       = "AccessDenied"
		secretRefused = "AccessDeniedException"
	)
	want := map[string]map[string]string{
		"telegram": {
			"dynamodb:PutItem": "", "s3:PutObject": refused, "sqs:SendMessage": "",
			"telegram-token": secretRefused, "telegram-webhook-secret": "",
		},
		"web": {
			"dynamodb:PutItem": "", "s3:PutObject": refused, "sqs:SendMessage": "",
			"telegram-token": secretRefused, "telegram-webhook-secret": secretRefused,
		},
		"runner": {
			"dynamodb:PutItem": "", "s3:PutObject": "", "sqs:SendMessage": "",
			"telegram-token": "", "telegram-webhook-secret": secretRefused,
		},
		"reap": {
			"dynamodb:PutItem": "", "s3:PutObject": refused, "sqs:SendMessage": "",
			"telegram-token": secretRefused, "telegram-webhook-secret": secretRefused,
		},
	}
	got := map[string]map[string]string{
		"telegram": ask(t, out, http.MethodPost, "/telegram"),
		"web":      ask(t, out, http.MethodGet, "/any/path"),
		"runner":   invoke(t, out, "runner"),
		"reap":     invoke(t, out, "reap"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error codes (-want +got)\n%s", diff)
	}

	t.Run("again it changes nothing", func(t *testing.T) {
		if diff := cmp.Diff(out, up(t, endpoint, o)); diff != "" {
			t.Errorf("outputs (-first +second)\n%s", diff)
		}
	})
	t.Run("a poller runs groups side by side", func(t *testing.T) { pollGroups(t, out) })
	t.Run("a grant can be taken away", func(t *testing.T) {
		o.Settings = maps.Clone(o.Settings)
		o.Settings["without"] = "runner/s3:PutObject"
		if code := invoke(t, up(t, endpoint, o), "runner")["s3:PutObject"]; code != refused {
			t.Errorf("without the grant the runner's PutObject ends with %q, want %s", code, refused)
		}
	})
}

// pollGroups sends a wake-up to each of two groups. Each one's invocation begins only when the other's has too, so that
// both end only if a poller lets them run at the same time.
func pollGroups(t *testing.T, out Outputs) {
	client := sqs.NewFromConfig(Config(out.Endpoint))
	for _, group := range []string{"one", "two"} {
		_, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: &out.QueueURL, MessageBody: aws.String("wake-up"),
			MessageGroupId: &group, MessageDeduplicationId: &group,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	p := poller.New(Config(out.Endpoint), out.QueueURL, out.Functions["runner"])
	pair := &meeting{Lambda: p.Lambda, met: make(chan struct{}), parted: cancel}
	p.Lambda, p.Failed = pair, func(err error) { t.Error(err) }
	if err := p.Run(ctx); err != nil {
		t.Error(err)
	}
	if ended := pair.ended.Load(); ended != 2 {
		t.Errorf("%d of 2 invocations ended well within 30 s", ended)
	}
}

// meeting lets two invocations with a wake-up begin together and says when both have ended well.
type meeting struct {
	poller.Lambda
	met          chan struct{}
	parted       func()
	begun, ended atomic.Int32
}

func (m *meeting) Invoke(
	ctx context.Context, in *lambda.InvokeInput, o ...func(*lambda.Options),
) (*lambda.InvokeOutput, error) {
	if !strings.Contains(string(in.Payload), "wake-up") { // what the probe has sent
		return m.Lambda.Invoke(ctx, in, o...)
	}
	if m.begun.Add(1) == 2 {
		close(m.met)
	}
	select {
	case <-m.met:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out, err := m.Lambda.Invoke(ctx, in, o...)
	if err == nil && m.ended.Add(1) == 2 {
		m.parted()
	}
	return out, err
}

func TestUpShowsWhatTheAppSaysOfAWrongSetting(t *testing.T) {
	_, err := Up(t.Context(), start(t), Options{
		Build: buildProbe(t), Settings: map[string]string{"concurrency": "none"},
	})
	if err == nil || !strings.Contains(err.Error(), "the setting concurrency") {
		t.Errorf("error %v, want the app's own words", err)
	}
}
