package telegram

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/markup"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
	"github.com/bobbin-agent/bobbin/shared/fault"
)

const person = 42

func serve(t *testing.T, o telegramtest.Options) *telegramtest.Server {
	t.Helper()
	s, err := telegramtest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Know(person)
	return s
}

func client(t *testing.T, base string) *Client {
	t.Helper()
	c, err := NewClient(base, telegramtest.Token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func channelTo(t *testing.T, base string) *Channel {
	t.Helper()
	return &Channel{Client: client(t, base), Pace: NewPace(Rate{PerSecond: -1, ChatPerSecond: -1}), Markup: markup.Render}
}

func route(replyTo string) channel.Route {
	return channel.Route{Connection: "telegram-123456789", Conversation: "42", ReplyTo: replyTo}
}

func TestSendDeliversOnceAndReturnsTheID(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{})
	c := channelTo(t, s.URL())
	_, asked := s.Say(person, "hi")
	for i, part := range c.Render("**Hello** & [you](https://example.com)") {
		id, err := c.Send(t.Context(), route("1"), part)
		if err != nil || id != "2" {
			t.Errorf("part %d: %q, %v", i, id, err)
		}
	}
	want := []telegramtest.Sent{{
		ID: 2, Chat: person, ReplyTo: asked, Text: "Hello & you",
		Raw: `<b>Hello</b> &amp; <a href="https://example.com">you</a>`,
		Entities: []telegramtest.Entity{
			{Type: "bold", Length: 5}, {Type: "text_link", Offset: 8, Length: 3, URL: "https://example.com"},
		},
	}}
	got := s.Sent(person)
	for i := range got {
		got[i].At = time.Time{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSendFallsBackOncePerCause(t *testing.T) {
	t.Parallel()
	unparsable := telegramtest.Fault{Code: 400, Description: "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0"}
	for name, c := range map[string]struct {
		part   channel.Part
		reply  string
		faults []telegramtest.Fault
		calls  int
		text   string
		action fault.Action
	}{
		"markup that can't be parsed": {part: channel.Part{Rich: "<x>a</x>", Plain: "a"}, calls: 2, text: "a"},
		"plain alone":                 {part: channel.Part{Plain: "a < b"}, calls: 1, text: "a < b"},
		"markup, and plain refused too": {
			part: channel.Part{Rich: "a", Plain: "a"}, faults: []telegramtest.Fault{unparsable, unparsable}, calls: 2,
			action: fault.GiveUp,
		},
		"reply that is gone": {part: channel.Part{Rich: "a", Plain: "a"}, reply: "999", calls: 1, text: "a"},
		"reply refused": {
			part: channel.Part{Rich: "<b>a</b>", Plain: "a"}, reply: "999", calls: 2, text: "a",
			faults: []telegramtest.Fault{{Code: 400, Description: "Bad Request: message to be replied not found"}},
		},
		"thread and markup": {
			part: channel.Part{Rich: "<x>a", Plain: "a"}, reply: "1", calls: 3, text: "a",
			faults: []telegramtest.Fault{{Code: 400, Description: "Bad Request: message thread not found"}},
		},
		"thread refused though none was named": {
			part: channel.Part{Rich: "a", Plain: "a"}, calls: 1, action: fault.GiveUp,
			faults: []telegramtest.Fault{{Code: 400, Description: "Bad Request: message thread not found"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, telegramtest.Options{})
			for _, f := range c.faults {
				s.Inject(f)
			}
			_, err := channelTo(t, s.URL()).Send(t.Context(), route(c.reply), c.part)
			if (err != nil) != (c.text == "") || err != nil && fault.Of(err).Action != c.action {
				t.Errorf("Send: %v", err)
			}
			if got := len(s.Calls()); got != c.calls {
				t.Errorf("%d calls, want %d", got, c.calls)
			}
			if sent := s.Sent(person); c.text != "" && (len(sent) != 1 || sent[0].Text != c.text) {
				t.Errorf("sent %+v", sent)
			}
		})
	}
}

func TestErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   telegramtest.Fault
		action  fault.Action
		after   time.Duration
		words   string
		arrived bool
	}{
		"throttled":          {telegramtest.TooManyRequests(33), fault.Retry, 33 * time.Second, "Too Many Requests", false},
		"throttled, no word": {telegramtest.Fault{Code: 429}, fault.Retry, throttled, "Too Many Requests", false},
		"server error":       {telegramtest.Fault{Code: 502, Description: "Bad Gateway"}, fault.Unknown, 0, "Bad Gateway", false},
		"broken before":      {telegramtest.Fault{DropBefore: true}, fault.Unknown, 0, "EOF", false},
		"broken after":       {telegramtest.Fault{DropAfter: true}, fault.Unknown, 0, "EOF", true},
		"blocked": {
			telegramtest.Fault{Code: 403, Description: "Forbidden: bot was blocked by the user"},
			fault.GiveUp, 0, "the bot is blocked in this chat", false,
		},
		"deactivated": {
			telegramtest.Fault{Code: 403, Description: "Forbidden: user is deactivated"},
			fault.GiveUp, 0, "the Telegram account is deactivated", false,
		},
		"forbidden": {
			telegramtest.Fault{Code: 403, Description: "Forbidden: new words"},
			fault.GiveUp, 0, "the bot may not write in this chat", false,
		},
		"no such chat": {
			telegramtest.Fault{Code: 400, Description: "Bad Request: chat not found"},
			fault.GiveUp, 0, "its user must write first", false,
		},
		"bad token":  {telegramtest.Fault{Code: 401, Description: "Unauthorized"}, fault.Retry, tokenWait, "the bot token is refused", false},
		"other":      {telegramtest.Fault{Code: 400, Description: "Bad Request: new words"}, fault.GiveUp, 0, "new words", false},
		"redirected": {telegramtest.Fault{Code: 302, Description: "Found"}, fault.GiveUp, 0, "Found", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, telegramtest.Options{})
			s.Inject(c.fault)
			_, err := channelTo(t, s.URL()).Send(t.Context(), route(""), channel.Part{Plain: "a"})
			if v := fault.Of(err); err == nil || v.Action != c.action || v.After != c.after || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v: %+v", err, v)
			}
			if got := len(s.Sent(person)) == 1; got != c.arrived {
				t.Errorf("arrived: %v", got)
			}
		})
	}
}

func TestSampleAnswersAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]fault.Verdict{
		"resp_400_migrate.json": {Action: fault.GiveUp},
		"resp_400_parse.json":   {Action: fault.GiveUp},
		"resp_400_thread.json":  {Action: fault.GiveUp},
		"resp_403_blocked.json": {Action: fault.GiveUp},
		"resp_429.json":         {Action: fault.Retry, After: 33 * time.Second},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", "answer", name))
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(body)
		}))
		_, err = channelTo(t, s.URL).Send(t.Context(), route("1"), channel.Part{Rich: "a", Plain: "a"})
		s.Close()
		if got := fault.Of(err); got != want || calls > 2 {
			t.Errorf("%s: %v: %+v after %d calls", name, err, got, calls)
		}
	}
}

func TestUnreadableAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   fault.Action
	}{
		"a success that is cut off":   {200, `{"ok":true,"result":{"mess`, fault.Unknown},
		"a success of another shape":  {200, `{"ok":true,"result":7}`, fault.Unknown},
		"a proxy's page":              {200, `<html>`, fault.Unknown},
		"a proxy's error page":        {504, `<html>`, fault.Unknown},
		"a proxy that wants a log-in": {407, `<html>`, fault.GiveUp},
		"not ok without a code":       {200, `{"ok":false}`, fault.GiveUp},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer s.Close()
			_, err := channelTo(t, s.URL).Send(t.Context(), route(""), channel.Part{Plain: "a"})
			if got := fault.Of(err); err == nil || got.Action != c.want {
				t.Errorf("got %v: %v", err, got.Action)
			}
		})
	}
}

func TestWhatWasNeverSentMayBeSentAgain(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	_ = listener.Close() // nobody listens there now
	_, err = channelTo(t, address).Send(t.Context(), route(""), channel.Part{Plain: "a"})
	if fault.Of(err).Action != fault.Retry {
		t.Errorf("got %v: %v", err, fault.Of(err).Action)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = channelTo(t, address).Send(ctx, route(""), channel.Part{Plain: "a"})
	if fault.Of(err).Action != fault.Drop {
		t.Errorf("cancelled: got %v: %v", err, fault.Of(err).Action)
	}
}

func TestCancelledInFlightIsUnknown(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	arrived := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server looks for the client's end only after the body
		cancel()
		<-r.Context().Done()
	}))
	defer arrived.Close()
	_, err := channelTo(t, arrived.URL).Send(ctx, route(""), channel.Part{Plain: "a"})
	if fault.Of(err).Action != fault.Unknown {
		t.Errorf("got %v: %v", err, fault.Of(err).Action)
	}
}

