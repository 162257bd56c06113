package web

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// The page drives itself: a script from testdata, served beside the page's own and under the same policy, clicks and
// types, steers the fake backend through /drive/…, and posts what it found wrong.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	for _, script := range []string{
		"markdown", "talk", "away", "cleared", "history", "polling", "hidden", "pairing", "stop", "cancel", "waits", "clear", "refused",
	} {
		t.Run(script, func(t *testing.T) {
			found := make(chan []string, 1)
			server := httptest.NewServer(stage(script, found))
			t.Cleanup(server.Close)
			browse(t, browser, server.URL)
			select {
			case wrong := <-found:
				for _, w := range wrong {
					t.Error(w)
				}
			case <-time.After(time.Minute):
				t.Error("the script did not come to its end")
			}
		})
	}
}

func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	t.Skip("left out the page's tests in a browser: no Chromium here")
	return ""
}

// browse opens the address in a browser that ends with the test.
func browse(t *testing.T, browser, address string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-dev-shm-usage", "--window-size=800,700", "--remote-debugging-port=0", "--user-data-dir="+t.TempDir(), address)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // it then ends its own processes
	command.WaitDelay = 10 * time.Second
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Wait() }) // the test's context has ended it
}

// stage is a site with the script on its page.
func stage(script string, found chan<- []string) http.Handler {
	b := newBackend()
	s := b.site()
	s.Now = nil
	switch script {
	case "polling":
		s.Live = nil
	case "pairing":
		s = cloud(b)
		s.Now = nil
	case "clear":
		s.Clearing = true
	}
	mux := http.NewServeMux()
	mux.Handle("/", insecurely(Handler(s)))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		page := httptest.NewRecorder()
		Handler(s).ServeHTTP(page, r)
		maps.Copy(w.Header(), page.Header())
		w.Header().Del("Content-Length") // of the page without the script
		w.Header().Del("ETag")
		tag := `<script type="module" src="/drive/` + script + `.js"></script></head>`
		_, _ = io.WriteString(w, strings.Replace(page.Body.String(), "</head>", tag, 1))
	})
	mux.Handle("GET /drive/", http.StripPrefix("/drive/", http.FileServer(http.Dir("testdata/drive"))))
	mux.HandleFunc("POST /drive/found", func(_ http.ResponseWriter, r *http.Request) {
		var wrong []string
		if err := json.NewDecoder(r.Body).Decode(&wrong); err != nil {
			wrong = []string{err.Error()}
		}
		found <- wrong
	})
	mux.HandleFunc("POST /drive/{act}", b.act)
	return mux
}

// insecurely lets the cloud's cookie, which browsers keep over HTTPS only, pass over a test's HTTP under another name.
func insecurely(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("insecure"); err == nil {
			r.AddCookie(&http.Cookie{Name: cookieName, Value: c.Value})
		}
		next.ServeHTTP(renaming{w}, r)
	})
}

type renaming struct{ http.ResponseWriter }

func (w renaming) WriteHeader(status int) {
	if c := w.Header().Get("Set-Cookie"); c != "" {
		c = strings.Replace(c, cookieName, "insecure", 1)
		w.Header().Set("Set-Cookie", strings.Replace(c, "; Secure", "", 1))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w renaming) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// act does to the backend what a script asks for; the body is its argument.
func (b *backend) act(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	text := string(body)
	switch r.PathValue("act") {
	case "break":
		b.fail(fault.As(fault.Retry, io.ErrUnexpectedEOF))
	case "mend":
		b.fail(nil)
	case "clear":
		b.clear("thread-" + id.Thread(text))
	case "say":
		b.say(FromAgent, "telegram", text, time.Now())
	case "older":
		for n := range 120 {
			b.say(FromOwner, "web", text+" "+string(rune('!'+n)), time.Now().Add(-48*time.Hour))
		}
	case "run":
		b.run(text, func() { <-time.After(5 * time.Millisecond) })
	case "question", "confirmation", "payment", "form":
		b.ask(wait.Kind(r.PathValue("act")), text)
	case "expire":
		b.expire()
	case "busy", "free":
		b.occupy(r.PathValue("act") == "busy")
	case "drop":
		b.hub.Close()
	}
}

func (b *backend) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *backend) clear(thread id.Thread) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.people["local"] = Person{Owner: "owner", Thread: thread}
}

func (b *backend) occupy(busy bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = busy
}

// expire closes all waits without a word.
func (b *backend) expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = nil
}
