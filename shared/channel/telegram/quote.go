package telegram

import "strings"

// forwarded says whether someone else's words are passed on. Old and new fields are both asked, because an origin may
// lack its type and older servers send none.
func forwarded(m object) bool {
	return m.has("forward_origin", "forward_date", "forward_from", "forward_from_chat", "forward_sender_name")
}

// forwardAuthor is whose words a forwarded message holds; "" when it doesn't say.
func forwardAuthor(m object) string {
	if name := originAuthor(field[object](m, "forward_origin")); name != "" {
		return name
	}
	return firstOf(
		nameOf(field[object](m, "forward_from")),
		nameOf(field[object](m, "forward_from_chat")),
		field[string](m, "forward_sender_name"),
	)
}

func originAuthor(origin object) string {
	return firstOf(
		nameOf(field[object](origin, "sender_user")),
		field[string](origin, "sender_user_name"),
		nameOf(field[object](origin, "sender_chat")),
		nameOf(field[object](origin, "chat")),
	)
}

// replyQuote is the part of another message that this one answers; "" for none. The part that the sender marked goes
// before the whole. The root of a topic, which every message of the topic seems to answer, is no quote.
func replyQuote(m object, bot int64) string {
	reply := field[object](m, "reply_to_message")
	if reply.has("forum_topic_created") {
		return ""
	}
	external := field[object](m, "external_reply")
	text := firstOf(field[string](field[object](m, "quote"), "text"), words(reply), bracket(attachment(reply)),
		bracket(attachment(external)))
	if text == "" {
		return ""
	}
	return attributed("In reply to ", replyAuthor(reply, external, bot), text)
}

func replyAuthor(reply, external object, bot int64) string {
	from := field[object](reply, "from")
	if bot != 0 && field[int64](from, "id") == bot {
		return "your own message"
	}
	return firstOf(nameOf(field[object](reply, "sender_chat")), nameOf(from),
		originAuthor(field[object](external, "origin")))
}

// attributed puts the author's name above the text, on a line of its own.
func attributed(doing, author, text string) string {
	return doing + firstOf(author, "someone") + ":\n" + text
}

// nameOf is the name of a user or a chat.
func nameOf(o object) string {
	return firstOf(fullName(o), field[string](o, "title"), field[string](o, "username"))
}

func bracket(s string) string {
	if s == "" {
		return ""
	}
	return "[" + s + "]"
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s = strings.TrimSpace(s); s != "" {
			return s
		}
	}
	return ""
}
