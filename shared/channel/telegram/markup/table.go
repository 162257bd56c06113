package markup

import (
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// table lays a table out as text of fixed width, which Telegram's HTML has no markup for: columns padded, a line below
// the head.
func table(n *grid, src []byte) string {
	rows := cells(n, src)
	widths := columnWidths(rows)
	var b strings.Builder
	for i, row := range rows {
		b.WriteString(strings.TrimRight(line(row, widths, n.right), " "))
		b.WriteByte('\n')
		if i == 0 {
			b.WriteString(rule(widths))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func cells(n ast.Node, src []byte) [][]string {
	var rows [][]string
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var row []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, plainText(c, src, true))
		}
		rows = append(rows, row)
	}
	return rows
}

// maxColumn is how wide a column is made at most: no screen shows more in one line, and spaces that fill a long column
// up in every row could make a text of megabytes of a short document.
const maxColumn = 200

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = min(max(widths[i], textWidth(cell)), maxColumn)
		}
	}
	return widths
}

func line(row []string, widths []int, right []bool) string {
	padded := make([]string, len(row))
	for i, cell := range row {
		space := strings.Repeat(" ", max(0, widths[i]-textWidth(cell)))
		if right[i] {
			padded[i] = space + cell
		} else {
			padded[i] = cell + space
		}
	}
	return strings.Join(padded, " │ ")
}

func rule(widths []int) string {
	dashes := make([]string, len(widths))
	for i, w := range widths {
		dashes[i] = strings.Repeat("─", w)
	}
	return strings.Join(dashes, "─┼─")
}

// textWidth is about how many columns a text takes in a fixed-width font.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is 0 for what joins the rune before, 2 for the wide scripts of East Asia and emoji.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case joins(r):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul),
		r >= 0x3000 && r <= 0x303F, r >= 0xFF01 && r <= 0xFF60, r >= 0x1F300 && r <= 0x1FAFF:
		return 2
	}
	return 1
}
