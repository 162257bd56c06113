package markup

import "strings"

// tag is an element of Telegram's HTML: its name, and the whole of its opening.
type tag struct{ name, open string }

// tags are the elements around a text of a style, outermost first. The order is always the same, so elements nest.
func (s style) tags() []tag {
	var tags []tag
	add := func(on bool, name string) {
		if on {
			tags = append(tags, tag{name, "<" + name + ">"})
		}
	}
	add(s.quote > 0, "blockquote")
	if s.link != "" {
		tags = append(tags, tag{"a", `<a href="` + escaper.Replace(s.link) + `">`})
	}
	add(s.bold, "b")
	add(s.italic, "i")
	add(s.strike, "s")
	add(s.code != noCode && s.code != blockCode, "code")
	add(s.code == blockCode, "pre")
	if s.language != "" {
		tags = append(tags, tag{"code", `<code class="language-` + s.language + `">`})
	}
	return tags
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// html writes the text from a to b with its tags, all closed at its end; "" when nothing of it would show.
func (d document) html(a, b int) string {
	var out strings.Builder
	var open []tag
	seen := false
	for a < b {
		r, end := d.runs[d.from[a]], a+1
		for end < b && d.from[end] == d.from[a] {
			end++
		}
		if !r.plainOnly {
			open = change(&out, open, r.style.tags())
			out.WriteString(escaper.Replace(string(d.text[a:end])))
			seen = seen || d.shows(a, end)
		}
		a = end
	}
	change(&out, open, nil)
	if !seen {
		return ""
	}
	return out.String()
}

// change closes and opens what differs between two styles.
func change(out *strings.Builder, from, to []tag) []tag {
	same := 0
	for same < len(from) && same < len(to) && from[same] == to[same] {
		same++
	}
	for i := len(from) - 1; i >= same; i-- {
		out.WriteString("</" + from[i].name + ">")
	}
	for _, t := range to[same:] {
		out.WriteString(t.open)
	}
	return to
}
