package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/channel/web/webstore"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

// sample reads a real event of the HTTP API.
func sample(t *testing.T, name string) (e events.APIGatewayV2HTTPRequest) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// serve hands an event to a site.
func serve(t *testing.T, site http.Handler, e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	t.Helper()
	answer, err := handler{site}.handle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestAnEventIsTheRequestThatTheBrowserSent(t *testing.T) {
	t.Parallel()
	type request struct{ Method, Host, Path, Query, Cookie, Type, Body, From string }
	for name, want := range map[string]request{
		"page.json":   {Method: "GET", Host: "page.example.org", Path: "/", From: "192.0.2.7"},
		"base64.json": {Method: "POST", Host: "page.example.org", Path: "/api/echo", Type: "application/octet-stream", Body: "\x00\xffbytes", From: "192.0.2.7"},
		"pair.json":   {Method: "POST", Host: "page.example.org", Path: "/api/pair", Type: "application/json", Body: `{"code":"ABCD-EFGH-JKLM"}`, From: "192.0.2.7"},
		"query.json":  {Method: "GET", Host: "page.example.org", Path: "/api/messages", Query: "m#1 2|é", Cookie: "a|b", From: "192.0.2.7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got request
			serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				got = request{
					Method: r.Method, Host: r.Host, Path: r.URL.Path, Type: r.Header.Get("Content-Type"), Body: string(body),
					From: r.RemoteAddr,
				}
				if q := r.URL.Query(); len(q) > 0 {
					got.Query = q.Get("after") + "|" + q.Get("x")
				}
				if c, err := r.Cookie("__Host-bobbin"); err == nil {
					other, _ := r.Cookie("other")
					got.Cookie = c.Value + "|" + other.Value
				}
			}), sample(t, name))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAnAnswerKeepsStatusHeadersCookiesAndBytes(t *testing.T) {
	t.Parallel()
	got := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		w.Header().Add("Vary", "Accept")
		w.Header().Add("Vary", "Origin")
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK) // too late
		_, _ = w.Write([]byte{0xff, 0x00})
		_, _ = w.Write([]byte("x"))
	}), sample(t, "page.json"))
	want := events.APIGatewayV2HTTPResponse{
		StatusCode: http.StatusTeapot, Headers: map[string]string{"Vary": "Accept, Origin"},
		Cookies: []string{"a=1", "b=2"}, Body: "/wB4", IsBase64Encoded: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAnEventThatIsNoRequestIsTheCallersFault(t *testing.T) {
	t.Parallel()
	site := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the site was asked") })
	broken, odd := sample(t, "base64.json"), sample(t, "page.json")
	broken.Body = "!"
	odd.RequestContext.HTTP.Method = "NO METHOD"
	for _, e := range []events.APIGatewayV2HTTPRequest{broken, odd} {
		if got := serve(t, site, e).StatusCode; got != http.StatusBadRequest {
			t.Errorf("status %d, want 400", got)
		}
	}
}

// bench is the site as the function serves it, over stores in memory.
type bench struct {
	web.Site
	table tabletest.Fake
	ids   id.Source
	owner owner.Owner
	code  string // that pairs a browser with the owner
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{}
	book := &owner.Book{Table: &b.table, IDs: &b.ids}
	var err error
	if b.owner, err = book.Add(t.Context(), "Alex", time.Now()); err != nil {
		t.Fatal(err)
	}
	if b.code, err = book.NewCode(t.Context(), b.owner.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	b.Site = web.Site{
		Door:         &inbox.Inbox{Table: &b.table, Queue: &queuetest.Fake{}, Book: book, IDs: &b.ids},
		Conversation: webstore.Conversation{Table: &b.table},
		People:       webstore.People{Book: book},
		Report:       func(_ context.Context, err error) { t.Error(err) },
	}
	return b
}

// site is the page, and a pairing code for it.
func site(t *testing.T) (http.Handler, string) {
	t.Helper()
	b := newBench(t)
	return web.Handler(b.Site), b.code
}

func TestThePageIsServedAsText(t *testing.T) {
	t.Parallel()
	page, _ := site(t)
	got := serve(t, page, sample(t, "page.json"))
	if got.StatusCode != http.StatusOK || got.IsBase64Encoded || !strings.Contains(got.Body, "<html") {
		t.Errorf("status %d, base64 %v, %d bytes; want the page", got.StatusCode, got.IsBase64Encoded, len(got.Body))
	}
	if got.Headers["Content-Security-Policy"] == "" {
		t.Error("the page came without its policy")
	}
}

// A function's answer is whole or nothing: a stream that waits for events would hang until the API gives up.
func TestTheStreamOfEventsIsRefusedRatherThanHanging(t *testing.T) {
	t.Parallel()
	page, code := site(t)
	e := sample(t, "events.json")
	e.Cookies = pair(t, page, code)
	if got := serve(t, page, e).StatusCode; got != http.StatusNotFound {
		t.Errorf("status %d, want 404, after which the page polls", got)
	}
}

// pair gives the browser a cookie.
func pair(t *testing.T, page http.Handler, code string) []string {
	t.Helper()
	e := sample(t, "pair.json")
	e.Body = strings.ReplaceAll(e.Body, "ABCD-EFGH-JKLM", code)
	got := serve(t, page, e)
	if got.StatusCode != http.StatusOK || len(got.Cookies) != 1 {
		t.Fatalf("status %d, cookies %q, body %s; want one cookie", got.StatusCode, got.Cookies, got.Body)
	}
	value, _, _ := strings.Cut(got.Cookies[0], ";")
	return []string{value}
}

func TestACookieOfPairingOpensTheConversation(t *testing.T) {
	t.Parallel()
	page, code := site(t)
	e := sample(t, "query.json")
	e.RawQueryString = ""
	if got := serve(t, page, e).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("status %d with a cookie that is not ours, want 401", got)
	}
	e.Cookies = pair(t, page, code)
	if got := serve(t, page, e); got.StatusCode != http.StatusOK || !strings.Contains(got.Body, `"messages":[]`) {
		t.Errorf("status %d: %s; want an empty conversation", got.StatusCode, got.Body)
	}
}
