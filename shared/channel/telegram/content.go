package telegram

import (
	"fmt"
	"strconv"
	"strings"
)

// attachments are the contents that can't be read yet, in the order in which they are looked for (an animation also sets
// document), with the words that name them.
var attachments = []struct{ key, one string }{
	{"photo", "a photo"},
	{"voice", "a voice note"},
	{"audio", "an audio file"},
	{"animation", "an animation"},
	{"document", "a document"},
	{"video", "a video"},
	{"video_note", "a video note"},
	{"sticker", "a sticker"},
	{"story", "a story"},
	{"paid_media", "paid media"},
	{"poll", "a poll"},
	{"checklist", "a checklist"},
	{"dice", "a die"},
	{"game", "a game"},
	{"invoice", "an invoice"},
	{"giveaway", "a giveaway"},
	{"rich_message", "a rich message"},
}

// attachment names what came with a message, "a photo"; "" for nothing.
func attachment(m object) string {
	for _, a := range attachments {
		if m.has(a.key) {
			return a.one
		}
	}
	return ""
}

// words is the text of a message and what stands for it: a caption, a sticker's emoji, a place. A venue carries its
// location too, and wins.
func words(m object) string {
	for _, text := range []string{
		field[string](m, "text"),
		field[string](m, "caption"),
		field[string](field[object](m, "sticker"), "emoji"),
		venue(field[object](m, "venue")),
		location(field[object](m, "location")),
	} {
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return ""
}

func venue(v object) string {
	if v == nil {
		return ""
	}
	var known []string
	for _, part := range []string{
		field[string](v, "title"), field[string](v, "address"), coordinates(field[object](v, "location")),
	} {
		if part != "" {
			known = append(known, part)
		}
	}
	if len(known) == 0 {
		return ""
	}
	return "Place: " + strings.Join(known, ", ")
}

func location(l object) string {
	if at := coordinates(l); at != "" {
		return "Location: " + at
	}
	return ""
}

// coordinates is latitude and longitude in degrees, "51.5, -0.12".
func coordinates(l object) string {
	if !l.has("latitude") || !l.has("longitude") {
		return ""
	}
	return degrees(l, "latitude") + ", " + degrees(l, "longitude")
}

func degrees(l object, key string) string {
	return strconv.FormatFloat(field[float64](l, key), 'f', -1, 64)
}

// contact is a contact card as text; "" for none. It is the sender's own only if the card says so by their user ID.
func contact(m object, sender int64) (card string, own bool) {
	c := field[object](m, "contact")
	if c == nil {
		return "", false
	}
	card = fmt.Sprintf("Contact: %s, %s", orUnknown(fullName(c)), orUnknown(field[string](c, "phone_number")))
	return card, field[int64](c, "user_id") == sender
}

func fullName(person object) string {
	return strings.TrimSpace(field[string](person, "first_name") + " " + field[string](person, "last_name"))
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
