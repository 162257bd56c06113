package markup

import (
	"slices"
	"strings"
	"unicode"

	"github.com/bobbin-agent/bobbin/shared/channel"
)

const (
	maxUnits     = 4096     // UTF-16 units of a message's visible text
	maxHTMLBytes = 30 << 10 // of its source; the server takes 32 KiB
)

// nothing is sent for a text of which nothing would show.
const nothing = "(an empty message)"

// Render turns Markdown into at least one part in Telegram's HTML, each within its limits, with the same in plain text.
// It cuts a document into parts after it has been parsed: what is cut is the visible text, and each part's tags are
// written for that part alone, so none is ever left open, and code goes on as code in the next part.
func Render(markdown string) []channel.Part {
	parts := flatten(parse(markdown)).parts()
	if len(parts) == 0 { // an image without a description, a comment: show the source
		parts = flatten([]run{{text: strings.ToValidUTF8(markdown, "\uFFFD")}}).parts()
	}
	if len(parts) == 0 {
		parts = []channel.Part{{Plain: nothing}}
	}
	return parts
}

// document is a text, rune by rune, and the run that each came from.
type document struct {
	text []rune
	from []int
	runs []run
}

func flatten(runs []run) document {
	d := document{runs: runs}
	for i, r := range runs {
		for _, c := range r.text {
			for _, c := range shown(c, r.style.code) {
				d.text, d.from = append(d.text, c), append(d.from, i)
			}
		}
	}
	return d
}

// parts cuts the whole document.
func (d document) parts() []channel.Part {
	var parts []channel.Part
	for start := 0; start < len(d.text); {
		end, rich := d.next(start)
		if a, b := d.trim(start, end); d.shows(a, b) {
			parts = append(parts, channel.Part{Rich: rich, Plain: string(d.text[a:b])})
		}
		start = end
	}
	return parts
}

// next is the end of the part that begins at start, and its HTML: shorter than the limit of the text alone, when
// the tags and escapes would break the limit of the source.
func (d document) next(start int) (end int, rich string) {
	for limit := maxUnits; ; limit /= 2 {
		end = d.cut(start, limit)
		a, b := d.trim(start, end)
		rich = d.html(a, b)
		if len(rich) <= maxHTMLBytes || end == start+1 {
			return end, rich
		}
	}
}

// cut is the end of a part of at most limit units that begins at start. It prefers the end of a paragraph, of a line, of
// a word, of a character, if that doesn't waste too much; it is always after start.
func (d document) cut(start, limit int) int {
	var at [4]int // the last paragraph's end, line's, word's, character's
	used, i := 0, start
	for ; i < len(d.text); i++ {
		if i > start && splittable(d.text, i) {
			at[d.boundary(i)] = i
		}
		if used += units(d.text[i]); used > limit {
			break
		}
	}
	if i == len(d.text) {
		return i
	}
	full := i - start
	for kind, least := range [...]int{full / 2, full / 3, full / 4, 1} {
		if at[kind] >= start+max(least, 1) {
			return at[kind]
		}
	}
	return max(i, start+1)
}

// boundary says what ends before text[i]: 0 a paragraph, 1 a line, 2 a word, 3 a character. Lines of code are no
// paragraphs: a block that fits in the next part goes there whole, if enough stands before it.
func (d document) boundary(i int) int {
	switch last := d.text[i-1]; {
	case last == '\n' && i > 1 && d.text[i-2] == '\n' && d.style(i-1).code != blockCode:
		return 0
	case last == '\n':
		return 1
	case last == ' ':
		return 2
	}
	return 3
}

func (d document) style(i int) style { return d.runs[d.from[i]].style }

// trim leaves out what Telegram would cut off anyway, but keeps the indentation of code.
func (d document) trim(a, b int) (start, end int) {
	for a < b && (d.text[a] == '\n' || unicode.IsSpace(d.text[a]) && d.style(a).code != blockCode) {
		a++
	}
	for a < b && unicode.IsSpace(d.text[b-1]) {
		b--
	}
	return a, b
}

func (d document) shows(a, b int) bool {
	return slices.ContainsFunc(d.text[a:b], visible)
}
