package bench

import (
	"context"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	crowd   = 1000 // persons, each with a session
	rounds  = 3    // messages of each of them
	samples = 200  // messages whose way to the model is timed
	starts  = 10
)

// patience bounds whatever is waited for.
const patience = time.Minute

// BenchmarkOutside measures the program as it is run: a process of its own, behind its webhook or fetching updates,
// with a Bot API and models over HTTP.
func BenchmarkOutside(b *testing.B) {
	binary := build(b, "./localstack/bobbin")
	b.Run("start", func(b *testing.B) { outsideStart(b, binary) })
	b.Run("webhook-to-model", func(b *testing.B) { webhookToModel(b, binary) })
	b.Run("getUpdates-to-model", func(b *testing.B) { updatesToModel(b, binary) })
	b.Run("thousand-sessions", func(b *testing.B) { thousandSessions(b, binary) })
}

// hooked are the settings of a Bobbin that gets its updates by webhook.
func hooked(api *botAPI, more ...string) []string {
	return append(fetching(api, more...), "BOBBIN_TELEGRAM_WEBHOOK_SECRET="+hookSecret)
}

// fetching are the settings of a Bobbin that fetches its updates.
func fetching(api *botAPI, more ...string) []string {
	return append(more, "BOBBIN_TELEGRAM_TOKEN="+botToken, "BOBBIN_TELEGRAM_API="+api.URL, "BOBBIN_TELEGRAM_RATE=off", anyTurns)
}

// anyTurns has as many turns run at once as there are workers: what is measured is not to wait for permits.
const anyTurns = "BOBBIN_TURNS=1000"

const scriptedModel = "BOBBIN_MODEL=scripted"

// outsideStart is the time from the start of the process until the page answers and the webhook takes an update, and
// the memory of a process that has nothing to do.
func outsideStart(b *testing.B, binary string) {
	api, data := newBotAPI(b), b.TempDir()
	var ready []time.Duration
	var memory float64
	for b.Loop() {
		for range starts {
			p := launch(b, binary, data, hooked(api, scriptedModel)...)
			waitReady(b, p)
			ready = append(ready, time.Since(p.begun))
			memory = settled(b, p)
			p.end(b)
		}
	}
	b.ReportMetric(ms(median(ready)), "ready-ms")
	b.ReportMetric(memory, "idle-MiB")
}

