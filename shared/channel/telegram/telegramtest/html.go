package telegramtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Entity is a stretch of a message with a meaning; offset and length are in UTF-16 units, as everywhere in the Bot API.
type Entity struct {
	Type     string // as the Bot API names it: bold, pre, text_link…
	Offset   int
	Length   int
	URL      string // of a text_link
	Language string // of a pre
}

// elements are the tags that are known, and the entity each makes.
var elements = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "code": "code", "pre": "pre",
	"a": "text_link", "blockquote": "blockquote", "tg-spoiler": "spoiler", "span": "spoiler", "tg-emoji": "custom_emoji",
}

// UTF16 is the length of a text in UTF-16 units.
func UTF16(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// ParseHTML reads text in the Bot API's HTML style as its server does, and returns what is seen and the entities in it.
// The error is in the server's own words, which follow "can't parse entities: ".
func ParseHTML(source string) (text string, entities []Entity, err error) {
	p := htmlParser{source: source}
	for p.at < len(source) {
		if err := p.step(); err != nil {
			return "", nil, err
		}
	}
	if n := len(p.open); n > 0 {
		return "", nil, fmt.Errorf("can't find end tag corresponding to start tag %q", p.open[n-1].name)
	}
	slices.SortStableFunc(p.entities, func(a, b Entity) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	return p.text.String(), p.entities, nil
}

type htmlParser struct {
	source   string
	at       int // the byte that is next
	text     strings.Builder
	units    int // UTF-16 units of text
	open     []element
	entities []Entity
}

type element struct {
	name       string
	attributes map[string]string
	offset     int
}

func (p *htmlParser) step() error {
	rest := p.source[p.at:]
	switch {
	case strings.HasPrefix(rest, "</"):
		return p.end()
	case rest[0] == '<':
		return p.start()
	}
	n := strings.IndexByte(rest[1:], '<') + 1
	if n == 0 {
		n = len(rest)
	}
	p.write(decode(rest[:n]))
	p.at += n
	return nil
}

func (p *htmlParser) write(text string) {
	p.text.WriteString(text)
	p.units += UTF16(text)
}

func (p *htmlParser) start() error {
	begin := p.at
	p.at++
	name := strings.ToLower(p.word(" \t\n>"))
	if p.at == len(p.source) {
		return fmt.Errorf("unclosed start tag at byte offset %d", begin)
	}
	if elements[name] == "" {
		return fmt.Errorf("unsupported start tag %q at byte offset %d", name, begin)
	}
	attributes := map[string]string{}
	for p.space(); !p.take('>'); p.space() {
		if err := p.attribute(name, begin, attributes); err != nil {
			return err
		}
	}
	if name == "span" && attributes["class"] != "tg-spoiler" {
		return fmt.Errorf("tag \"span\" must have class \"tg-spoiler\" at byte offset %d", begin)
	}
	p.open = append(p.open, element{name, attributes, p.units})
	return nil
}

// attribute reads one name, with its value if it has one, as "expandable" hasn't.
func (p *htmlParser) attribute(tag string, begin int, attributes map[string]string) error {
	name := strings.ToLower(p.word(" \t\n=>"))
	if name == "" {
		return fmt.Errorf("empty attribute name in the tag %q at byte offset %d", tag, begin)
	}
	p.space()
	attributes[name] = ""
	if !p.take('=') {
		if p.at == len(p.source) {
			return fmt.Errorf("unclosed start tag %q at byte offset %d", tag, begin)
		}
		return nil
	}
	p.space()
	stop := " \t\n>"
	if p.take('"') {
		stop = `"`
	} else if p.take('\'') {
		stop = `'`
	}
	attributes[name] = decode(p.word(stop))
	if p.at == len(p.source) {
		return fmt.Errorf("unclosed start tag %q at byte offset %d", tag, begin)
	}
	if len(stop) == 1 {
		p.at++
	}
	return nil
}

func (p *htmlParser) end() error {
	begin := p.at
	if len(p.open) == 0 {
		return fmt.Errorf("unexpected end tag at byte offset %d", begin)
	}
	p.at += len("</")
	name := strings.ToLower(p.word(" \t\n>"))
	p.space()
	if !p.take('>') {
		return fmt.Errorf("unclosed end tag at byte offset %d", begin)
	}
	last := p.open[len(p.open)-1]
	if name != "" && name != last.name {
		return fmt.Errorf("unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", begin, last.name, name)
	}
	p.open = p.open[:len(p.open)-1]
	p.close(last)
	return nil
}

// close makes the entity of an element; an empty one makes none, nor does a link without an address.
func (p *htmlParser) close(e element) {
	made := Entity{Type: elements[e.name], Offset: e.offset, Length: p.units - e.offset, URL: e.attributes["href"]}
	if made.Length == 0 || made.Type == "text_link" && made.URL == "" {
		return
	}
	if lang, ok := strings.CutPrefix(e.attributes["class"], "language-"); ok && e.name == "code" {
		made.Language = lang
	}
	if p.language(&made) {
		return
	}
	p.entities = append(p.entities, made)
}

// language joins a pre and the code with a language that fills it into one entity.
func (p *htmlParser) language(made *Entity) (joined bool) {
	n := len(p.entities)
	if made.Type != "pre" || n == 0 {
		return false
	}
	inner := &p.entities[n-1]
	if inner.Type != "code" || inner.Offset != made.Offset || inner.Length != made.Length {
		return false
	}
	inner.Type = "pre"
	return true
}

func (p *htmlParser) space() {
	for p.at < len(p.source) && strings.IndexByte(" \t\n", p.source[p.at]) >= 0 {
		p.at++
	}
}

func (p *htmlParser) take(c byte) bool {
	if p.at < len(p.source) && p.source[p.at] == c {
		p.at++
		return true
	}
	return false
}

// word reads up to one of the given bytes, or to the end.
func (p *htmlParser) word(stop string) string {
	n := strings.IndexAny(p.source[p.at:], stop)
	if n < 0 {
		n = len(p.source) - p.at
	}
	p.at += n
	return p.source[p.at-n : p.at]
}

var named = map[string]string{"lt": "<", "gt": ">", "amp": "&", "quot": `"`}

// decode resolves the four named entities and the numbered ones; any other ampersand stands for itself.
func decode(s string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "&")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(after, ";")
		text := reference(name)
		if !closed || text == "" {
			text, rest = "&", after
		}
		out.WriteString(text)
		s = rest
	}
}

func reference(name string) string {
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return named[name]
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 21)
	if err != nil || n == 0 || n > 0x10FFFF {
		return ""
	}
	return string(rune(n))
}
