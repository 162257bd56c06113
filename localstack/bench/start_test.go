package bench

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// launches is how often each function is started, each time beside the smallest one.
const launches = 25

// functionSettings are what the stack sets for its functions, and Lambda for all.
var functionSettings = []string{
	"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
	"BOBBIN_TABLE=table", "BOBBIN_BUCKET=bucket", "BOBBIN_QUEUE_URL=http://127.0.0.1:9/queue.fifo", "BOBBIN_SECRETS=/bobbin/bench/",
	"BOBBIN_TELEGRAM_BOT=123456789", "BOBBIN_MODEL=anthropic:model",
}

// BenchmarkStart is the time from the start of a function's process until it asks for its first event, and the same of
// the smallest function that there can be, started in turn with it so that both meet the same machine.
func BenchmarkStart(b *testing.B) {
	flags := []string{"-tags", "lambda.norpc", "-ldflags", "-s -w"}
	hello := build(b, "./localstack/bench/testdata/hello", flags...)
	for _, name := range []string{"telegram", "web", "runner", "reap"} {
		b.Run(name, func(b *testing.B) {
			compareStart(b, build(b, "./functions/"+name, flags...), hello)
		})
	}
}

func compareStart(b *testing.B, function, hello string) {
	api := newLambdaAPI(b)
	var ours, smallest []time.Duration
	for b.Loop() {
		for range launches {
			smallest = append(smallest, api.timeStart(b, hello))
			ours = append(ours, api.timeStart(b, function))
		}
	}
	b.ReportMetric(ms(median(ours)), "start-ms")
	b.ReportMetric(ms(median(smallest)), "hello-ms")
	b.ReportMetric(ms(median(ours))/ms(median(smallest)), "ratio")
	b.ReportMetric(fileSize(b, function)/1e6, "MB")
}

func fileSize(b *testing.B, name string) float64 {
	b.Helper()
	info, err := os.Stat(name)
	if err != nil {
		b.Fatal(err)
	}
	return float64(info.Size())
}

// lambdaAPI is the side of Lambda's runtime API at which a function asks for its next event. There never is one.
type lambdaAPI struct {
	*httptest.Server

	asked chan time.Time
}

func newLambdaAPI(b *testing.B) *lambdaAPI {
	b.Helper()
	a := &lambdaAPI{asked: make(chan time.Time, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(_ http.ResponseWriter, r *http.Request) {
		a.asked <- time.Now()
		<-r.Context().Done()
	})
	a.Server = httptest.NewServer(mux)
	b.Cleanup(a.Close)
	return a
}

// timeStart starts a function, waits until it asks for an event, and ends it.
func (a *lambdaAPI) timeStart(b *testing.B, binary string) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(a.URL, "http://")}, functionSettings...)
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	select {
	case at := <-a.asked:
		return at.Sub(begun)
	case <-ctx.Done():
		b.Fatal("the function asks for no event")
	}
	return 0
}