// waitReady returns once the page and the webhook have answered.
func waitReady(b *testing.B, p *process) {
	b.Helper()
	until(b, time.Millisecond, func() bool {
		response, err := http.Get("http://" + p.address + "/")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	one := newPersons(p)
	defer one.client.CloseIdleConnections()
	if err := one.post(one.says(stranger, "hello")); err != nil {
		b.Fatal(err)
	}
}

// settled is the memory of a process after a while without work.
func settled(b *testing.B, p *process) float64 {
	b.Helper()
	over := time.Now().Add(300 * time.Millisecond)
	until(b, 50*time.Millisecond, func() bool { return time.Now().After(over) })
	return p.resident(b)
}

// webhookToModel is the time from the call of the webhook to the request that arrives at the model.
func webhookToModel(b *testing.B, binary string) {
	api, v, data := newBotAPI(b), newVendor(b), b.TempDir()
	code := codes(b, binary, data, 1)[0]
	p := launch(b, binary, data, hooked(api, "BOBBIN_MODEL=openai:instant", "BOBBIN_MODEL_URL="+v.URL)...)
	defer p.end(b)
	waitReady(b, p)
	who := newPersons(p)
	who.update = 1000 // beyond those of waitReady
	answered := api.expect(1)
	if err := who.post(who.says(1, "/start "+code)); err != nil {
		b.Fatal(err)
	}
	wait(b, answered)
	timeToModel(b, api, v, func() time.Time {
		update, sent := who.says(1, "hello"), time.Now()
		if err := who.post(update); err != nil {
			b.Fatal(err)
		}
		return sent
	})
}

// updatesToModel is the time from the answer of getUpdates to the request that arrives at the model.
func updatesToModel(b *testing.B, binary string) {
	api, v, data := newBotAPI(b), newVendor(b), b.TempDir()
	code := codes(b, binary, data, 1)[0]
	p := launch(b, binary, data, fetching(api, "BOBBIN_MODEL=openai:instant", "BOBBIN_MODEL_URL="+v.URL)...)
	defer p.end(b)
	wait(b, api.polled)
	first := time.Since(p.begun)
	who := newPersons(p)
	answered := api.expect(1)
	api.updates <- who.says(1, "/start "+code)
	<-api.fetched
	wait(b, answered)
	timeToModel(b, api, v, func() time.Time {
		api.updates <- who.says(1, "hello")
		return <-api.fetched
	})
	b.ReportMetric(ms(first), "first-poll-ms")
}

// timeToModel times messages one after the other; say sends one and returns when Bobbin could have it.
func timeToModel(b *testing.B, api *botAPI, v *vendor, say func() time.Time) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		for range samples {
			answered := api.expect(1)
			sent := say()
			select {
			case asked := <-v.asked:
				took = append(took, asked.Sub(sent))
			case <-time.After(patience):
				b.Fatal("the model was not asked")
			}
			wait(b, answered)
		}
	}
	slices.Sort(took)
	b.ReportMetric(ms(median(took)), "model-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), "model-p99-ms")
}

// thousandSessions has a crowd write at once, and looks that each of them got as many answers as they sent messages.
func thousandSessions(b *testing.B, binary string) {
	api, data := newBotAPI(b), b.TempDir()
	texts := codes(b, binary, data, crowd)
	for i := range texts {
		texts[i] = "/start " + texts[i]
	}
	p := launch(b, binary, data, hooked(api, scriptedModel)...)
	waitReady(b, p)
	all := newPersons(p)
	all.update = 1000 // beyond those of waitReady
	round(b, api, all, texts)
	for i := range texts {
		texts[i] = "say hello to " + strconv.Itoa(i)
	}
	b.ResetTimer()
	before := p.cpu(b)
	for b.Loop() {
		for range rounds {
			round(b, api, all, texts)
		}
	}
	turns := float64(b.N * rounds * crowd)
	b.ReportMetric(turns/b.Elapsed().Seconds(), "turns/s")
	b.ReportMetric(ms(p.cpu(b)-before)/turns, "cpu-ms/turn")
	b.ReportMetric(p.resident(b), "MiB")
	p.end(b) // nothing is sent any more: whatever would be too many has come
	eachGot(b, api, 1+b.N*rounds)
	b.ReportMetric(ms(recovery(b, api, binary, data, texts)), "recovery-ms")
}

// eachGot looks that every person got so many messages.
func eachGot(b *testing.B, api *botAPI, want int) {
	b.Helper()
	each := api.counts()
	for person := range int64(crowd) {
		if got := each[person+1]; got != want {
			b.Errorf("person %d got %d messages, not %d", person+1, got, want)
		}
	}
}

// recovery kills Bobbin when the last message of a crowd has been acknowledged, and returns how long after its next
// start everyone has got an answer or heard that their turn was interrupted.
func recovery(b *testing.B, api *botAPI, binary, data string, texts []string) time.Duration {
	b.Helper()
	p := launch(b, binary, data, hooked(api, scriptedModel)...)
	waitReady(b, p)
	before := api.counts()
	all := newPersons(p)
	all.update = 1_000_000 // beyond all before
	all.postAll(b, texts)
	p.kill(b)
	p = launch(b, binary, data, hooked(api, scriptedModel)...)
	defer p.end(b)
	until(b, time.Millisecond, func() bool {
		after := api.counts()
		for person := range int64(crowd) {
			if after[person+1] <= before[person+1] {
				return false
			}
		}
		return true
	})
	return time.Since(p.begun)
}

// round has each of them write and waits for as many answers.
func round(b *testing.B, api *botAPI, all *persons, texts []string) {
	b.Helper()
	answered := api.expect(len(texts))
	all.postAll(b, texts)
	wait(b, answered)
}

// codes makes pairing codes for as many new owners.
func codes(b *testing.B, binary, data string, n int) []string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), binary, "pair", "-count", strconv.Itoa(n), "-owner", "bench")
	cmd.Env = []string{"BOBBIN_DATA=" + data}
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("making codes: %v\n%s", err, out)
	}
	return strings.Fields(string(out))
}

func wait(b *testing.B, done <-chan struct{}) {
	b.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		b.Fatal("it has not happened")
	}
}

// until looks every so often whether something is so.
func until(b *testing.B, every time.Duration, so func() bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for !so() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			b.Fatal("it has not happened")
		}
	}
}

func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
