package live

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/id"
)

// waiting returns what is in the channel now.
func waiting(events <-chan Event) []Event {
	var got []Event
	for len(events) > 0 {
		got = append(got, <-events)
	}
	return got
}

func text(turn id.Turn, s string) Event { return Event{Kind: Text, Turn: turn, Text: s} }

func turned(turn id.Turn, s Status) Event { return Event{Kind: Turned, Turn: turn, Status: s} }

func TestEventsReachTheirThreadInOrder(t *testing.T) {
	t.Parallel()
	var h Hub
	a, cancelA := h.Subscribe("a")
	defer cancelA()
	b, cancelB := h.Subscribe("b")
	defer cancelB()
	want := []Event{turned("1", Queued), turned("1", Running), text("1", "x"), {Kind: Stored, Message: "m"}, turned("1", Ended)}
	for _, e := range want {
		h.Publish("a", e)
	}
	if diff := cmp.Diff(want, waiting(a)); diff != "" {
		t.Error(diff)
	}
	if got := waiting(b); got != nil {
		t.Errorf("the other thread's subscriber heard %v", got)
	}
}

func TestOneWhoComesLateSeesRunningRepliesWhole(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ before, want []Event }{
		"nothing runs": {
			before: []Event{turned("1", Queued), {Kind: Stored}},
		},
		"no text yet": {
			before: []Event{turned("1", Running)},
			want:   []Event{{Kind: Restart, Turn: "1"}},
		},
		"text so far": {
			before: []Event{turned("1", Running), text("1", "Hel"), text("1", "lo")},
			want:   []Event{{Kind: Restart, Turn: "1", Text: "Hello"}},
		},
		"a restart forgets": {
			before: []Event{text("1", "Hel"), {Kind: Restart, Turn: "1", Text: "A"}, text("1", "B")},
			want:   []Event{{Kind: Restart, Turn: "1", Text: "AB"}},
		},
		"the ended is forgotten": {
			before: []Event{text("1", "one"), text("2", "two"), turned("1", Ended)},
			want:   []Event{{Kind: Restart, Turn: "2", Text: "two"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h Hub
			for _, e := range tt.before {
				h.Publish("a", e)
			}
			events, cancel := h.Subscribe("a")
			defer cancel()
			if diff := cmp.Diff(tt.want, waiting(events)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSlowSubscriberResyncsAndThenFollows(t *testing.T) {
	t.Parallel()
	var h Hub
	events, cancel := h.Subscribe("a")
	defer cancel()
	for range buffer + 1 {
		h.Publish("a", text("1", "x"))
	}
	h.Publish("a", text("1", "!"))
	want := []Event{
		{Kind: Resync},
		{Kind: Restart, Turn: "1", Text: strings.Repeat("x", buffer+1)},
		text("1", "!"),
	}
	if diff := cmp.Diff(want, waiting(events)); diff != "" {
		t.Error(diff)
	}
}

func TestReplayIsBounded(t *testing.T) {
	t.Parallel()
	var h Hub
	chunk := strings.Repeat("y", 100<<10)
	for range 30 {
		h.Publish("a", text("1", chunk))
	}
	events, cancel := h.Subscribe("a")
	defer cancel()
	got := waiting(events)
	if n := len(got[0].Text); n > maxReplay || n < maxReplay/2 {
		t.Errorf("%d bytes replayed, want at most %d and at least half of it", n, maxReplay)
	}
}

func TestMoreRunningTurnsThanFitDoNotBlock(t *testing.T) {
	t.Parallel()
	var h Hub
	for n := range 2 * buffer {
		h.Publish("a", turned(id.Turn(rune('A'+n)), Running))
	}
	events, cancel := h.Subscribe("a")
	defer cancel()
	if n := len(waiting(events)); n != buffer {
		t.Errorf("%d events replayed, want %d", n, buffer)
	}
}

func TestCancelAndCloseEndTheChannel(t *testing.T) {
	t.Parallel()
	var h Hub
	left, cancel := h.Subscribe("a")
	stays, cancelStays := h.Subscribe("a")
	cancel()
	cancel()
	if _, open := <-left; open {
		t.Error("cancel left the channel open")
	}
	h.Close()
	h.Close()
	if _, open := <-stays; open {
		t.Error("Close left the channel open")
	}
	cancelStays()
	h.Publish("a", turned("1", Running))
	late, cancelLate := h.Subscribe("a")
	defer cancelLate()
	if _, open := <-late; open {
		t.Error("a subscription after Close is open")
	}
}

func TestHubForgetsQuietThreads(t *testing.T) {
	t.Parallel()
	var h Hub
	_, cancel := h.Subscribe("a")
	h.Publish("b", text("1", "x"))
	h.Publish("b", turned("1", Ended))
	h.Publish("c", Event{Kind: Stored})
	cancel()
	if n := len(h.rooms); n != 0 {
		t.Errorf("%d threads kept, want none", n)
	}
}

// Whatever the readers do, a reply rebuilt from what arrives is the reply that was published.
func TestConcurrentReadersRebuildTheReply(t *testing.T) {
	t.Parallel()
	var h Hub
	var readers sync.WaitGroup
	for range 8 {
		events, _ := h.Subscribe("a")
		readers.Go(func() {
			if got := rebuild(events); got != strings.Repeat("z", 5000) {
				t.Errorf("rebuilt %d characters, want 5000", len(got))
			}
		})
	}
	for range 5000 {
		h.Publish("a", text("1", "z"))
	}
	h.Close()
	readers.Wait()
}

func rebuild(events <-chan Event) string {
	var reply string
	for e := range events {
		switch e.Kind {
		case Text:
			reply += e.Text
		case Restart:
			reply = e.Text
		case Resync:
			reply = ""
		case Stored, Turned:
		}
	}
	return reply
}
