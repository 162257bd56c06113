package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// browser is one that is paired.
type browser struct {
	*bench
	*testing.T
	site   http.Handler
	cookie []string
}

func newBrowser(t *testing.T, b *bench) *browser {
	t.Helper()
	page := web.Handler(b.Site)
	return &browser{b, t, page, pair(t, page, b.code)}
}

// receipt is what the page is told.
type receipt struct {
	Turn    id.Turn
	Outcome string
	Told    string
	Error   string
}

// post sends what the page would, under an ID that name stands for.
func (b *browser) post(path, name string, fields map[string]any) (int, receipt) {
	b.Helper()
	body := map[string]any{"id": id.From("page", name), "thread": b.owner.Thread}
	maps.Copy(body, fields)
	text, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	e := sample(b.T, "pair.json")
	e.RawPath, e.RequestContext.HTTP.Path, e.Body, e.Cookies = path, path, string(text), b.cookie
	answer := serve(b.T, b.site, e)
	var r receipt
	if err := json.Unmarshal([]byte(answer.Body), &r); err != nil {
		b.Fatalf("%s answers %d, %q: %v", path, answer.StatusCode, answer.Body, err)
	}
	return answer.StatusCode, r
}

// say posts a message and returns its turn.
func (b *browser) say(text string) id.Turn {
	b.Helper()
	status, r := b.post("/api/messages", text, map[string]any{"text": text})
	if status != http.StatusAccepted || r.Turn == "" {
		b.Fatalf("saying %q: status %d, %+v", text, status, r)
	}
	return r.Turn
}

func (b *browser) want(path, name string, fields map[string]any, want receipt) {
	b.Helper()
	if status, got := b.post(path, name, fields); status != http.StatusOK || got != want {
		b.Errorf("%s answers %d, %+v; want 200, %+v", path, status, got, want)
	}
}

func (b *browser) desk() *turn.Desk {
	return &turn.Desk{Table: &b.table, IDs: &b.ids, Holder: "worker"}
}

func (b *browser) wantStatus(t id.Turn, want turn.Status) {
	b.Helper()
	got, _, err := b.desk().Find(b.Context(), t)
	if err != nil || got == nil || got.Status != want {
		b.Errorf("the turn is %+v, error %v; want it %s", got, err, want)
	}
}

// confirming has the oldest queued turn ask for a confirmation.
func (b *browser) confirming() {
	b.Helper()
	now := time.Now()
	view, err := b.desk().Look(b.Context(), id.Session(b.owner.Thread), b.owner.Thread)
	if err != nil {
		b.Fatal(err)
	}
	run, err := b.desk().Claim(b.Context(), view, now)
	if err == nil {
		err = run.Open(b.Context(), &blobtest.Fake{})
	}
	if err == nil {
		err = run.End(b.Context(), turn.Ending{
			Status: turn.Waiting, At: now, From: thread.Agent, Text: "Shall I?",
			Ask: &wait.Ask{Kind: wait.Confirmation, Text: "Shall I?", Action: &wait.Action{Key: "key", Tool: "mail", Arguments: []byte(`{}`)}},
		})
	}
	if err != nil {
		b.Fatal(err)
	}
}

func TestThePagesStopIsCarriedOutBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, newBench(t))
	queued := b.say("hello")
	b.want("/api/stop", "stop", map[string]any{"ago_ms": 0}, receipt{Outcome: "obeyed"})
	b.wantStatus(queued, turn.Cancelled)
	after := b.say("after")
	b.want("/api/stop", "stop", map[string]any{"ago_ms": 0}, receipt{Outcome: "duplicate"})
	b.wantStatus(after, turn.Queued)
}

func TestThePageWithdrawsAMessage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, newBench(t))
	first, second := b.say("first"), b.say("second")
	b.want("/api/cancel", "cancel", map[string]any{"turn": first}, receipt{Outcome: "obeyed"})
	b.wantStatus(first, turn.Cancelled)
	b.wantStatus(second, turn.Queued)
}

func TestThePageAnswersAConfirmation(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, newBench(t))
	asked := b.say("mail Bea")
	b.confirming()
	status, r := b.post("/api/answer", "answer", map[string]any{"turn": asked, "yes": true})
	if status != http.StatusOK || r.Outcome != "accepted" {
		t.Fatalf("status %d, %+v", status, r)
	}
	got, e, err := b.desk().Find(t.Context(), r.Turn)
	if err != nil || e == nil || got.Continues != asked || e.Resume == nil || !e.Resume.Yes {
		t.Errorf("the turn is %+v, %+v, error %v; want one that goes on with a yes", got, e, err)
	}
	b.want("/api/answer", "again", map[string]any{"turn": asked, "yes": false},
		receipt{Outcome: "obeyed", Told: "That is not open any more."})
}

func TestThePageClearsWhereItMay(t *testing.T) {
	t.Parallel()
	kept, cleared := newBench(t), newBench(t)
	cleared.Clearing = true
	b := newBrowser(t, kept)
	b.say("hello")
	if status, _ := b.post("/api/clear", "clear", nil); status != http.StatusNotFound {
		t.Errorf("status %d where clearing is off, want 404", status)
	}
	b = newBrowser(t, cleared)
	queued := b.say("hello")
	b.want("/api/clear", "clear", nil, receipt{Outcome: "obeyed"})
	b.wantStatus(queued, turn.Cancelled)
	if status, r := b.post("/api/messages", "late", map[string]any{"text": "late"}); status != http.StatusConflict || r.Turn != "" {
		t.Errorf("a page that has not heard of it is answered %d, %+v; want 409", status, r)
	}
}
