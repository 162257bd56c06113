package web

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/live"
)

const resync = "data: {\"kind\":\"resync\"}\n\n"

// streaming serves one event stream in the bubble and returns what was written, to be read while it waits.
func streaming(ctx context.Context, b *backend, headers ...string) (body func() string, ended <-chan struct{}) {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, "GET", "/api/events", nil)
	r.Host = "localhost"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Handler(b.site()).ServeHTTP(w, r)
	}()
	return func() string { synctest.Wait(); return w.Body.String() }, done
}

func TestStreamBeginsWithResyncAndTellsWhatHappens(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"", "17"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			b := newBackend()
			b.hub.Publish("thread", live.Event{Kind: live.Text, Turn: "1", Text: "Hel"})
			body, ended := streaming(ctx, b, "Last-Event-ID", last)
			begin := resync + "data: {\"kind\":\"restart\",\"turn\":\"1\",\"text\":\"Hel\"}\n\n"
			if got := body(); got != begin {
				t.Errorf("began with %q", got)
			}
			b.hub.Publish("thread", live.Event{Kind: live.Text, Turn: "1", Text: "lo\n"})
			b.hub.Publish("other", live.Event{Kind: live.Text, Turn: "2", Text: "secret"})
			b.hub.Publish("thread", live.Event{Kind: live.Turned, Turn: "1", Status: live.Ended})
			if got := body(); got != begin+"data: {\"kind\":\"text\",\"turn\":\"1\",\"text\":\"lo\\n\"}\n\n"+
				"data: {\"kind\":\"turned\",\"turn\":\"1\",\"status\":\"ended\"}\n\n" {
				t.Errorf("went on to %q", got)
			}
			leave()
			<-ended
		})
	}
}

func TestQuietStreamShowsThatItIsAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		body, ended := streaming(ctx, newBackend())
		time.Sleep(2 * heartbeat) // the bubble's time
		if got := body(); got != resync+":\n\n:\n\n" {
			t.Errorf("wrote %q", got)
		}
		leave()
		<-ended
	})
}

func TestStreamEndsWithItsPublisher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBackend()
		_, ended := streaming(t.Context(), b)
		synctest.Wait()
		b.hub.Close()
		<-ended
	})
}

func TestWithoutLiveThereIsNoStream(t *testing.T) {
	t.Parallel()
	s := newBackend().site()
	s.Live = nil
	want(t, ask(s, "GET", "/api/events", ""), 404, refused("This server does not stream."))
}

// A server with a write timeout must not cut off a stream, and a real connection must get each event at once.
func TestStreamOverARealConnection(t *testing.T) {
	t.Parallel()
	b := newBackend()
	server := httptest.NewUnstartedServer(Handler(b.site()))
	server.Config.WriteTimeout = time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("Content-Type is %q", kind)
	}
	lines := bufio.NewScanner(response.Body)
	for range 3 {
		b.hub.Publish("thread", live.Event{Kind: live.Stored, Message: "m"})
		for lines.Scan() && !strings.Contains(lines.Text(), "stored") {
			continue
		}
	}
	if lines.Err() != nil {
		t.Error(lines.Err())
	}
	b.hub.Close()
}
