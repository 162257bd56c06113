package web

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/inbox"
)

func TestPairingGivesACookieThatOpensTheConversation(t *testing.T) {
	t.Parallel()
	b := newBackend()
	s := cloud(b)
	w := ask(s, "POST", "/api/pair", `{"code":" spool-42\n"}`)
	want(t, w, 200, `{"paired":true}`)
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("set %v", cookies)
	}
	c := cookies[0]
	if c.Name != "__Host-bobbin" || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge <= 0 {
		t.Errorf("the cookie is %v", c)
	}
	if key, err := base64.RawURLEncoding.DecodeString(c.Value); err != nil || len(key) != 32 {
		t.Errorf("the cookie holds %q, want 256 bits", c.Value)
	}
	sender := hash(c.Value)
	message := inbox.Message{
		Update: "pair-" + sender, Sender: sender, ExternalID: "pair-" + sender, Sent: at, Sequence: at.UnixMicro(),
		Route: channel.Route{Connection: "web", Conversation: sender},
	}
	if diff := cmp.Diff([]inbox.Message{message}, b.paired); diff != "" {
		t.Error(diff)
	}
	if got := ask(s, "POST", "/api/messages", post("Hello"), "Cookie", c.Name+"="+c.Value); got.Code != http.StatusAccepted {
		t.Errorf("with the cookie: %d %s", got.Code, got.Body)
	}
	if b.accepted[0].Sender != sender {
		t.Errorf("the message is from %q, want %q", b.accepted[0].Sender, sender)
	}
}

func TestPairingRefusals(t *testing.T) {
	t.Parallel()
	const no = "This is no pairing code."
	tests := map[string]struct {
		body   string
		status int
		say    string
	}{
		"wrong":    {`{"code":"spool-43"}`, 403, "This code is wrong, or was used before."},
		"empty":    {`{"code":" "}`, 400, no},
		"none":     {`{}`, 400, no},
		"long":     {`{"code":"` + strings.Repeat("1", maxCode+1) + `"}`, 400, no},
		"too long": {`{"code":"` + strings.Repeat("1", maxPairBody) + `"}`, 413, "This is too long."},
		"no JSON":  {`code=1`, 400, "The body is not the JSON that belongs here."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ask(cloud(newBackend()), "POST", "/api/pair", tt.body)
			want(t, w, tt.status, refused(tt.say))
			if w.Header().Get("Set-Cookie") != "" {
				t.Error("a cookie was set")
			}
		})
	}
}

func TestCodeServesOnce(t *testing.T) {
	t.Parallel()
	s := cloud(newBackend())
	want(t, ask(s, "POST", "/api/pair", `{"code":"spool-42"}`), 200, `{"paired":true}`)
	want(t, ask(s, "POST", "/api/pair", `{"code":"spool-42"}`), 403, refused("This code is wrong, or was used before."))
}

func TestPairingThatIsNotDurableSetsNoCookie(t *testing.T) {
	t.Parallel()
	b := newBackend()
	b.err = fault.As(fault.Unknown, http.ErrServerClosed)
	w := ask(cloud(b), "POST", "/api/pair", `{"code":"spool-42"}`)
	want(t, w, 503, refused("The server can't do this right now."))
	if w.Header().Get("Set-Cookie") != "" {
		t.Error("a cookie was set")
	}
}

func TestLocalServerNeedsNoPairing(t *testing.T) {
	t.Parallel()
	want(t, ask(newBackend().site(), "POST", "/api/pair", `{"code":"spool-42"}`), 404, refused("This server needs no pairing."))
}

func TestStrangersSeeNothing(t *testing.T) {
	t.Parallel()
	unknown := newKey()
	for name, cookie := range map[string]string{
		"none": "", "unknown": unknown, "short": unknown[:20], "no base64": strings.Repeat("!", len(unknown)),
		"an identity's hash": hash(unknown), "a local owner's ID": "local",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackend()
			b.people[hash("local")] = b.people["local"]
			for _, request := range [][3]string{
				{"GET", "/api/messages", ""}, {"POST", "/api/messages", post("x")}, {"GET", "/api/events", ""},
			} {
				w := ask(cloud(b), request[0], request[1], request[2], "Cookie", "__Host-bobbin="+cookie)
				want(t, w, 401, refused("This browser is not paired."))
			}
		})
	}
}
