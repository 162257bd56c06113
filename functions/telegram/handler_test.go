package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
	"github.com/bobbin-agent/bobbin/shared/secret/secrettest"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// bench is a handler over stores in memory, with the person of the sample events paired.
type bench struct {
	handler
	table tabletest.Fake
	queue queuetest.Fake
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{}
	ids := &id.Source{}
	book := &owner.Book{Table: &b.table, IDs: ids}
	o, err := book.Add(t.Context(), "Alex", time.Now())
	if err == nil {
		err = book.Link(t.Context(), o, telegram.Connection(9), "42", time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	b.handler = handler{
		secrets: secrettest.NewFake(map[string]string{config.TelegramSecret: "hush"}),
		receiver: telegram.Receiver{
			Bot: 9, Door: &inbox.Inbox{Table: &b.table, Queue: &b.queue, Book: book, IDs: ids},
		},
		log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	return b
}

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

func (b *bench) status(t *testing.T, e events.APIGatewayV2HTTPRequest) int {
	t.Helper()
	answer, err := b.handle(t.Context(), e)
	if err != nil {
		t.Fatalf("an error would be answered 500 without a reason in the log of ours: %v", err)
	}
	return answer.StatusCode
}

// queued is what stands in the queue of turns.
func (b *bench) queued(t *testing.T) (texts []string) {
	t.Helper()
	for _, item := range b.table.Items() {
		if !strings.HasPrefix(item.Key.Sort, turn.QueuePrefix) {
			continue
		}
		var e turn.Entry
		if _, err := table.Decode(&item, &e); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, e.Text)
	}
	return texts
}

func TestAnUpdateIsStoredAndItsSessionWokenBefore200(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"text.json", "base64.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if got := b.status(t, sample(t, name)); got != http.StatusOK {
				t.Errorf("status %d, want 200", got)
			}
			if got := b.queued(t); len(got) != 1 || got[0] != "hello" {
				t.Errorf("queued turns say %q, want one that says hello", got)
			}
			if sent := b.queue.Calls()[queuetest.Send]; sent != 1 {
				t.Errorf("%d wake-ups were sent, want 1", sent)
			}
		})
	}
}

// saying is the sample's update with another text, sent as the nth.
func saying(t *testing.T, text string, nth int) events.APIGatewayV2HTTPRequest {
	t.Helper()
	e := sample(t, "text.json")
	e.Body = strings.NewReplacer(
		`"hello"`, strconv.Quote(text),
		`"update_id":7`, fmt.Sprintf(`"update_id":%d`, 7+nth),
		`"message_id":5`, fmt.Sprintf(`"message_id":%d`, 5+nth),
	).Replace(e.Body)
	return e
}

// sent is what is on its way to chats.
func (b *bench) sent(t *testing.T) (texts []string) {
	t.Helper()
	for _, item := range b.table.Items() {
		if !strings.HasPrefix(item.Key.Partition, "conv#") {
			continue
		}
		var row outbox.Row
		if _, err := table.Decode(&item, &row); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, row.Text)
	}
	return texts
}

func TestAStopIsCarriedOutBefore200(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stop := saying(t, "/stop", 2)
	for _, e := range []events.APIGatewayV2HTTPRequest{saying(t, "first", 0), saying(t, "second", 1), saying(t, "later", 3), stop, stop} {
		if got := b.status(t, e); got != http.StatusOK {
			t.Errorf("status %d, want 200", got)
		}
	}
	if got := b.queued(t); !slices.Equal(got, []string{"later"}) {
		t.Errorf("queued turns say %q, want what was sent after the stop", got)
	}
	if got := b.sent(t); !slices.Equal(got, []string{"Stopped. Not started: 2 messages that waited."}) {
		t.Errorf("told %q", got)
	}
}

func TestTheDeclaredTextIsAReset(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.receiver.Door.(*inbox.Inbox).Rules = config.Shared{Telegram: inbox.Rules{Reset: "/reset"}}.Rules
	if got := b.status(t, saying(t, "/reset", 0)); got != http.StatusOK {
		t.Errorf("status %d, want 200", got)
	}
	if got := b.queued(t); len(got) != 0 {
		t.Errorf("queued turns say %q, want none", got)
	}
	if got := b.sent(t); len(got) != 1 || !strings.Contains(got[0], "new conversation") {
		t.Errorf("told %q", got)
	}
}

func TestARequestThatIsNotTelegramsLeavesNothing(t *testing.T) {
	t.Parallel()
	const header = "x-telegram-bot-api-secret-token"
	for name, c := range map[string]struct {
		change func(*events.APIGatewayV2HTTPRequest)
		want   int
	}{
		"no secret":     {func(e *events.APIGatewayV2HTTPRequest) { delete(e.Headers, header) }, http.StatusUnauthorized},
		"wrong secret":  {func(e *events.APIGatewayV2HTTPRequest) { e.Headers[header] = "hus" }, http.StatusUnauthorized},
		"broken base64": {func(e *events.APIGatewayV2HTTPRequest) { e.IsBase64Encoded = true }, http.StatusBadRequest},
		"too large": {func(e *events.APIGatewayV2HTTPRequest) {
			e.Body += strings.Repeat(" ", telegram.MaxBodyBytes)
		}, http.StatusRequestEntityTooLarge},
		"no JSON": {func(e *events.APIGatewayV2HTTPRequest) { e.Body = "hello" }, http.StatusOK},
		"no body": {func(e *events.APIGatewayV2HTTPRequest) { e.Body = "" }, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, e := newBench(t), sample(t, "text.json")
			e.Headers = maps.Clone(e.Headers)
			c.change(&e)
			if got := b.status(t, e); got != c.want {
				t.Errorf("status %d, want %d", got, c.want)
			}
			if got := b.queued(t); len(got) != 0 {
				t.Errorf("queued turns say %q, want none", got)
			}
		})
	}
}

func TestTelegramIsAskedToSendAgainWhatCouldNotBeStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.table.Fault = func(tabletest.Call) tabletest.Fault { return tabletest.Fault{Kind: tabletest.Refused} }
	if got := b.status(t, sample(t, "text.json")); got != http.StatusInternalServerError {
		t.Errorf("status %d while the table refuses, want 500", got)
	}
	b.table.Fault = nil
	b.secrets = secrettest.NewFake(nil)
	if got := b.status(t, sample(t, "text.json")); got != http.StatusInternalServerError {
		t.Errorf("status %d while the secret is missing, want 500", got)
	}
}

func TestALostWakeUpIsNoReasonToSendAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.queue.Fault = func(queuetest.Call) queuetest.Fault { return queuetest.Refused }
	if got := b.status(t, sample(t, "text.json")); got != http.StatusOK {
		t.Errorf("status %d, want 200: the message is stored, and its due mark will wake the session", got)
	}
	if got := b.queued(t); len(got) != 1 {
		t.Errorf("queued turns say %q, want one", got)
	}
}
