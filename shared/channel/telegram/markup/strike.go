package markup

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

var kindStruck = ast.NewNodeKind("Struck")

// struck is text that is struck through.
type struck struct{ ast.BaseInline }

// Kind is what the parser tells nodes apart by.
func (*struck) Kind() ast.NodeKind { return kindStruck }

// Dump prints the node for whoever debugs the parser.
func (n *struck) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

// strikeParser finds text between one or two tildes, as GitHub's Markdown has it: as many behind the text as before it.
// A longer run of tildes is text.
type strikeParser struct{}

// Trigger is what may begin or end struck text.
func (strikeParser) Trigger() []byte { return []byte{'~'} }

// Parse takes a run of tildes, which the parser pairs with another one later.
func (p strikeParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, at := block.PeekLine()
	tildes := parser.ScanDelimiter(line, before, 1, p)
	tildes.Segment = at.WithStop(at.Start + tildes.OriginalLength)
	block.Advance(tildes.OriginalLength)
	if tildes.OriginalLength > 2 {
		return ast.NewTextSegment(tildes.Segment)
	}
	pc.PushDelimiter(tildes)
	return tildes
}

// IsDelimiter says whether b is a tilde.
func (strikeParser) IsDelimiter(b byte) bool { return b == '~' }

// CanOpenCloser says whether two runs are a pair.
func (strikeParser) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char && opener.OriginalLength == closer.OriginalLength
}

// OnMatch makes the node of what stands between a pair.
func (strikeParser) OnMatch(int) ast.Node { return &struck{} }
