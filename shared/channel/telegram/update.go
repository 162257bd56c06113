package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// kindMessage is the one kind of update that is handled so far.
const kindMessage = "message"

// allowedUpdates is what the Bot API is asked for. It is always sent, because leaving it out keeps the list of an earlier
// call, and the default includes kinds by which strangers reach the bot.
var allowedUpdates = []string{kindMessage}

// ErrNotUpdate means that a body is not an update: no JSON object, or none with an integer update_id.
var ErrNotUpdate = errors.New("not a Telegram update")

// Update is one update, decoded as far as its kind.
type Update struct {
	// ID is update_id. It grows from update to update, but starts anew at random after an idle week.
	ID int64
	// Kind is the name of the field beside update_id, "message" for one; "" when there is none.
	Kind string

	body json.RawMessage // the value of that field
}

// Decode reads one update. Kinds and fields that are unknown or of an unexpected type don't matter; the error is
// ErrNotUpdate.
func Decode(body []byte) (Update, error) {
	var o object
	if err := json.Unmarshal(body, &o); err != nil {
		return Update{}, fmt.Errorf("%w: %w", ErrNotUpdate, err)
	}
	id, err := strconv.ParseInt(string(o["update_id"]), 10, 64)
	if err != nil {
		return Update{}, fmt.Errorf("%w: update_id is no integer", ErrNotUpdate)
	}
	kind := kindOf(o)
	return Update{ID: id, Kind: kind, body: o[kind]}, nil
}

// kindOf prefers a message, should an update ever carry two kinds, and is the same each time for the same update.
func kindOf(o object) string {
	if _, ok := o[kindMessage]; ok {
		return kindMessage
	}
	var kinds []string
	for key := range o {
		if key != "update_id" {
			kinds = append(kinds, key)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return slices.Min(kinds)
}

// message is the message of an update of that kind; nil when it isn't an object.
func (u Update) message() object {
	var m object
	if u.Kind != kindMessage || json.Unmarshal(u.body, &m) != nil {
		return nil
	}
	return m
}
