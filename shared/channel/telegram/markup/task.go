package markup

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// taskParser makes a box of the "[ ]" or "[x]" that an item of a list begins with.
type taskParser struct{}

// Trigger is what such a mark begins with.
func (taskParser) Trigger() []byte { return []byte{'['} }

// Parse takes a mark and the spaces behind it, of which there must be one.
func (taskParser) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if !beginsItem(parent) || len(line) < 4 || line[2] != ']' || !blank(line[3]) {
		return nil
	}
	var box string
	switch line[1] {
	case ' ':
		box = "☐ "
	case 'x', 'X':
		box = "☑ "
	default:
		return nil
	}
	end := 3
	for end < len(line) && (line[end] == ' ' || line[end] == '\t') {
		end++
	}
	block.Advance(end)
	return ast.NewString([]byte(box))
}

// beginsItem says whether a block is the first of a list's item, and nothing of it has been read yet.
func beginsItem(block ast.Node) bool {
	_, item := block.Parent().(*ast.ListItem)
	return item && block.PreviousSibling() == nil && block.FirstChild() == nil
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
