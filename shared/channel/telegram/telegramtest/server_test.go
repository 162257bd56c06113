package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const person = 42

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// answer is a method's answer as a client sees it.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	} `json:"parameters"`
}

func call(t *testing.T, s *Server, method, body string) answer {
	t.Helper()
	return post(t, s.URL()+"/bot"+Token+"/"+method, "application/json", body)
}

func post(t *testing.T, address, contentType, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return answer{}
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{Description: "no answer: " + err.Error()}
	}
	defer resp.Body.Close()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Error(err)
	}
	if !a.OK && a.Code != resp.StatusCode {
		t.Errorf("status %d with error_code %d", resp.StatusCode, a.Code)
	}
	return a
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestOnlyTheRightTokenIsServed(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	for path, want := range map[string]int{
		"/bot" + Token + "/getMe": 0, "/bot" + Token + "/GETME": 0, "/bot1:wrong/getMe": 401, "/botx/getMe": 404, "/": 404,
		"/bot" + Token + "/nope": 404,
	} {
		if a := post(t, s.URL()+path, "application/json", "{}"); a.Code != want {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if a := post(t, s.URL()+"/bot"+Token+"/getMe", "application/json", "{"); a.Code != 400 {
		t.Errorf("a broken body: %+v", a)
	}
}

func TestParametersMayComeAsAForm(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.Know(person)
	a := post(t, s.URL()+"/bot"+Token+"/sendMessage?chat_id=42", "application/x-www-form-urlencoded", "text=a%20b")
	if sent := s.Sent(person); !a.OK || len(sent) != 1 || sent[0].Text != "a b" {
		t.Errorf("%+v, sent %+v", a, sent)
	}
}

func TestMessagesAreCheckedAsTelegramDoes(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.Know(person)
	s.Know(43)
	s.Block(43, true)
	long := strings.Repeat("😀", 2049)
	for name, c := range map[string]struct{ body, want string }{
		"good":            {`{"chat_id":42,"text":"a < b"}`, ""},
		"full":            {`{"chat_id":42,"text":"` + strings.Repeat("😀", 2048) + `"}`, ""},
		"number as text":  {`{"chat_id":"42","text":"a"}`, ""},
		"good HTML":       {`{"chat_id":42,"text":"<b>a</b> &lt;","parse_mode":"HTML"}`, ""},
		"no chat":         {`{"text":"a"}`, "Bad Request: chat_id is empty"},
		"unknown chat":    {`{"chat_id":44,"text":"a"}`, "Bad Request: chat not found"},
		"blocked":         {`{"chat_id":43,"text":"a"}`, "Forbidden: bot was blocked by the user"},
		"empty":           {`{"chat_id":42,"text":" \n"}`, "Bad Request: message text is empty"},
		"empty by markup": {`{"chat_id":42,"text":"<b></b>","parse_mode":"HTML"}`, "Bad Request: message text is empty"},
		"long":            {`{"chat_id":42,"text":"` + long + `"}`, "Bad Request: message is too long"},
		"long source":     {`{"chat_id":42,"text":"` + strings.Repeat("&amp;", 7000) + `","parse_mode":"HTML"}`, "Bad Request: text is too long"},
		"odd mode":        {`{"chat_id":42,"text":"a","parse_mode":"TeX"}`, "Bad Request: unsupported parse_mode"},
		"open tag": {
			`{"chat_id":42,"text":"<b>a","parse_mode":"HTML"}`,
			`Bad Request: can't parse entities: Can't find end tag corresponding to start tag "b"`,
		},
		"reply to nothing": {`{"chat_id":42,"text":"a","reply_parameters":{"message_id":999}}`, "Bad Request: message to be replied not found"},
		"reply if there":   {`{"chat_id":42,"text":"a","reply_parameters":{"message_id":999,"allow_sending_without_reply":true}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a := call(t, s, "sendMessage", c.body); a.Description != c.want || a.OK != (c.want == "") {
				t.Errorf("got %q, want %q", a.Description, c.want)
			}
		})
	}
	for body, want := range map[string]bool{
		`{"chat_id":42,"action":"typing"}`: true, `{"chat_id":42,"action":"?"}`: false, `{"chat_id":44,"action":"typing"}`: false,
	} {
		if a := call(t, s, "sendChatAction", body); a.OK != want {
			t.Errorf("%s: %+v", body, a)
		}
	}
}

func TestHTMLIsReadAsTelegramReadsIt(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]struct {
		text     string
		entities []Entity
		err      string
	}{
		"a &lt;b&gt; &amp; &quot; &#65;&#x42; &nbsp; &": {text: "a <b> & \" AB &nbsp; &"},
		"😀<b>b<i>c</i></b>": {text: "😀bc", entities: []Entity{
			{Type: "bold", Offset: 2, Length: 2}, {Type: "italic", Offset: 3, Length: 1},
		}},
		"<pre><code class=\"language-go\">x</code></pre>": {text: "x", entities: []Entity{{Type: "pre", Length: 1, Language: "go"}}},
		"<pre>x</pre>":                      {text: "x", entities: []Entity{{Type: "pre", Length: 1}}},
		"<A HREF='https://x.example'>x</a>": {text: "x", entities: []Entity{{Type: "text_link", Length: 1, URL: "https://x.example"}}},
		"<a>x</a><b></b>":                   {text: "x"},
		"<blockquote expandable>x</>":       {text: "x", entities: []Entity{{Type: "blockquote", Length: 1}}},
		"<span class=tg-spoiler>x</span >":  {text: "x", entities: []Entity{{Type: "spoiler", Length: 1}}},
		"<span>x</span>":                    {err: `tag "span" must have class "tg-spoiler" at byte offset 0`},
		"a<h1>x</h1>":                       {err: `unsupported start tag "h1" at byte offset 1`},
		"a < b":                             {err: `unsupported start tag "" at byte offset 2`},
		"a < b>":                            {err: `unsupported start tag "" at byte offset 2`},
		"<b":                                {err: "unclosed start tag at byte offset 0"},
		"<a href=\"x":                       {err: `unclosed start tag "a" at byte offset 0`},
		"<a =x>":                            {err: `empty attribute name in the tag "a" at byte offset 0`},
		"<a href":                           {err: `unclosed start tag "a" at byte offset 0`},
		"x</b>":                             {err: "unexpected end tag at byte offset 1"},
		"<b>x</b":                           {err: "unclosed end tag at byte offset 4"},
		"<b><i>x</b></i>":                   {err: `unmatched end tag at byte offset 7, expected "</i>", found "</b>"`},
		"<b><i>x</i>":                       {err: `can't find end tag corresponding to start tag "b"`},
	} {
		text, entities, err := ParseHTML(source)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if diff := cmp.Diff([]any{want.text, want.entities, want.err}, []any{text, entities, said}); diff != "" {
			t.Errorf("%q: %s", source, diff)
		}
	}
}

func FuzzParseHTML(f *testing.F) {
	f.Add("<b>a</b> &#x41; <a href='x")
	f.Fuzz(func(t *testing.T, source string) {
		text, entities, err := ParseHTML(source)
		for _, e := range entities {
			if err == nil && (e.Length <= 0 || e.Offset+e.Length > UTF16(text)) {
				t.Errorf("%q: %+v is outside of %q", source, e, text)
			}
		}
	})
}

// ids are the update IDs in an answer of getUpdates.
func ids(t *testing.T, a answer) []int64 {
	t.Helper()
	var updates []struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(a.Result, &updates); err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	got := []int64{}
	for _, u := range updates {
		got = append(got, u.ID)
	}
	return got
}

func TestUpdatesComeUntilTheyAreConfirmed(t *testing.T) {
	t.Parallel()
	s := start(t, Options{FirstUpdate: 10})
	for range 3 {
		s.Say(person, "x")
	}
	for _, step := range []struct {
		ask  string
		want []int64
	}{
		{`{}`, []int64{10, 11, 12}},
		{`{"limit":1}`, []int64{10}},
		{`{"offset":11}`, []int64{11, 12}},
		{`{"offset":5}`, []int64{11, 12}},
		{`{"offset":1000}`, []int64{11, 12}},
		{`{"offset":-1}`, []int64{12}},
		{`{"offset":13}`, []int64{}},
		{`{"offset":13,"timeout":0}`, []int64{}},
	} {
		if diff := cmp.Diff(step.want, ids(t, call(t, s, "getUpdates", step.ask))); diff != "" {
			t.Errorf("%s: %s", step.ask, diff)
		}
	}
	if err := s.WaitAcknowledged(soon(t), person); err != nil || s.Waiting() != 0 {
		t.Errorf("%d wait, %v", s.Waiting(), err)
	}
}

func TestLongPollEndsWithAnUpdateOrItsTimeout(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Second: time.Millisecond})
	if got := ids(t, call(t, s, "getUpdates", `{"timeout":5}`)); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	patient := start(t, Options{})
	answered := make(chan answer)
	go func() { answered <- call(t, patient, "getUpdates", `{"timeout":50}`) }()
	id, _ := patient.Say(person, "x") // before or after the call: both must do
	if got := ids(t, <-answered); len(got) != 1 || got[0] != id {
		t.Errorf("got %v, want %d", got, id)
	}
}

func TestNewerPollEndsTheOlder(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	answered := make(chan answer, 2)
	for range 2 {
		go func() { answered <- call(t, s, "getUpdates", `{"timeout":50}`) }()
	}
	if a := <-answered; a.Code != 409 || !strings.Contains(a.Description, "terminated by other getUpdates request") {
		t.Errorf("the older: %+v", a)
	}
	s.SetWebhook("http://127.0.0.1:1/", "")
	if a := <-answered; a.Code != 409 {
		t.Errorf("the newer, when a webhook was set: %+v", a)
	}
}

func TestOnlyAllowedKindsAreQueued(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	if id := s.Push(person, "message_reaction", map[string]any{}); id != 0 {
		t.Errorf("a reaction came without being asked for: %d", id)
	}
	call(t, s, "getUpdates", `{"allowed_updates":["message_reaction"]}`)
	if id, _ := s.Say(person, "x"); id != 0 {
		t.Errorf("a message came without being asked for: %d", id)
	}
	call(t, s, "getUpdates", `{}`) // keeps the list
	if id := s.Push(person, "message_reaction", map[string]any{}); id == 0 {
		t.Error("the reaction asked for did not come")
	}
	call(t, s, "getUpdates", `{"allowed_updates":[]}`)
	if id, _ := s.Say(person, "x"); id == 0 {
		t.Error("the default list has no messages")
	}
}

// receiver is a webhook that answers as it is told and notes what came.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[int64][]int // by update: what to answer first; then 200
	came    []int64
	secrets []string
	held    map[int64]bool // by chat: a call is in progress
	overlap bool
}

