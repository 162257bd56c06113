package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
)

// The connections of a world.
const (
	telegram = "telegram-1"
	web      = channel.Web
)

// partBytes is how long a part of a message may be: a notice, which names no letter, is always one.
const partBytes = 250

// doubtMark begins the line that goes before a part which may be a repeat.
const doubtMark = "_The next message may be a repeat"

// channelSeam is the messenger as one process sees it.
type channelSeam struct{ *process }

// Render cuts a text into parts between words.
func (channelSeam) Render(markdown string) []channel.Part { return render(markdown) }

func render(markdown string) []channel.Part {
	var parts []channel.Part
	var b strings.Builder
	for word := range strings.FieldsSeq(markdown) {
		if b.Len() > 0 && b.Len()+1+len(word) > partBytes {
			parts = append(parts, channel.Part{Plain: b.String()})
			b.Reset()
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return append(parts, channel.Part{Plain: b.String()})
}

// Send sends one part.
func (s channelSeam) Send(ctx context.Context, to channel.Route, part channel.Part) (string, error) {
	var external string
	answer, v := s.perform(ctx, tell, to.Key()+" "+to.ReplyTo+" "+part.Plain, func() {
		external = s.world.seen.received(laneOf(ctx), to, part) //nolint:contextcheck // what its owner does is not the caller's
	})
	switch answer {
	case answered:
		return external, nil
	case refusedFor:
		s.world.seen.refusals++
		return "", fault.As(fault.GiveUp, errors.New("the chat is gone"))
	case postponed:
		return "", fault.RetryAfter(v.pause, errors.New("too many messages"))
	case notKnown:
		return "", fault.As(fault.Unknown, errors.New("the connection broke"))
	case notDone:
	}
	return "", fault.As(fault.Retry, errors.New("the messenger is down"))
}

func isDoubt(text string) bool { return strings.HasPrefix(text, doubtMark) }

// externalID is what the messenger calls the nth message that it took.
func externalID(n int) string { return "x" + strconv.Itoa(n) }

// delivery is one part as the owner got it.
type delivery struct {
	lane         string
	conversation string
	chat         string // the conversation's own key
	letter       string // the message that it answers
	replyTo      string // what the messenger shows it as the answer to
	text         string
	at           time.Duration
	doubt        bool // it is the line that says that the next one may be a repeat
}

func (d delivery) String() string {
	return fmt.Sprintf("%s to %s: %q", d.letter, d.conversation, d.text)
}
