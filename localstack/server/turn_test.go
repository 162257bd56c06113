package server

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/localstack/pairing"
	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/tool"
)

// caller is a model that calls the tool that a message names, if it says "call NAME", and then says what the last message
// said.
type caller struct{}

func (caller) Info() model.Info { return model.Info{Provider: "test", Name: "caller"} }

func (caller) Stream(_ context.Context, r model.Request, _ func(model.Delta)) (model.Response, error) {
	blocks := r.Messages[len(r.Messages)-1].Blocks
	last := blocks[len(blocks)-1]
	if name, ok := strings.CutPrefix(last.Text, "call "); ok {
		call := &model.ToolCall{ID: "call", Name: name, Arguments: []byte(`{}`)}
		return model.Response{Blocks: []model.Block{{Call: call}}, Stop: model.StopTools}, nil
	}
	if last.Result != nil {
		last.Text = last.Result.Text
	}
	return model.Response{Blocks: []model.Block{{Text: "heard: " + last.Text}}, Stop: model.StopEnd}, nil
}

// stage is a running server with a bot, on which so many people are its one owner, each in a chat of their own.
type stage struct {
	*testing.T
	bot    *telegramtest.Server
	server *Server
	seen   map[int64]int // messages that a person has read
}

func newStage(t *testing.T, people int, local config.Local, tools ...tool.Tool) *stage {
	t.Helper()
	bot, err := telegramtest.Start(telegramtest.Options{Second: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bot.Close)
	tg, err := NewTelegram(config.Shared{TelegramAPI: bot.URL(), Rate: config.Rate{InAll: -1, PerChat: -1}}, telegramtest.Token, "")
	if err != nil {
		t.Fatal(err)
	}
	local.Data, local.Address, local.Workers, local.Poll = t.TempDir(), "127.0.0.1:0", 16, true
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := Open(ctx, Settings{
		Local: local, Model: caller{}, Telegram: tg, Tools: tools,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	st := &stage{t, bot, s, map[int64]int{}}
	codes, err := Pair(ctx, local.Data, pairing.Order{Count: people})
	if err != nil {
		t.Fatal(err)
	}
	for i, code := range codes {
		st.bot.Say(int64(i+1), "/start "+code)
		st.reads(int64(i+1), "Paired.")
	}
	return st
}

// reads waits for a person's next message, which begins with what is wanted.
func (s *stage) reads(person int64, want string) {
	s.Helper()
	s.seen[person]++
	sent, err := s.bot.WaitSent(s.Context(), person, s.seen[person])
	if err != nil {
		s.Fatal(err)
	}
	if got := sent[s.seen[person]-1].Text; !strings.HasPrefix(got, want) {
		s.Errorf("%d reads %q, want %q", person, got, want)
	}
}

// waiting waits until so many turns wait for a permit and all permits are taken.
func (s *stage) waiting(turns, permits int) {
	s.Helper()
	for again := time.NewTicker(5 * time.Millisecond); ; <-again.C {
		room, err := capacity.Load(s.Context(), s.server.store.Table(), permits)
		if err != nil {
			s.Fatal(err)
		}
		if len(room.Slots) > permits {
			s.Fatalf("%d turns run at once, want at most %d", len(room.Slots), permits)
		}
		if len(room.Waiters) == turns {
			return
		}
	}
}

func TestAStopEndsATurnWhoseToolIsStuck(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	s := newStage(t, 1, config.Local{}, tool.Tool{
		Name: "stuck", Schema: []byte(`{"type":"object"}`),
		Run: func(context.Context, tool.Call) (tool.Result, error) {
			close(begun)
			<-release // whatever its context says
			return tool.Result{Text: "too late"}, nil
		},
	})
	defer close(release)
	s.bot.Say(1, "call stuck")
	<-begun
	s.bot.Say(1, "/stop")
	s.bot.Say(1, "hello")
	s.reads(1, "Stopped. Under way, and its outcome unknown: stuck.")
	s.reads(1, "heard: hello")
}

func TestAConfirmedActionIsDoneOnceByAYes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var done []string
	s := newStage(t, 1, config.Local{}, tool.Tool{
		Name: "mail", Schema: []byte(`{"type":"object"}`),
		Confirm: func(tool.Call) string { return "Shall I send it?" },
		Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			done = append(done, string(c.Arguments))
			return tool.Result{Text: "sent"}, nil
		},
	})
	s.bot.Say(1, "call mail")
	s.reads(1, "Shall I send it?")
	s.bot.Say(1, "yes")
	s.reads(1, "heard: ")
	s.bot.Say(1, "yes") // an ordinary message now
	s.reads(1, "heard: yes")
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(done, []string{"{}"}) {
		t.Errorf("it was done with %q, want once", done)
	}
}

func TestNoMoreTurnsRunAtOnceThanThereArePermitsAndAllGetOne(t *testing.T) {
	t.Parallel()
	const people, permits = 8, 3
	running, begun, release := make(chan struct{}, people), make(chan struct{}, people), make(chan struct{})
	local := config.Local{}
	local.Turns, local.Telegram.Scope = permits, inbox.ConversationScope
	s := newStage(t, people, local, tool.Tool{
		Name: "long", Schema: []byte(`{"type":"object"}`),
		Run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			running <- struct{}{}
			begun <- struct{}{}
			defer func() { <-running }()
			if n := len(running); n > permits {
				t.Errorf("%d turns run at once, want at most %d", n, permits)
			}
			select {
			case release <- struct{}{}:
			case <-ctx.Done():
			}
			return tool.Result{Text: "done"}, nil
		},
	})
	for person := range int64(people) {
		s.bot.Say(person+1, "call long")
	}
	for range permits { // as many as may do run at once
		<-begun
	}
	s.waiting(people-permits, permits)
	for range people {
		<-release
	}
	for person := range int64(people) {
		s.reads(person+1, "heard: done")
	}
}
