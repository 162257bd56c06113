package markup

import (
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// table lays a table out as text of fixed width, which Telegram's HTML has no markup for: columns padded, a line below
// the head.
func table(n *extast.Table, src []byte) string {
	rows := cells(n, src)
	widths := columnWidths(rows)
	var b strings.Builder
	for i, row := range rows {
		b.WriteString(strings.TrimRight(line(row, widths, n.Alignments), " "))
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
			row = append(row, plainText(c, src))
		}
		rows = append(rows, row)
	}
	return rows
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], textWidth(cell))
		}
	}
	return widths
}

func line(row []string, widths []int, align []extast.Alignment) string {
	padded := make([]string, len(row))
	for i, cell := range row {
		space := strings.Repeat(" ", widths[i]-textWidth(cell))
		if i < len(align) && align[i] == extast.AlignRight {
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
