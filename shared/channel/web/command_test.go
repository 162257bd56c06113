package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

const turnID = "0198c0de-0000-8000-8000-00000000000b"

// commands are all there are, with a body that is good.
var commands = map[string]string{
	"stop":   pressed(`"ago_ms":0`),
	"cancel": pressed(`"turn":"` + turnID + `"`),
	"answer": pressed(`"turn":"` + turnID + `","yes":true`),
	"clear":  pressed(`"x":0`),
}

// pressed is a command's body with the fields given.
func pressed(fields string) string {
	return `{"id":"` + messageID + `","thread":"thread",` + fields + "}"
}

func (b *backend) clearing() Site {
	s := b.site()
	s.Clearing = true
	return s
}

func TestCommandReachesTheDoorAsItWasPressed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path, fields string
		want         obeyed
		ago          time.Duration
		answer       string
	}{
		{"stop", `"ago_ms":0`, obeyed{Name: "stop"}, 0, `{"outcome":"obeyed"}`},
		{"stop", `"ago_ms":90500`, obeyed{Name: "stop"}, 90500 * time.Millisecond, `{"outcome":"obeyed"}`},
		{"stop", `"ago_ms":3600000`, obeyed{Name: "stop"}, time.Hour, `{"outcome":"obeyed"}`},
		{"cancel", `"turn":"` + turnID + `"`, obeyed{Name: "cancel", Turn: turnID}, 0, `{"outcome":"obeyed","told":"It runs already."}`},
		{
			"answer", `"turn":"` + turnID + `","yes":true`,
			obeyed{Name: "answer", Turn: turnID, Yes: true},
			0,
			`{"outcome":"obeyed","told":"This is not open any more."}`,
		},
		{
			"answer", `"turn":"` + turnID + `","yes":false`,
			obeyed{Name: "answer", Turn: turnID},
			0,
			`{"outcome":"obeyed","told":"This is not open any more."}`,
		},
		{"clear", `"ago_ms":0`, obeyed{Name: "clear"}, 0, `{"outcome":"obeyed"}`},
	}
	for _, tt := range tests {
		b := newBackend()
		want(t, ask(b.clearing(), "POST", "/api/"+tt.path, pressed(tt.fields)), 200, tt.answer)
		sent := at.Add(-tt.ago)
		tt.want.Message = inbox.Message{
			Update: messageID, Sender: "local", ExternalID: messageID, Sent: sent, Sequence: sent.UnixMicro(),
			Route: channel.Route{Connection: "web", Conversation: "thread"},
		}
		if diff := cmp.Diff([]obeyed{tt.want}, b.obeyed); diff != "" {
			t.Errorf("%s with %s: want (-), got (+):\n%s", tt.path, tt.fields, diff)
		}
	}
}

func TestCommandPressedTwiceIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	b := newBackend()
	want(t, ask(b.site(), "POST", "/api/stop", commands["stop"]), 200, `{"outcome":"obeyed"}`)
	want(t, ask(b.site(), "POST", "/api/stop", commands["stop"]), 200, `{"outcome":"duplicate"}`)
}

func TestConfirmedTurnIsNamed(t *testing.T) {
	t.Parallel()
	b := newBackend()
	asked := b.ask(wait.Confirmation, "Send it?")
	body := pressed(fmt.Sprintf(`"turn":%q,"yes":true`, asked))
	answer := fmt.Sprintf(`{"turn":%q,"outcome":"accepted"}`, id.From("turn", messageID))
	want(t, ask(b.site(), "POST", "/api/answer", body), 200, answer)
}

func TestEveryCommandIsGuardedLikeAMessage(t *testing.T) {
	t.Parallel()
	for name, good := range commands {
		tests := map[string]struct {
			body    string
			headers []string
			status  int
			say     string
		}{
			"form":           {good, []string{"Content-Type", "text/plain"}, 415, "The body must be application/json."},
			"no JSON":        {"{", nil, 400, "The body is not the JSON that belongs here."},
			"no ID":          {strings.Replace(good, messageID, "", 1), nil, 400, "The ID must be a UUID."},
			"long":           {strings.Repeat(" ", maxCommand) + good, nil, 413, "This is too long."},
			"cleared thread": {strings.Replace(good, `"thread":"thread"`, `"thread":"old"`, 1), nil, 409, "The conversation was cleared before this was sent."},
			"other site":     {good, []string{"Sec-Fetch-Site", "cross-site"}, 403, "Another site sent this request."},
			"rebound name":   {good, []string{"Host", "evil.example"}, 421, "This server answers to localhost and 127.0.0.1 only."},
		}
		for why, tt := range tests {
			t.Run(name+" "+why, func(t *testing.T) {
				t.Parallel()
				b := newBackend()
				want(t, ask(b.clearing(), "POST", "/api/"+name, tt.body, tt.headers...), tt.status, refused(tt.say))
				if b.obeyed != nil {
					t.Errorf("carried out %v", b.obeyed)
				}
			})
		}
		t.Run(name+" stranger", func(t *testing.T) {
			t.Parallel()
			want(t, ask(cloud(newBackend()), "POST", "/api/"+name, good), 401, refused("This browser is not paired."))
		})
		t.Run(name+" unpaired meanwhile", func(t *testing.T) {
			t.Parallel()
			b := newBackend()
			s := b.clearing()
			s.People, b.people = onePerson{}, nil
			want(t, ask(s, "POST", "/api/"+name, good), 401, refused("This browser is not paired any more."))
		})
		t.Run(name+" not durable", func(t *testing.T) {
			t.Parallel()
			b := newBackend()
			b.err = fault.As(fault.Unknown, errors.New("disk on fire"))
			want(t, ask(b.clearing(), "POST", "/api/"+name, good), 503, refused("The server can't do this right now."))
		})
	}
}

func TestCommandsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	const late, which, what = "Stop was pressed too long ago. Press it again.", "Say which message to cancel.", "Say yes or no, and to what."
	for _, tt := range [][3]string{
		{"stop", `"ago_ms":-1`, late},
		{"stop", `"ago_ms":3600001`, late},
		{"stop", `"ago_ms":9223372036854775807`, late},
		{"cancel", `"x":0`, which},
		{"cancel", `"turn":"a#b"`, which},
		{"answer", `"yes":true`, what},
		{"answer", `"turn":"a#b","yes":true`, what},
		{"answer", `"turn":"` + turnID + `"`, what},
	} {
		b := newBackend()
		want(t, ask(b.site(), "POST", "/api/"+tt[0], pressed(tt[1])), 400, refused(tt[2]))
		if b.obeyed != nil {
			t.Errorf("%v: carried out %v", tt, b.obeyed)
		}
	}
}

func TestClearingIsAbsentUnlessItIsAllowed(t *testing.T) {
	t.Parallel()
	b := newBackend()
	want(t, ask(b.site(), "POST", "/api/clear", commands["clear"]), 404, refused("This server does not clear conversations."))
	if b.obeyed != nil {
		t.Errorf("carried out %v", b.obeyed)
	}
	if w := ask(b.clearing(), "GET", "/api/status", ""); !strings.Contains(w.Body.String(), `"clearing":true`) {
		t.Errorf("the page is not told that it may clear: %s", w.Body)
	}
}

func TestWhatIsRefusedIsAConflictThatSaysWhy(t *testing.T) {
	t.Parallel()
	b := newBackend()
	b.busy = true
	for path, body := range map[string]string{"messages": post("Hello"), "clear": commands["clear"]} {
		want(t, ask(b.clearing(), "POST", "/api/"+path, body), http.StatusConflict, refused(stillWorking))
	}
}

func TestMessageThatIsACommandIsObeyed(t *testing.T) {
	t.Parallel()
	w := ask(newBackend().site(), "POST", "/api/messages", post("/reset"))
	want(t, w, http.StatusAccepted, `{"outcome":"obeyed","told":"I begin anew."}`)
}

func TestWaitsAsThePageReadsThem(t *testing.T) {
	t.Parallel()
	b := newBackend()
	want(t, ask(b.site(), "GET", "/api/waits", ""), 200, "[]")
	b.waits = []Wait{{Turn: turnID, Kind: wait.Confirmation, Text: "Send it?", Asked: at}}
	want(t, ask(b.site(), "GET", "/api/waits", ""), 200,
		`[{"turn":"`+turnID+`","kind":"confirmation","text":"Send it?","asked":"2026-03-14T15:09:26.535Z"}]`)
	want(t, ask(cloud(b), "GET", "/api/waits", ""), 401, refused("This browser is not paired."))
	b.err = fault.As(fault.Retry, errors.New("disk on fire"))
	want(t, ask(b.site(), "GET", "/api/waits", ""), 503, refused("The server can't do this right now."))
}

// Whatever a body holds, the command is carried out as it says or refused, and never breaks the server.
func FuzzCommand(f *testing.F) {
	for name, body := range commands {
		f.Add(name, body)
		f.Add(name, "null")
	}
	f.Fuzz(func(t *testing.T, name, body string) {
		if _, is := commands[name]; !is {
			t.Skip("no command")
		}
		b := newBackend()
		w := ask(b.clearing(), http.MethodPost, "/api/"+name, body)
		if (w.Code == http.StatusOK) != (len(b.obeyed) == 1) || w.Code >= 500 || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("answered %d %s, carried out %d", w.Code, w.Body, len(b.obeyed))
		}
		for _, o := range b.obeyed {
			if !isUUID(o.Message.Update) || o.Message.Sent.After(at) || at.Sub(o.Message.Sent) > maxAgo {
				t.Fatalf("carried out %+v", o)
			}
		}
	})
}
