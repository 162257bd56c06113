package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/live"
)

// browser is the page, as its scripts use the server.
type browser struct {
	url    string
	cookie string          // "" where whoever reaches the page is its owner
	ctx    context.Context //nolint:containedctx // a scenario's, which the browser lives in
}

// message is what the page is told of one.
type message struct {
	ID, Client, Turn, From, Text, Channel, State string
}

type conversation struct {
	Thread   string
	Messages []message
}

// do makes a request and returns the answer's status and body.
func (b *browser) do(t testing.TB, method, path string, body any) (int, []byte) {
	t.Helper()
	response := b.open(t, method, path, body)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, got
}

func (b *browser) open(t testing.TB, method, path string, body any) *http.Response {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(b.ctx, method, b.url+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if b.cookie != "" {
		request.Header.Set("Cookie", b.cookie)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if cookies := response.Cookies(); len(cookies) > 0 {
		b.cookie = cookies[0].Name + "=" + cookies[0].Value
	}
	return response
}

// pair makes the browser the owner's.
func (b *browser) pair(t testing.TB, code string) {
	t.Helper()
	if status, body := b.do(t, http.MethodPost, "/api/pair", map[string]string{"code": code}); status != http.StatusOK {
		t.Fatalf("pairing the browser: %d %s", status, body)
	}
	if !strings.HasPrefix(b.cookie, "__Host-") {
		t.Fatalf("the browser got the cookie %q", b.cookie)
	}
}

func (b *browser) read(t testing.TB) (c conversation) {
	t.Helper()
	status, body := b.do(t, http.MethodGet, "/api/messages", nil)
	if status != http.StatusOK {
		t.Fatalf("reading the conversation: %d %s", status, body)
	}
	if err := json.Unmarshal(body, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// until reads the conversation until a message in it will do.
func (b *browser) until(t testing.TB, is func(message) bool) (found message) {
	t.Helper()
	eventually(b.ctx, t, "the page shows the message", func() bool {
		for _, m := range b.read(t).Messages {
			if is(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// post sends what the owner wrote, and returns the turn.
func (b *browser) post(t testing.TB, text string) (turn string) {
	t.Helper()
	status, body := b.do(t, http.MethodPost, "/api/messages",
		map[string]string{"id": uuid(), "thread": b.read(t).Thread, "text": text})
	var answer struct{ Turn, Outcome string }
	if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusAccepted || answer.Outcome != "accepted" {
		t.Fatalf("posting: %d %s", status, body)
	}
	return answer.Turn
}

// press posts a command with these fields, and returns what the page is told.
func (b *browser) press(t testing.TB, command string, fields map[string]any) (told string) {
	t.Helper()
	body := map[string]any{"id": uuid(), "thread": b.read(t).Thread}
	maps.Copy(body, fields)
	status, got := b.do(t, http.MethodPost, "/api/"+command, body)
	var answer struct{ Outcome, Told string }
	if err := json.Unmarshal(got, &answer); err != nil || status != http.StatusOK || answer.Outcome != "obeyed" && answer.Outcome != "accepted" {
		t.Fatalf("%s: %d %s", command, status, got)
	}
	return answer.Told
}

// state is how far the page shows the owner's message with a text to be; "" if it is not there.
func (b *browser) state(t testing.TB, text string) web.State {
	t.Helper()
	for _, m := range b.read(t).Messages {
		if m.From == "owner" && m.Text == text {
			return web.State(m.State)
		}
	}
	return ""
}

// hears waits for what the agent or the system says, word for word.
func (b *browser) hears(t testing.TB, text string) {
	t.Helper()
	b.until(t, func(m message) bool { return m.From != "owner" && m.Text == text })
}

// waits lists what the page shows to wait for the owner.
func (b *browser) waits(t testing.TB) (open []web.Wait) {
	t.Helper()
	status, body := b.do(t, http.MethodGet, "/api/waits", nil)
	if err := json.Unmarshal(body, &open); err != nil || status != http.StatusOK {
		t.Fatalf("reading what waits: %d %s", status, body)
	}
	return open
}

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func pageIsAnswered(t testing.TB, w world) {
	page, _ := w.(hooked).home(t)
	if status, body := page.do(t, http.MethodGet, "/", nil); status != http.StatusOK || !bytes.Contains(body, []byte("<html")) {
		t.Errorf("GET /: %d with %d bytes, want the page", status, len(body))
	}
	turn := page.post(t, "say Hello, page")
	answer := page.until(t, func(m message) bool { return m.Turn == turn && m.From == "agent" })
	if answer.Text != "Hello, page" || answer.State != "delivered" {
		t.Errorf("the page shows %+v, want the answer delivered", answer)
	}
	if said := page.until(t, func(m message) bool { return m.Turn == turn && m.From == "owner" }); said.State != "done" {
		t.Errorf("the owner's message is %q, want done", said.State)
	}
}

// The model has begun to answer and is held: what it has said so far is on its way to the page.
func pageStreams(t testing.TB, w world) {
	page, _ := w.(hooked).home(t)
	stream := page.open(t, http.MethodGet, "/api/events", nil)
	defer stream.Body.Close()
	next := events(t, stream.Body)
	if e := next(); e.Kind != live.Resync {
		t.Errorf("the stream begins with %+v, want a resync", e)
	}
	name := t.Name()
	turn := page.post(t, "hold "+name)
	for _, want := range []live.Event{
		{Kind: live.Stored},
		{Kind: live.Turned, Status: live.Queued},
		{Kind: live.Turned, Status: live.Running},
		{Kind: live.Text, Text: "held "},
	} {
		if e := next(); e.Kind != want.Kind || e.Status != want.Status || e.Text != want.Text || string(e.Turn) != turn {
			t.Errorf("the stream goes on with %+v, want %+v", e, want)
		}
	}
	w.around().mind.release(name)
	text := ""
	e := next()
	for ; e.Kind == live.Text; e = next() {
		text += e.Text
	}
	if text != name || e.Kind != live.Stored {
		t.Errorf("the stream ends with %q and then %+v, want %q and the stored message", text, e, name)
	}
	if e = next(); e.Kind != live.Turned || e.Status != live.Ended {
		t.Errorf("the stream ends with %+v, want the turn ended", e)
	}
	page.until(t, func(m message) bool { return m.Text == "held "+name })
}

// events reads a stream of server-sent events.
func events(t testing.TB, from io.Reader) func() live.Event {
	t.Helper()
	lines := bufio.NewScanner(from)
	return func() (e live.Event) {
		t.Helper()
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			return e
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return e
	}
}
