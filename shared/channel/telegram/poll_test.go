package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// book is a door that remembers by chat what it took, and refuses as often as it is told.
type book struct {
	idle
	mu     sync.Mutex
	taken  map[string][]string // by conversation: texts, in order
	fail   int                 // how many to refuse first
	hate   string              // a text that can never be taken
	gate   chan struct{}       // unless nil: waits for it to be closed, in the chat named by slow
	slow   string
	knocks int
}

func (b *book) Accept(ctx context.Context, _ time.Time, m inbox.Message) (inbox.Receipt, error) {
	if b.gate != nil && m.Route.Conversation == b.slow {
		select {
		case <-b.gate:
		case <-ctx.Done():
			return inbox.Receipt{}, ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.knocks++
	if b.fail > 0 {
		b.fail--
		return inbox.Receipt{}, fmt.Errorf("store is down: %w", table.ErrRefused)
	}
	if b.hate != "" && m.Text == b.hate {
		return inbox.Receipt{}, fmt.Errorf("record is damaged: %w", table.ErrInvalid)
	}
	if b.taken == nil {
		b.taken = map[string][]string{}
	}
	b.taken[m.Route.Conversation] = append(b.taken[m.Route.Conversation], m.Text)
	return inbox.Receipt{Outcome: inbox.Accepted}, nil
}

func (b *book) all() map[string][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := map[string][]string{}
	for chat, texts := range b.taken {
		taken[chat] = append([]string{}, texts...)
	}
	return taken
}

// start polls until the test ends, and returns how to end it before.
func start(t *testing.T, base string, d Door, report func(error)) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &Poll{Client: client(t, base), Receiver: Receiver{Bot: bot, Door: d}, Report: report}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

func TestPollTakesAllInOrderAndConfirms(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{})
	want := map[string][]string{}
	say := func(from, to int) {
		for i := from; i < to; i++ {
			chat := int64(1 + i%7)
			s.Say(chat, strconv.Itoa(i))
			key := strconv.FormatInt(chat, 10)
			want[key] = append(want[key], strconv.Itoa(i))
		}
	}
	say(0, 250) // more than two batches
	b := &book{}
	stop := start(t, s.URL(), b, nil)
	acknowledged(t, s, 7)
	say(250, 260) // while it polls
	acknowledged(t, s, 7)
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if diff := cmp.Diff(want, b.all()); diff != "" {
		t.Error(diff)
	}
	if s.Waiting() != 0 {
		t.Errorf("%d updates unconfirmed", s.Waiting())
	}
}

func acknowledged(t *testing.T, s *telegramtest.Server, chats int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for chat := range chats {
		if err := s.WaitAcknowledged(ctx, 1+chat); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPollAsksForItsKindsEachTime(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{})
	start(t, s.URL(), &book{}, nil)
	s.Say(1, "x")
	calls, err := s.WaitCalls(t.Context(), "getUpdates", 1)
	if err != nil || string(calls[0].Params["allowed_updates"]) != `["message"]` || string(calls[0].Params["timeout"]) != "50" {
		t.Errorf("got %v, %v", calls, err)
	}
}

func TestPollConfirmsNothingBeforeAllIsStored(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{})
	s.Say(1, "stuck")
	s.Say(2, "free")
	b := &book{gate: make(chan struct{}), slow: "1"}
	stop := start(t, s.URL(), b, nil)
	if _, err := s.WaitCalls(t.Context(), "getUpdates", 1); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil { // as a kill would
		t.Errorf("Run: %v", err)
	}
	if s.Waiting() != 2 {
		t.Errorf("%d updates wait, want both", s.Waiting())
	}
	close(b.gate)
	start(t, s.URL(), b, nil)
	acknowledged(t, s, 2)
	if got := b.all()["1"]; len(got) != 1 || got[0] != "stuck" {
		t.Errorf("chat 1 got %q", got)
	}
}

func TestPollRepeatsWhatIsNotAcceptedInOrder(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{})
	for i := range 3 {
		s.Say(1, fmt.Sprint(i))
	}
	b := &book{fail: 1}
	reported := make(chan error, 10)
	start(t, s.URL(), b, func(err error) { reported <- err })
	acknowledged(t, s, 1)
	if diff := cmp.Diff([]string{"0", "1", "2"}, b.all()["1"]); diff != "" {
		t.Error(diff)
	}
	if err := <-reported; !errors.Is(err, table.ErrRefused) || b.knocks != 4 {
		t.Errorf("reported %v, %d knocks", err, b.knocks)
	}
}

func TestPollPassesOverWhatCanNeverBeTaken(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{})
	for _, text := range []string{"before", "cursed", "after"} {
		s.Say(1, text)
	}
	s.Say(2, "elsewhere")
	b := &book{hate: "cursed"}
	reported, counted := make(chan error, 10), make(chan Outcome, 10)
	ctx, cancel := context.WithCancel(t.Context())
	p := &Poll{
		Client: client(t, s.URL()), Report: func(err error) { reported <- err },
		Receiver: Receiver{Bot: bot, Door: b, Count: func(o Outcome) { counted <- o }},
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	acknowledged(t, s, 2)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string][]string{"1": {"before", "after"}, "2": {"elsewhere"}}, b.all()); diff != "" {
		t.Error(diff)
	}
	if err := <-reported; !strings.Contains(err.Error(), "record is damaged") || b.knocks != 4 {
		t.Errorf("reported %v, %d knocks", err, b.knocks)
	}
	close(counted)
	failed := 0
	for o := range counted {
		if o == Failed {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d updates counted as failed, want 1", failed)
	}
}

func TestWhatMayBeTakenLaterIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("x: %w", table.ErrRefused), true},
		{fmt.Errorf("x: %w", table.ErrUnknown), true},
		{fmt.Errorf("x: %w", queue.ErrRefused), true},
		{fault.As(fault.Retry, inbox.ErrStale), true},
		{fault.As(fault.Unknown, io.EOF), true},
		{context.DeadlineExceeded, true},
		{context.Canceled, true},
		{fmt.Errorf("x: %w", table.ErrInvalid), false},
		{errors.New("not JSON"), false},
		{fault.As(fault.GiveUp, io.EOF), false},
	} {
		if passing(c.err) != c.want {
			t.Errorf("%v: tried again: %v, want %v", c.err, !c.want, c.want)
		}
	}
}

func TestPollOutlivesAnotherThatComesLater(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{})
	b := &book{}
	reported := make(chan error, 10)
	start(t, s.URL(), b, func(err error) { reported <- err })
	s.Say(1, "before")
	acknowledged(t, s, 1)
	s.Inject(telegramtest.Fault{Method: "getUpdates", Code: 409, Description: "Conflict: terminated by other getUpdates request"})
	s.Say(1, "meanwhile") // ends the call that waits; the next one meets the conflict
	s.Say(1, "after")
	acknowledged(t, s, 1)
	if diff := cmp.Diff([]string{"before", "meanwhile", "after"}, b.all()["1"]); diff != "" {
		t.Error(diff)
	}
	if err := <-reported; !strings.Contains(err.Error(), "another process polls this bot") {
		t.Errorf("reported %v", err)
	}
}

func TestPollSurvivesErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{})
	s.Inject(telegramtest.Fault{Method: "getUpdates", DropBefore: true})
	s.Say(1, "x")
	b := &book{}
	reported := make(chan error, 10)
	start(t, s.URL(), b, func(err error) { reported <- err })
	acknowledged(t, s, 1)
	if err := <-reported; !strings.Contains(err.Error(), "getUpdates") || strings.Contains(err.Error(), telegramtest.Token) {
		t.Errorf("reported %v", err)
	}
}

func TestPollFollowsANumberingThatStartsAnew(t *testing.T) {
	t.Parallel()
	s := serve(t, telegramtest.Options{FirstUpdate: 1_000_000})
	b := &book{}
	start(t, s.URL(), b, nil)
	s.Say(1, "before")
	acknowledged(t, s, 1)
	s.SetNextUpdate(500)
	s.Say(1, "after")
	s.Say(1, "and on")
	acknowledged(t, s, 1)
	if diff := cmp.Diff([]string{"before", "after", "and on"}, b.all()["1"]); diff != "" {
		t.Error(diff)
	}
}

func TestPollEndsWithWordsForTheOperator(t *testing.T) {
	t.Parallel()
	for words, prepare := range map[string]func(*telegramtest.Server){
		"has a webhook": func(s *telegramtest.Server) { s.SetWebhook("http://127.0.0.1:1/", "") },
		"another process polls": func(s *telegramtest.Server) {
			s.Inject(telegramtest.Fault{Code: 409, Description: "Conflict: terminated by other getUpdates request"})
		},
		"token is refused": func(s *telegramtest.Server) {
			s.Inject(telegramtest.Fault{Code: 401, Description: "Unauthorized"})
		},
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			s := serve(t, telegramtest.Options{})
			prepare(s)
			err := (&Poll{Client: client(t, s.URL())}).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPollPassesNoise(t *testing.T) {
	t.Parallel()
	answers := []string{
		`[{"x":1}]`, `[{"x":1},{"update_id":7,"hologram":{}},` + private(`"text":"hi"`) + `]`,
	}
	offsets := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if len(answers) == 0 {
			offsets <- string(body)
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprintf(w, `{"ok":true,"result":%s}`, answers[0])
		answers = answers[1:]
	}))
	t.Cleanup(s.Close)
	b := &book{}
	reported := make(chan error, 10)
	start(t, s.URL, b, func(err error) { reported <- err })
	if offset := <-offsets; !strings.Contains(offset, `"offset":8,`) {
		t.Errorf("then asked with %s", offset)
	}
	if err := <-reported; !errors.Is(err, errOnlyNoise) || len(b.all()["42"]) != 1 {
		t.Errorf("reported %v, took %v", err, b.all())
	}
}

func TestPausesGrowToHalfAMinute(t *testing.T) {
	t.Parallel()
	var pause backoff
	var got []int
	for range 7 {
		got = append(got, int(pause.next()/time.Second))
	}
	if diff := cmp.Diff([]int{1, 2, 4, 8, 16, 30, 30}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPollPassesOverATroubleThatNobodyKnowsAfterAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		strange := errors.New("a trouble that nobody knows")
		var reported []error
		p := &Poll{
			Receiver: Receiver{Bot: bot, Door: &door{err: strange}}, Report: func(err error) { reported = append(reported, err) },
		}
		u, err := Decode([]byte(private(`"text":"hi"`)))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		p.store(t.Context(), []Update{u})
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
			t.Errorf("it was tried for %v", took)
		}
		if len(reported) < 3 {
			t.Errorf("reported %v, want every attempt", reported)
		}
	})
}