func TestThrottledChatStaysShut(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{})
	s.Know(43)
	s.Inject(telegramtest.TooManyRequests(33))
	c := channelTo(t, s.URL())
	for range 3 {
		_, err := c.Send(t.Context(), route(""), channel.Part{Plain: "a"})
		if v := fault.Of(err); v.Action != fault.Retry || v.After < 30*time.Second {
			t.Errorf("got %v: %+v", err, v)
		}
	}
	if _, err := c.Send(t.Context(), channel.Route{Conversation: "43"}, channel.Part{Plain: "a"}); err != nil {
		t.Errorf("another chat: %v", err)
	}
	if n := len(s.Calls()); n != 2 {
		t.Errorf("%d calls, want one refused and one to the other chat", n)
	}
}

func TestOddRoutesAreRefusedWithoutACall(t *testing.T) {
	t.Parallel()
	c := channelTo(t, "http://127.0.0.1:1")
	for _, to := range []channel.Route{{Conversation: "x"}, {Conversation: "42", ReplyTo: "x"}} {
		if _, err := c.Send(t.Context(), to, channel.Part{Plain: "a"}); fault.Of(err).Action != fault.GiveUp {
			t.Errorf("%+v: %v", to, err)
		}
	}
}

func TestTokenIsInNoError(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"ok":false,"error_code":400,"description":"no such ` + r.URL.Path + `"}`))
	}))
	defer echo.Close()
	moved := httptest.NewServer(http.RedirectHandler("/elsewhere/"+telegramtest.Token, http.StatusFound))
	defer moved.Close()
	for name, base := range map[string]string{
		"refused": "http://127.0.0.1:1", "echoed": echo.URL, "moved": moved.URL, "no such host": "http://host.invalid",
		"not HTTP": "http://" + strings.TrimPrefix(echo.URL, "http://") + "/\x7f",
	} {
		c, err := NewClient(base, telegramtest.Token)
		if err == nil {
			_, err = c.GetMe(t.Context())
		}
		if err == nil || strings.Contains(err.Error(), telegramtest.Token) {
			t.Errorf("%s: %v", name, err)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if strings.Contains(err.Error(), telegramtest.Token) {
				t.Errorf("%s: wrapped: %v", name, err)
			}
		}
	}
}

func TestClientChecksItsSettings(t *testing.T) {
	t.Parallel()
	if _, err := NewClient("", "secret"); !errors.Is(err, ErrToken) || strings.Contains(err.Error(), "secret") {
		t.Errorf("bad token: %v", err)
	}
	for _, base := range []string{"api.telegram.org", "ftp://x", "http://", "://"} {
		if _, err := NewClient(base, telegramtest.Token); err == nil {
			t.Errorf("NewClient(%q) is content", base)
		}
	}
	if c, err := NewClient("", telegramtest.Token); err != nil || c.base != DefaultBase || c.Bot() != bot {
		t.Errorf("default: %+v, %v", c, err)
	}
	if c, err := NewClient("http://127.0.0.1:8081/", telegramtest.Token); err != nil || strings.HasSuffix(c.base, "/") {
		t.Errorf("own server: %+v, %v", c, err)
	}
}

func TestMethodsReachTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{})
	c := client(t, s.URL())
	if me, err := c.GetMe(t.Context()); err != nil || me.ID != bot || me.Username != "example_bot" {
		t.Errorf("GetMe: %+v, %v", me, err)
	}
	if err := c.SendTyping(t.Context(), person); err != nil {
		t.Errorf("SendTyping: %v", err)
	}
	if err := c.SetWebhook(t.Context(), "http://127.0.0.1:1/hook", hookSecret); err != nil {
		t.Errorf("SetWebhook: %v", err)
	}
	if _, err := c.GetUpdates(t.Context(), 0, 0); err == nil || !strings.Contains(err.Error(), "webhook is active") {
		t.Errorf("GetUpdates beside a webhook: %v", err)
	}
	if err := c.DeleteWebhook(t.Context()); err != nil {
		t.Errorf("DeleteWebhook: %v", err)
	}
	if got, err := c.GetUpdates(t.Context(), 0, 0); err != nil || len(got) != 0 {
		t.Errorf("GetUpdates: %v, %v", got, err)
	}
	other, err := NewClient(s.URL(), "1:AA")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.GetMe(t.Context()); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("another token: %v", err)
	}
}
