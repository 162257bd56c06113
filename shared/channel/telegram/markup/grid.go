package markup

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

var kindGrid = ast.NewNodeKind("Grid")

// grid is a table. Its children are the rows, the head first, and theirs the cells, all of them text blocks. A row has at
// most as many cells as there are columns, and may have fewer.
type grid struct {
	ast.BaseBlock
	right []bool // for each column, whether it is aligned to the right
}

// Kind is what the parser tells nodes apart by.
func (*grid) Kind() ast.NodeKind { return kindGrid }

// Dump prints the node for whoever debugs the parser.
func (n *grid) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

// gridTransformer finds the table that a paragraph ends with, as GitHub's Markdown has it: a line that is the head, one
// of dashes with as many cells, and all lines that follow. Lines before the head stay a paragraph.
type gridTransformer struct{}

// Transform puts a table in the place of the lines that make one.
func (gridTransformer) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines, src := p.Lines(), reader.Source()
	for head := range lines.Len() - 1 {
		right := alignments(split(lines.At(head+1), src), src)
		if right == nil || len(right) != len(split(lines.At(head), src)) {
			continue
		}
		g := &grid{right: right}
		g.row(lines.At(head), src)
		for _, line := range lines.Sliced(head+2, lines.Len()) {
			g.row(line, src)
		}
		replace(p, lines.Sliced(0, head), g, src)
		return
	}
}

// replace puts a paragraph of the lines, if there are any, and the table where p was. It doesn't shorten p: the parser
// might still take that for the text of a heading. What the parser does to a paragraph at its end is done here to its rest.
func replace(p *ast.Paragraph, before []text.Segment, g *grid, src []byte) {
	parent := p.Parent()
	first := ast.Node(g)
	if n := len(before); n > 0 {
		before[n-1] = before[n-1].TrimRightSpace(src)
		rest := ast.NewParagraph()
		for _, line := range before {
			rest.Lines().Append(line.TrimLeftSpace(src))
		}
		parent.InsertBefore(parent, p, rest)
		first = rest
	}
	first.SetBlankPreviousLines(p.HasBlankPreviousLines())
	parent.InsertBefore(parent, p, g)
	parent.RemoveChild(parent, p)
}

// row adds a line; cells beyond the last column are dropped.
func (n *grid) row(line text.Segment, src []byte) {
	row := ast.NewTextBlock()
	for i, at := range split(line, src) {
		if i == len(n.right) {
			break
		}
		cell := ast.NewTextBlock()
		if !at.IsEmpty() {
			cell.Lines().Append(at)
		}
		row.AppendChild(row, cell)
	}
	n.AppendChild(n, row)
}

// split finds a line's cells, without the spaces around them. Every pipe that no backslash precedes is a border, even
// one in code; those at the line's ends may be left out.
func split(line text.Segment, src []byte) []text.Segment {
	line = line.TrimLeftSpace(src)
	line = line.TrimRightSpace(src)
	start, stop := line.Start, line.Stop
	if start < stop && src[start] == '|' {
		start++
	}
	if start < stop && border(src, stop-1) {
		stop--
	}
	var cells []text.Segment
	for i := start; i < stop; i++ {
		if border(src, i) {
			cells = append(cells, trimmed(src, start, i))
			start = i + 1
		}
	}
	return append(cells, trimmed(src, start, stop))
}

func border(src []byte, i int) bool { return src[i] == '|' && (i == 0 || src[i-1] != '\\') }

// trimmed is the part of the source from start to stop without the spaces at its ends.
func trimmed(src []byte, start, stop int) text.Segment {
	s := text.NewSegment(start, stop)
	s = s.TrimLeftSpace(src)
	return s.TrimRightSpace(src)
}

// alignments reads the cells of the line below the head: dashes, with a colon where the text is aligned to. It is nil
// when the line is another.
func alignments(cells []text.Segment, src []byte) []bool {
	var right []bool
	for _, cell := range cells {
		mark, left := bytes.CutPrefix(cell.Value(src), []byte(":"))
		mark, toRight := bytes.CutSuffix(mark, []byte(":"))
		if len(mark) == 0 || len(bytes.Trim(mark, "-")) > 0 {
			return nil
		}
		right = append(right, toRight && !left)
	}
	return right
}
