package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/inbox"
)

const messageID = "0198c0de-0000-7000-8000-00000000000a"

var (
	at    = time.Date(2026, 3, 14, 15, 9, 26, 535e6, time.UTC)
	about = About{Version: "v1", Model: "scripted:echo", Scripted: true, Note: "Set BOBBIN_MODEL."}
)

func (b *backend) site() Site {
	return Site{
		Door: b, Conversation: b, People: b, Live: &b.hub, About: about, Local: "local",
		Now: func() time.Time { return at },
	}
}

func cloud(b *backend) Site {
	s := b.site()
	s.Local, s.Live = "", nil
	return s
}

// ask sends one request as the page would; each header given replaces, or with "" removes, one of the page's.
func ask(s Site, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	Handler(s).ServeHTTP(w, r)
	return w
}

func post(text string) string {
	b, _ := json.Marshal(sent{posted{messageID, "thread"}, text})
	return string(b)
}

func want(t *testing.T, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if w.Code != status || strings.TrimSpace(w.Body.String()) != body {
		t.Errorf("answered %d %s\nwant     %d %s", w.Code, w.Body, status, body)
	}
	if kind := w.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type is %q", kind)
	}
}

func refused(say string) string { return fmt.Sprintf(`{"error":%q}`, say) }

func TestMessageIsAcceptedOnceAndAnsweredWithItsTurn(t *testing.T) {
	t.Parallel()
	b := newBackend()
	first := ask(b.site(), "POST", "/api/messages", post("Hello"))
	second := ask(b.site(), "POST", "/api/messages", post("Hello"))
	var got [2]struct{ Turn, Outcome string }
	for i, w := range []*httptest.ResponseRecorder{first, second} {
		if w.Code != http.StatusAccepted {
			t.Fatalf("answered %d %s", w.Code, w.Body)
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	turn := got[0].Turn
	if got[0].Outcome != "accepted" || got[1].Outcome != "duplicate" || got[1].Turn != turn || turn == "" {
		t.Errorf("answered %v", got)
	}
	message := inbox.Message{
		Update: messageID, Sender: "local", ExternalID: messageID, Sent: at, Sequence: at.UnixMicro(), Text: "Hello",
		Route: channel.Route{Connection: "web", Conversation: "thread"},
	}
	if diff := cmp.Diff([]inbox.Message{message}, b.accepted); diff != "" {
		t.Error(diff)
	}
}

func TestPostRefusals(t *testing.T) {
	t.Parallel()
	other := `{"id":"` + messageID + `","thread":"cleared","text":"Hello"}`
	tests := map[string]struct {
		body    string
		headers []string
		status  int
		say     string
	}{
		"form":           {post("x"), []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "The body must be application/json."},
		"no type":        {post("x"), []string{"Content-Type", ""}, 415, "The body must be application/json."},
		"no JSON":        {"{", nil, 400, "The body is not the JSON that belongs here."},
		"two values":     {post("x") + post("y"), nil, 400, "The body is not the JSON that belongs here."},
		"wrong shape":    {`{"id":7}`, nil, 400, "The body is not the JSON that belongs here."},
		"no ID":          {`{"thread":"thread","text":"x"}`, nil, 400, "The ID must be a UUID."},
		"upper-case ID":  {strings.Replace(post("x"), messageID, strings.ToUpper(messageID), 1), nil, 400, "The ID must be a UUID."},
		"misplaced dash": {strings.Replace(post("x"), "c0de-", "c-0de", 1), nil, 400, "The ID must be a UUID."},
		"blank":          {post(" \n\t"), nil, 400, "The message is empty."},
		"long text":      {post(strings.Repeat("x", inbox.MaxTextBytes+1)), nil, 413, "The message is too long: 100 KB is the most."},
		"long body":      {strings.Repeat(" ", maxBody) + post("x"), nil, 413, "This is too long."},
		"cleared thread": {other, nil, 409, "The conversation was cleared before this was sent."},
		"other site":     {post("x"), []string{"Sec-Fetch-Site", "cross-site"}, 403, "Another site sent this request."},
		"other port":     {post("x"), []string{"Sec-Fetch-Site", "same-site"}, 403, "Another site sent this request."},
		"other origin":   {post("x"), []string{"Sec-Fetch-Site", "", "Origin", "http://evil.example"}, 403, "Another site sent this request."},
		"opaque origin":  {post("x"), []string{"Sec-Fetch-Site", "", "Origin", "null"}, 403, "Another site sent this request."},
		"rebound name":   {post("x"), []string{"Host", "evil.example:8080"}, 421, "This server answers to localhost and 127.0.0.1 only."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackend()
			want(t, ask(b.site(), "POST", "/api/messages", tt.body, tt.headers...), tt.status, refused(tt.say))
			if b.accepted != nil {
				t.Errorf("accepted %v", b.accepted)
			}
		})
	}
}

func TestThreadMayBeLeftOut(t *testing.T) {
	t.Parallel()
	w := ask(newBackend().site(), "POST", "/api/messages", `{"id":"`+messageID+`","text":"Hello"}`)
	if w.Code != http.StatusAccepted {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

func TestLongestTextFitsWhateverItsEscapes(t *testing.T) {
	t.Parallel()
	w := ask(newBackend().site(), "POST", "/api/messages", post(strings.Repeat("\n", inbox.MaxTextBytes-1)+"x"))
	if w.Code != http.StatusAccepted {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

func TestWhatIsNotDurableIsA5xx(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	const later, broke = `{"error":"The server can't do this right now."}`, `{"error":"Something broke on the server; its log says what."}`
	tests := map[string]struct {
		err    error
		status int
		body   string
		after  string
		silent bool
	}{
		"unclassified": {err: broken, status: 500, body: broke},
		"retry":        {err: fault.As(fault.Retry, broken), status: 503, body: later},
		"retry after":  {err: fault.RetryAfter(1500*time.Millisecond, broken), status: 503, body: later, after: "2"},
		"unknown":      {err: fault.As(fault.Unknown, broken), status: 503, body: later},
		"visitor gone": {err: context.Canceled, status: 503, body: later, silent: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackend()
			b.err = tt.err
			for _, request := range [][3]string{{"POST", "/api/messages", post("x")}, {"GET", "/api/messages", ""}} {
				s := b.site()
				var reported error
				s.Report = func(_ context.Context, err error) { reported = err }
				w := ask(s, request[0], request[1], request[2])
				want(t, w, tt.status, tt.body)
				if got := w.Header().Get("Retry-After"); got != tt.after {
					t.Errorf("Retry-After is %q, want %q", got, tt.after)
				}
				if tt.silent == (reported != nil) {
					t.Errorf("reported %v", reported)
				}
			}
		})
	}
}

func TestUnpairedBetweenFindingAndAccepting(t *testing.T) {
	t.Parallel()
	b := newBackend()
	s := b.site()
	s.People = onePerson{}
	b.people = nil
	want(t, ask(s, "POST", "/api/messages", post("x")), 401, refused("This browser is not paired any more."))
}

type onePerson struct{}

func (onePerson) Find(context.Context, string) (Person, error) { return Person{Thread: "thread"}, nil }

func TestListShowsTheEndThenWhatComesAfterOrBefore(t *testing.T) {
	t.Parallel()
	b := newBackend()
	for n := range 120 {
		b.say(FromAgent, "telegram", fmt.Sprint(n), at)
	}
	tests := map[string]struct {
		first, last string
		more        bool
	}{
		"":                   {"70", "119", true},
		"?before=m%23000070": {"20", "69", true},
		"?before=m%23000020": {"0", "19", false},
		"?after=m%23000010":  {"11", "60", true},
		"?after=m%23000117":  {"118", "119", false},
	}
	for query, tt := range tests {
		w := ask(b.site(), "GET", "/api/messages"+query, "")
		var got struct {
			Thread   string
			Messages []Message
			More     bool
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		first, last := got.Messages[0].Text, got.Messages[len(got.Messages)-1].Text
		if got.Thread != "thread" || first != tt.first || last != tt.last || got.More != tt.more {
			t.Errorf("%q lists %s to %s, more: %v; want %v", query, first, last, got.More, tt)
		}
	}
}

func TestMessageAsThePageReadsIt(t *testing.T) {
	t.Parallel()
	b := newBackend()
	b.messages["thread"] = []Message{{
		ID: "m", Cursor: "c", Client: messageID, Turn: "t", From: FromOwner, Text: "<b>", Channel: "web", At: at, State: Queued,
	}}
	want(t, ask(b.site(), "GET", "/api/messages", ""), 200, `{"thread":"thread","messages":[{"id":"m","cursor":"c",`+
		`"client":"`+messageID+`","turn":"t","from":"owner","text":"\u003cb\u003e","channel":"web",`+
		`"at":"2026-03-14T15:09:26.535Z","state":"queued"}],"more":false}`)
}

func TestListOfNothingAndRefusals(t *testing.T) {
	t.Parallel()
	b := newBackend()
	const say = "Ask for what is after one place, or before one."
	want(t, ask(b.site(), "GET", "/api/messages", ""), 200, `{"thread":"thread","messages":[],"more":false}`)
	want(t, ask(b.site(), "GET", "/api/messages?after=a&before=b", ""), 400, refused(say))
	want(t, ask(b.site(), "GET", "/api/messages?after="+strings.Repeat("a", maxCursor+1), ""), 400, refused(say))
	want(t, ask(b.site(), "GET", "/api/messages", "", "Host", "evil.example"), 421,
		refused("This server answers to localhost and 127.0.0.1 only."))
}

func TestStatus(t *testing.T) {
	t.Parallel()
	b := newBackend()
	facts := `"version":"v1","model":"scripted:echo","scripted":true,"note":"Set BOBBIN_MODEL."}`
	want(t, ask(b.site(), "GET", "/api/status", ""), 200, `{"paired":true,"live":true,"clearing":false,`+facts)
	want(t, ask(cloud(b), "GET", "/api/status", ""), 200, `{"paired":false}`)
}

func TestOnlyLoopbackNamesAreLocal(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"localhost": true, "localhost:8080": true, "127.0.0.1": true, "127.0.0.1:1": true, "127.9.9.9:80": true,
		"[::1]": true, "[::1]:8080": true,
		"": false, "localhost.evil.example": false, "evil.example:8080": false, "10.0.0.1:8080": false,
		"0.0.0.0:8080": false, "[::]:8080": false, "[]": false, "127.0.0.1.evil.example": false,
	}
	for host, local := range tests {
		if loopback(host) != local {
			t.Errorf("loopback(%q) is %v", host, !local)
		}
	}
}

func TestEveryAnswerCarriesTheHeaders(t *testing.T) {
	t.Parallel()
	fixed := map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	}
	b := newBackend()
	for _, path := range []string{"/", "/static/app.js", "/api/status", "/api/messages", "/nothing"} {
		got := map[string]string{}
		h := ask(b.site(), "GET", path, "").Header()
		for name := range fixed {
			got[name] = h.Get(name)
		}
		if diff := cmp.Diff(fixed, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		if h.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: a local server demands HTTPS", path)
		}
	}
	if ask(cloud(b), "GET", "/", "").Header().Get("Strict-Transport-Security") == "" {
		t.Error("in the cloud nothing demands HTTPS")
	}
}

func TestPolicyForbidsWhatIsInlineAndElsewhere(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"unsafe", "http", "*", "data:", "blob:"} {
		if strings.Contains(policy, word) {
			t.Errorf("the policy allows %q: whatever got into the page could use it", word)
		}
	}
}

func TestWhatIsNotThereOrNotAllowed(t *testing.T) {
	t.Parallel()
	s := newBackend().site()
	for request, status := range map[[2]string]int{
		{"GET", "/nothing"}: 404, {"GET", "/static/"}: 404, {"GET", "/static/index.html"}: 404, {"GET", "/page/app.js"}: 404,
		{"DELETE", "/api/messages"}: 405, {"POST", "/"}: 405, {"GET", "/api/pair"}: 405,
	} {
		if w := ask(s, request[0], request[1], ""); w.Code != status {
			t.Errorf("%v answered %d, want %d", request, w.Code, status)
		}
	}
}
