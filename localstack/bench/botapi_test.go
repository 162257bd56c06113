package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
)

const (
	botToken   = "123456789:AAtest-token_of-an-invented-bot0000"
	hookSecret = "a-secret_of-the-benchmark"
)

// botAPI is a Bot API server that does next to nothing, so that the processors are Bobbin's: package telegramtest's,
// which checks what it is sent, takes more of them than Bobbin does.
type botAPI struct {
	*httptest.Server

	mu      sync.Mutex
	all     int                   // messages, a stranger's included
	sent    int                   // to those who are paired
	answers map[int64]int         // messages sent, by chat
	enough  map[int]chan struct{} // closed when so many were sent
	updates chan []byte           // for getUpdates
	polled  chan struct{}         // holds one: getUpdates was called
	fetched chan time.Time        // when getUpdates has answered
}

func newBotAPI(b *testing.B) *botAPI {
	b.Helper()
	a := &botAPI{
		answers: map[int64]int{}, enough: map[int]chan struct{}{},
		updates: make(chan []byte), polled: make(chan struct{}, 1), fetched: make(chan time.Time, 1),
	}
	a.Server = httptest.NewServer(a)
	b.Cleanup(a.Close)
	return a
}

func (a *botAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch method := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; method {
	case "sendMessage":
		fmt.Fprintf(w, `{"ok":true,"result":{"message_id":%d}}`, a.record(body))
	case "getUpdates":
		a.serveUpdates(w, r)
	default:
		fmt.Fprint(w, `{"ok":true,"result":{"id":123456789,"is_bot":true,"first_name":"Bobbin","username":"example_bot"}}`)
	}
}

func (a *botAPI) record(body []byte) int {
	var m struct {
		Chat int64 `json:"chat_id"`
	}
	_ = json.Unmarshal(body, &m) // an odd one counts for chat 0, which nobody expects
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all++
	if m.Chat == stranger {
		return a.all
	}
	a.answers[m.Chat]++
	a.sent++
	if c := a.enough[a.sent]; c != nil {
		close(c)
	}
	return a.all
}

// expect returns what is closed when n more messages have been sent.
func (a *botAPI) expect(n int) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := make(chan struct{})
	a.enough[a.sent+n] = c
	return c
}

// counts are the messages sent so far, by chat.
func (a *botAPI) counts() map[int64]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.answers)
}

func (a *botAPI) serveUpdates(w http.ResponseWriter, r *http.Request) {
	select {
	case a.polled <- struct{}{}:
	default:
	}
	select {
	case u := <-a.updates:
		a.fetched <- time.Now()
		fmt.Fprintf(w, `{"ok":true,"result":[%s]}`, u)
	case <-r.Context().Done():
	}
}

// stranger is a chat whose messages are not counted.
const stranger = 1_000_000

// persons write to the bot: each is a chat of its own.
type persons struct {
	mu     sync.Mutex
	update int64
	hook   string // where the webhook is
	client *http.Client
}

// hookConnections is how many calls of a webhook Telegram makes at once unless it is told otherwise.
const hookConnections = 40

func newPersons(p *process) *persons {
	return &persons{
		hook:   "http://" + p.address + "/telegram",
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: hookConnections}},
	}
}

// says is the update of a person's message.
func (p *persons) says(person int, text string) []byte {
	p.mu.Lock()
	p.update++
	n := p.update
	p.mu.Unlock()
	return fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":%d,"date":%d,`+
		`"chat":{"id":%d,"type":"private","first_name":"Alex"},`+
		`"from":{"id":%d,"is_bot":false,"first_name":"Alex","language_code":"en"},"text":%q}}`,
		n, n, time.Now().Unix(), person, person, text)
}

// post delivers an update to the webhook and reports whether it was taken.
func (p *persons) post(update []byte) error {
	request, err := http.NewRequest(http.MethodPost, p.hook, strings.NewReader(string(update)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(telegram.SecretHeader, hookSecret)
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the webhook answers %s", response.Status)
	}
	return nil
}

// postAll delivers one message of each person, as many at once as Telegram does.
func (p *persons) postAll(b *testing.B, texts []string) {
	b.Helper()
	sideBySide(hookConnections, len(texts), func(i int) {
		if err := p.post(p.says(i+1, texts[i])); err != nil {
			b.Error(err)
		}
	})
}

// sideBySide calls do for each of the first n numbers, width at once.
func sideBySide(width, n int, do func(int)) {
	next := make(chan int)
	var work sync.WaitGroup
	for range width {
		work.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	work.Wait()
}
