package telegram

import "github.com/bobbin-agent/bobbin/shared/inbox"

// Outcome says what became of an update, to be counted. All are success: the update is acknowledged.
type Outcome uint8

// The outcomes.
const (
	Undecodable Outcome = iota + 1 // not an update at all
	OtherKind                      // an edit, a reaction, a business message, an unknown kind
	Unreadable                     // a message that is no JSON object
	OtherChat                      // not a private chat with the bot itself
	NotPerson                      // no sender, a bot, or a chat that speaks for itself
	NoContent                      // a service message, or of a kind never seen before
	Accepted                       // a turn will run
	Duplicate                      // delivered before
	Stranger                       // from a person who isn't paired
	Paired                         // a good pairing code
	Told                           // answered that such a message can't be read
	Refused                        // turned away, because its session is busy or has too much waiting; the sender is told
	Obeyed                         // a command that is carried out
	Failed                         // the door can't take it, now or ever; it is lost
)

var outcomeNames = [...]string{
	Undecodable: "undecodable", OtherKind: "other_kind", Unreadable: "unreadable", OtherChat: "other_chat",
	NotPerson: "not_person", NoContent: "no_content", Accepted: "accepted",
	Duplicate: "duplicate", Stranger: "stranger", Paired: "paired", Told: "told", Refused: "refused",
	Obeyed: "obeyed", Failed: "failed",
}

// String is the outcome's name as a metric has it.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) && outcomeNames[o] != "" {
		return outcomeNames[o]
	}
	return "invalid"
}

// outcomeOf translates the door's answer; accepted is what its success means here.
func outcomeOf(r inbox.Receipt, accepted Outcome) Outcome {
	switch r.Outcome {
	case inbox.Accepted:
		return accepted
	case inbox.Duplicate:
		return Duplicate
	case inbox.Stranger:
		return Stranger
	case inbox.Paired:
		return Paired
	case inbox.Refused:
		return Refused
	case inbox.Obeyed:
		return Obeyed
	}
	return accepted
}
