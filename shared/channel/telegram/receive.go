package telegram

import (
	"context"
	"time"

	"github.com/bobbin-agent/bobbin/shared/inbox"
)

// Door is where messages go in. Its errors mean that nothing was stored, or that nobody knows: the same update has to
// come again. Its methods know by inbox.Message.Update what came before.
type Door interface {
	// Accept makes a turn of an owner's message, and handles a stranger's.
	Accept(ctx context.Context, now time.Time, m inbox.Message) (inbox.Receipt, error)
	// Pair makes the sender the owner if the code is good. It is harmless for one who is paired already.
	Pair(ctx context.Context, now time.Time, m inbox.Message, code string) (inbox.Receipt, error)
	// Tell answers an owner with a fixed text, without a turn, and handles a stranger's message like Accept.
	Tell(ctx context.Context, now time.Time, m inbox.Message, text string) (inbox.Receipt, error)
	// Stop ends all that the sender's thread works on and cancels what waits, as of inbox.Message.Sent, and handles a
	// stranger's message like Accept.
	Stop(ctx context.Context, now time.Time, m inbox.Message) (inbox.Receipt, error)
}

// Receiver takes updates to the door. It holds nothing that changes.
type Receiver struct {
	Bot  int64 // the bot's ID, see BotID
	Door Door
	// Count is told of every update once, unless it is nil. It must be safe for concurrent use.
	Count func(Outcome)
}

// Receive takes one update to the door. An error is the door's, and the update must be delivered again.
func (r Receiver) Receive(ctx context.Context, now time.Time, u Update) (Outcome, error) {
	outcome, err := r.knock(ctx, now, read(u, r.Bot, now))
	if err != nil {
		return 0, err
	}
	r.count(outcome)
	return outcome, nil
}

func (r Receiver) knock(ctx context.Context, now time.Time, in reading) (Outcome, error) {
	switch {
	case in.ignored != 0:
		return in.ignored, nil
	case in.code != "":
		receipt, err := r.Door.Pair(ctx, now, in.message, in.code)
		return outcomeOf(receipt, Accepted), err
	case in.stop:
		receipt, err := r.Door.Stop(ctx, now, in.message)
		return outcomeOf(receipt, Obeyed), err
	case in.tell != "":
		receipt, err := r.Door.Tell(ctx, now, in.message, in.tell)
		return outcomeOf(receipt, Told), err
	}
	receipt, err := r.Door.Accept(ctx, now, in.message)
	return outcomeOf(receipt, Accepted), err
}

func (r Receiver) count(o Outcome) {
	if r.Count != nil {
		r.Count(o)
	}
}
