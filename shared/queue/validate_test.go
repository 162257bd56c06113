package queue_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

func TestMessageLimitsAreExact(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", queue.MaxNameBytes)
	body := strings.Repeat("b", queue.MaxBodyBytes)
	for name, tc := range map[string]struct {
		message queue.Message
		ok      bool
	}{
		"smallest":         {queue.Message{Group: "g", Dedup: "d", Body: "b"}, true},
		"largest":          {queue.Message{Group: long, Dedup: long, Body: body}, true},
		"punctuation":      {queue.Message{Group: "!~#/:", Dedup: "a#1", Body: "b"}, true},
		"white space":      {queue.Message{Group: "g", Dedup: "d", Body: " \t\r\n"}, true},
		"any script":       {queue.Message{Group: "g", Dedup: "d", Body: "żółw 亀 🐢 \ufffd"}, true},
		"no group":         {queue.Message{Dedup: "d", Body: "b"}, false},
		"no dedup":         {queue.Message{Group: "g", Body: "b"}, false},
		"no body":          {queue.Message{Group: "g", Dedup: "d"}, false},
		"group too long":   {queue.Message{Group: long + "x", Dedup: "d", Body: "b"}, false},
		"dedup too long":   {queue.Message{Group: "g", Dedup: long + "x", Body: "b"}, false},
		"body too long":    {queue.Message{Group: "g", Dedup: "d", Body: body + "b"}, false},
		"space in a name":  {queue.Message{Group: "g g", Dedup: "d", Body: "b"}, false},
		"letter not ASCII": {queue.Message{Group: "g", Dedup: "ż", Body: "b"}, false},
		"not UTF-8":        {queue.Message{Group: "g", Dedup: "d", Body: "a\xffb"}, false},
		"control":          {queue.Message{Group: "g", Dedup: "d", Body: "a\x00b"}, false},
		"not a character":  {queue.Message{Group: "g", Dedup: "d", Body: "a\uffffb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, tc.message.Validate(), tc.ok)
		})
	}
}

func TestReceiveAndVisibilityLimitsAreExact(t *testing.T) {
	t.Parallel()
	for most, ok := range map[int]bool{0: false, 1: true, queue.MaxReceive: true, queue.MaxReceive + 1: false} {
		check(t, queue.CheckReceive(most), ok)
	}
	for d, ok := range map[time.Duration]bool{
		-time.Nanosecond: false, 0: true, queue.MaxVisibility: true, queue.MaxVisibility + time.Nanosecond: false,
	} {
		check(t, queue.CheckVisibility(d), ok)
	}
}

func check(t *testing.T, err error, ok bool) {
	t.Helper()
	if ok != (err == nil) || err != nil && !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("got %v, want success: %v", err, ok)
	}
}
