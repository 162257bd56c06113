package markup

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// bareParser keeps an address that stands in the text as it is, "https://example.com/__init__", from being read as
// markup. It makes no link: Telegram makes one of every address it finds.
type bareParser struct{}

// Trigger is what follows the scheme, in which no markup can be.
func (bareParser) Trigger() []byte { return []byte{':'} }

// Parse takes an address from behind its scheme on. What may as well end the sentence or the emphasis around the
// address is left to others. The text of a link is theirs, too: its end could be taken for a part of the address.
func (bareParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, at := block.PeekLine()
	if !bytes.HasPrefix(line, []byte("://")) || pc.IsInLinkLabel() {
		return nil
	}
	rest := line
	if end := bytes.IndexFunc(line, endsAddress); end >= 0 {
		rest = line[:end]
	}
	rest = bytes.TrimRight(rest, "?!.,:;*_~'()")
	if len(rest) == 0 {
		return nil
	}
	block.Advance(len(rest))
	return ast.NewTextSegment(at.WithStop(at.Start + len(rest)))
}

// endsAddress says whether a rune can't be in an address unless it is encoded.
func endsAddress(r rune) bool {
	switch r {
	case '<', '>', '"', '`', '|', '\\', '^', '{', '}':
		return true
	}
	return r <= ' ' || r >= 0x7F
}
