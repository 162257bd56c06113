package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/inbox"
)

// Whatever a body holds, it is accepted whole or refused, and never breaks the server.
func FuzzPost(f *testing.F) {
	for _, body := range []string{post("Hello"), "", "null", "[]", `{"id":null}`, `{"text":"\ud800"}`, post("\x00"), post("x") + "}"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		b := newBackend()
		w := ask(b.site(), http.MethodPost, "/api/messages", body)
		if (w.Code == http.StatusAccepted) != (len(b.accepted) == 1) || w.Code >= 500 {
			t.Fatalf("answered %d %s, accepted %d", w.Code, w.Body, len(b.accepted))
		}
		for _, m := range b.accepted {
			if !isUUID(m.Update) || strings.TrimSpace(m.Text) == "" || len(m.Text) > inbox.MaxTextBytes {
				t.Fatalf("accepted %+v", m)
			}
		}
	})
}
