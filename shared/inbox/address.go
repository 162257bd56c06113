package inbox

import (
	"context"
	"slices"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/outbox"
	"github.com/bobbin-agent/bobbin/shared/thread"
	"github.com/bobbin-agent/bobbin/shared/turn"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// addressee is where a message goes: into a session, or to the confirmation that it gives or declines.
type addressee struct {
	session  id.Session
	confirms *wait.Wait
	yes      bool
}

// address finds out whom a message of the owner's is for. Of most messages the place says it: only what replies to
// something, and what is a plain yes or no, has to be looked up.
func (b *Inbox) address(ctx context.Context, m Message, p place, rules Rules) (addressee, error) {
	yes, plain := wait.Plain(m.Text)
	to := addressee{session: chat(m, p, rules), yes: yes}
	switch {
	case m.Reply != "":
		return b.reply(ctx, m, p, to, plain)
	case !plain:
		return to, nil
	}
	open, err := wait.Open(ctx, b.Table, p.head.ID, "")
	if err != nil || len(open) != 1 || open[0].Kind != wait.Confirmation {
		return to, err
	}
	next, err := b.isNext(ctx, open[0])
	if next {
		to.confirms = &open[0]
	}
	return to, err
}

// isNext reports whether the owner has written nothing since the wait was opened. After another message a yes may be meant
// for anything.
func (b *Inbox) isNext(ctx context.Context, w wait.Wait) (bool, error) {
	since, err := thread.After(ctx, b.Table, w.Thread, thread.Cursor(w.Asked), sinceAsked)
	byOwner := func(m thread.Message) bool { return m.From == thread.Owner }
	return err == nil && !since.More && !slices.ContainsFunc(since.Messages, byOwner), err
}

// sinceAsked bounds how many messages are read to find out whether one of them is the owner's.
const sinceAsked = 50

// chat is the session of what replies to nothing.
func chat(m Message, p place, rules Rules) id.Session {
	if rules.Scope == ConversationScope {
		return turn.ConversationSession(p.head.ID, m.Route)
	}
	return id.Session(p.head.ID)
}

// reply finds out whom a reply is for: the session that asks something by the message it replies to, else the chat.
func (b *Inbox) reply(ctx context.Context, m Message, p place, to addressee, plain bool) (addressee, error) {
	ref, err := outbox.Answered(ctx, b.Table, m.Route, m.Reply)
	if err != nil || ref == nil || ref.Thread != p.head.ID || ref.Session == "" {
		return to, err
	}
	w, err := wait.Find(ctx, b.Table, ref.Thread, ref.Session, ref.Turn)
	switch {
	case err != nil || w == nil:
	case w.Kind != wait.Confirmation:
		to.session = w.Session
	case plain:
		to.confirms = w
	}
	return to, err
}