func receive(t *testing.T, answers map[int64][]int) *receiver {
	t.Helper()
	r := &receiver{answers: answers, held: map[int64]bool{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var u struct {
		ID      int64 `json:"update_id"`
		Message struct {
			Chat struct{ ID int64 }
		}
	}
	body, _ := io.ReadAll(req.Body)
	_ = json.NewDecoder(bytes.NewReader(body)).Decode(&u)
	r.enter(u.Message.Chat.ID)
	w.WriteHeader(r.leave(u.Message.Chat.ID, u.ID, req.Header.Get("X-Telegram-Bot-Api-Secret-Token")))
}

func (r *receiver) enter(chat int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overlap = r.overlap || r.held[chat]
	r.held[chat] = true
}

func (r *receiver) leave(chat, update int64, secret string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[chat] = false
	r.came, r.secrets = append(r.came, update), append(r.secrets, secret)
	if left := r.answers[update]; len(left) > 0 {
		r.answers[update] = left[1:]
		return left[0]
	}
	return http.StatusOK
}

func TestWebhookGetsEachUpdateUntilItIsTaken(t *testing.T) {
	t.Parallel()
	s := start(t, Options{FirstUpdate: 1, Second: time.Millisecond})
	hook := receive(t, map[int64][]int{1: {500, 302, 404}})
	s.Say(person, "before the webhook was set")
	if a := call(t, s, "setWebhook", `{"url":"`+hook.URL+`","secret_token":"s-3_T"}`); !a.OK {
		t.Fatalf("setWebhook: %+v", a)
	}
	s.Say(person, "after")
	if err := s.WaitAcknowledged(soon(t), person); err != nil {
		t.Fatal(err)
	}
	want := []Attempt{{1, 500}, {1, 302}, {1, 404}, {1, 200}, {2, 200}}
	got, err := s.WaitAttempts(soon(t), len(want))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for _, secret := range hook.secrets {
		if secret != "s-3_T" {
			t.Errorf("secret %q", secret)
		}
	}
}

func TestOneChatsTroubleHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s := start(t, Options{FirstUpdate: 1}) // in real seconds: the third try is far away
	hook := receive(t, map[int64][]int{1: {500, 500, 500, 500}})
	s.SetWebhook(hook.URL, "")
	s.Say(1, "stuck")
	s.Say(1, "behind it")
	for chat := range int64(20) {
		s.Say(100+chat, "free")
	}
	for chat := range int64(20) {
		if err := s.WaitAcknowledged(soon(t), 100+chat); err != nil {
			t.Fatal(err)
		}
	}
	if s.Waiting() != 2 {
		t.Errorf("%d updates wait, want the stuck one and the one behind it", s.Waiting())
	}
}

func TestChatsAreDeliveredInOrderOneAtATime(t *testing.T) {
	t.Parallel()
	s := start(t, Options{FirstUpdate: 1, Second: time.Microsecond})
	hook := receive(t, map[int64][]int{3: {500}, 8: {503, 503}})
	s.SetWebhook(hook.URL, "")
	for i := range int64(60) {
		s.Say(i%3, strconv.FormatInt(i, 10))
	}
	for chat := range int64(3) {
		if err := s.WaitAcknowledged(soon(t), chat); err != nil {
			t.Fatal(err)
		}
	}
	hook.mu.Lock()
	defer hook.mu.Unlock()
	last := map[int64]int64{}
	for _, id := range hook.came {
		if chat := (id - 1) % 3; id < last[chat] {
			t.Errorf("chat %d: update %d after %d", chat, id, last[chat])
		} else {
			last[chat] = id
		}
	}
	if hook.overlap || len(hook.came) != 63 {
		t.Errorf("two calls of one chat at once: %v; %d calls", hook.overlap, len(hook.came))
	}
}

func TestRetriesComeAtOnceThenEverLater(t *testing.T) {
	t.Parallel()
	var got []int
	for tries := range 9 {
		got = append(got, retryAfter(tries, 0))
	}
	if diff := cmp.Diff([]int{0, 2, 4, 8, 16, 32, 60, 60, 60}, got); diff != "" {
		t.Error(diff)
	}
	if retryAfter(0, 7) != 7 || retryAfter(3, 9999) != 3600 {
		t.Error("the webhook's own wait is not kept")
	}
}

func TestDeletedWebhookLeavesUpdatesToPoll(t *testing.T) {
	t.Parallel()
	s := start(t, Options{FirstUpdate: 1})
	hook := receive(t, map[int64][]int{1: {500, 500, 500}})
	s.SetWebhook(hook.URL, "")
	s.Say(person, "x")
	if _, err := s.WaitAttempts(soon(t), 2); err != nil {
		t.Fatal(err)
	}
	if a := call(t, s, "deleteWebhook", `{}`); !a.OK {
		t.Errorf("deleteWebhook: %+v", a)
	}
	if got := ids(t, call(t, s, "getUpdates", `{}`)); len(got) != 1 {
		t.Errorf("polled %v", got)
	}
	call(t, s, "setWebhook", `{"url":"","drop_pending_updates":true}`)
	if s.Waiting() != 0 {
		t.Errorf("%d updates wait after all were dropped", s.Waiting())
	}
	for _, bad := range []string{`{"url":"nowhere"}`, `{"url":"http://x.example","secret_token":"a b"}`} {
		if a := call(t, s, "setWebhook", bad); a.Code != 400 {
			t.Errorf("%s: %+v", bad, a)
		}
	}
}

func TestFaultsHitTheCallsTheyAreFor(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.Know(person)
	s.Know(43)
	hold := make(chan struct{})
	close(hold)
	s.Inject(Fault{Method: "sendMessage", Chat: 43, Times: 2, Code: 500, Description: "oops"})
	s.Inject(Fault{Method: "sendMessage", Chat: person, DropAfter: true, Hold: hold})
	s.Inject(Fault{Method: "getMe", DropBefore: true})
	to := func(chat string) answer { return call(t, s, "sendMessage", `{"chat_id":`+chat+`,"text":"a"}`) }
	for i, c := range []struct {
		got  answer
		want string
	}{
		{to("42"), "no answer"},
		{to("42"), ""},
		{to("43"), "oops"},
		{to("43"), "oops"},
		{to("43"), ""},
		{call(t, s, "getMe", "{}"), "no answer"},
		{call(t, s, "getMe", "{}"), ""},
	} {
		if !strings.HasPrefix(c.got.Description, c.want) || c.got.OK != (c.want == "") {
			t.Errorf("call %d: %+v, want %q", i, c.got, c.want)
		}
	}
	calls, err := s.WaitCalls(soon(t), "sendMessage", 5)
	if err != nil || calls[0].Code != 0 || !calls[0].Handled || calls[2].Code != 500 || calls[2].Handled || calls[0].Text() != "a" {
		t.Errorf("%v: %+v", err, calls)
	}
	sent, err := s.WaitSent(soon(t), person, 2)
	if err != nil || len(sent) != 2 {
		t.Errorf("the message of the broken call is missing: %v, %v", sent, err)
	}
}

func TestChatBearsOnlySoMuch(t *testing.T) {
	t.Parallel()
	s := start(t, Options{ChatPerSecond: 2})
	s.Know(person)
	var last answer
	for range 100 { // on a slow machine the second may be over before the third
		if last = call(t, s, "sendMessage", `{"chat_id":42,"text":"a"}`); !last.OK {
			break
		}
	}
	if last.Code != 429 || last.Parameters.RetryAfter != 1 || last.Description != "Too Many Requests: retry after 1" {
		t.Errorf("got %+v", last)
	}
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.Say(person, "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, sent := s.WaitSent(ctx, person, 1)
	_, calls := s.WaitCalls(ctx, "getMe", 1)
	_, attempts := s.WaitAttempts(ctx, 1)
	for _, err := range []error{sent, calls, attempts, s.WaitAcknowledged(ctx, person)} {
		if err == nil || !strings.Contains(err.Error(), "waiting for") {
			t.Errorf("got %v", err)
		}
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(stuck.Close)
	s.SetWebhook(stuck.URL, "")
	s.Say(person, "x")
	s.Close()
	s.Say(person, "after the end") // must not start anything
	if s.Waiting() != 2 {
		t.Errorf("%d updates wait", s.Waiting())
	}
}
