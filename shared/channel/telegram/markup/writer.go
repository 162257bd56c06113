package markup

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// style is how a stretch of text looks. Styles are compared, so two stretches of equal style are one.
type style struct {
	quote                int    // which block quote it is in, counted from 1; 0 for none
	link                 string // where it leads
	bold, italic, strike bool
	code                 codeKind
	language             string // of a block
}

type codeKind uint8

const (
	noCode codeKind = iota
	inlineCode
	blockCode
)

// run is a stretch of text of one style.
type run struct {
	text  string
	style style
	// plainOnly text stands in the plain form alone: a link's address, which the rich form has in its tag.
	plainOnly bool
}

// maxIndent is the deepest list level that is indented any further.
const maxIndent = 8

// writer turns the tree of a Markdown document into runs.
type writer struct {
	src    []byte
	runs   []run
	gap    string // what separates the last run from the next, once there is one
	quotes int    // block quotes begun
	depth  int    // of lists
	cell   bool   // whether the text is a table's, where pipes in code have a backslash
}

// write adds text, after the gap that was asked for. The gap is in the quote that holds both its sides.
func (w *writer) write(text string, st style) {
	if text == "" {
		return
	}
	if n := len(w.runs); w.gap != "" && n > 0 {
		between := style{}
		if w.runs[n-1].style.quote == st.quote {
			between.quote = st.quote
		}
		w.runs = append(w.runs, run{text: w.gap, style: between})
	}
	w.gap = ""
	w.runs = append(w.runs, run{text: text, style: st})
}

// separate asks for a gap before the next text; the wider of two wins.
func (w *writer) separate(lines string) {
	if strings.Count(lines, "\n") >= strings.Count(w.gap, "\n") {
		w.gap = lines
	}
}

// indent is what goes before a line inside a list item.
func (w *writer) indent() string { return strings.Repeat("   ", min(w.depth, maxIndent)) }

// blocks writes the block children of a node, in a tight list one below the other, else with an empty line between.
func (w *writer) blocks(parent ast.Node, st style, tight bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil {
			w.between(n, tight)
		}
		w.block(n, st)
	}
}

// between separates a block from the one before it. Code isn't indented: its own markup sets it apart.
func (w *writer) between(n ast.Node, tight bool) {
	lines := "\n\n"
	if tight {
		lines = "\n"
	}
	switch n.(type) {
	case *ast.FencedCodeBlock, *ast.CodeBlock, *grid, *ast.List:
		w.separate(lines)
	default:
		w.separate(lines + w.indent())
	}
}

func (w *writer) block(n ast.Node, st style) {
	switch n := n.(type) {
	case *ast.Heading:
		st.bold = true
		w.inlines(n, st)
	case *ast.Blockquote:
		if st.quote == 0 {
			w.quotes++
			st.quote = w.quotes
		}
		w.blocks(n, st, false)
	case *ast.List:
		w.list(n, st)
	case *ast.FencedCodeBlock:
		w.code(w.lines(n), language(n.Language(w.src)), st)
	case *ast.CodeBlock:
		w.code(w.lines(n), "", st)
	case *ast.HTMLBlock:
		w.write(w.htmlBlock(n), st)
	case *ast.ThematicBreak:
		w.write("———", st)
	case *grid:
		w.code(table(n, w.src), "", st)
	default: // paragraphs and text blocks
		w.inlines(n, st)
	}
}

func (w *writer) lines(n ast.Node) string { return string(n.Lines().Value(w.src)) }

// htmlBlock is HTML as it was written: the reader sees what the model meant, and Telegram no tags.
func (w *writer) htmlBlock(n *ast.HTMLBlock) string {
	text := w.lines(n)
	if n.HasClosure() {
		text += string(n.ClosureLine.Value(w.src))
	}
	return strings.TrimSpace(text)
}

// code writes a block of code. Block and quote styles are all it has: no other may be in it.
func (w *writer) code(text, lang string, st style) {
	text = strings.TrimRight(text, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	if n := len(w.runs); n > 0 && w.gap == "" {
		w.separate("\n") // after a list's marker
	}
	w.write(text, style{quote: st.quote, code: blockCode, language: lang})
}

const (
	languageLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+#._-"
	maxLanguage     = 32 // letters of a language's name
)

// language is a fence's language if Telegram can show it.
func language(info []byte) string {
	if len(info) > maxLanguage || len(bytes.Trim(info, languageLetters)) > 0 {
		return ""
	}
	return string(info)
}

// list writes bullets or numbers. Items of a list inside a list are indented below their parent's.
func (w *writer) list(n *ast.List, st style) {
	lines := "\n\n"
	if n.IsTight {
		lines = "\n"
	}
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		w.separate(lines + w.indent())
		if item.PreviousSibling() == nil {
			w.first(n)
		}
		w.write(marker(n, number), st)
		number++
		w.depth++
		w.blocks(item, st, n.IsTight)
		w.depth--
	}
}

// first keeps the gap before a list as its surroundings asked for it, not wider for the list being loose.
func (w *writer) first(n *ast.List) {
	if n.PreviousSibling() != nil && n.Parent().Kind() == ast.KindListItem {
		w.gap = "\n" + w.indent()
	}
}

func marker(n *ast.List, number int) string {
	if n.IsOrdered() {
		return strconv.Itoa(number) + ". "
	}
	return "• "
}

func (w *writer) inlines(parent ast.Node, st style) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.inline(n, st)
	}
}

func (w *writer) inline(n ast.Node, st style) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(n, st)
	case *ast.String:
		w.write(string(n.Value), st)
	case *ast.CodeSpan:
		w.codeSpan(n, st)
	case *ast.Emphasis:
		st.bold, st.italic = st.bold || n.Level > 1, st.italic || n.Level == 1
		w.inlines(n, st)
	case *struck:
		st.strike = true
		w.inlines(n, st)
	case *ast.Link:
		w.link(n, st)
	case *ast.AutoLink:
		w.autoLink(n, st)
	case *ast.Image:
		w.write(plainText(n, w.src, w.cell), st)
	case *ast.RawHTML:
		w.rawHTML(string(n.Segments.Value(w.src)), st)
	default:
		w.inlines(n, st)
	}
}

// text keeps line breaks as they were written, as a chat does.
func (w *writer) text(n *ast.Text, st style) {
	raw := n.Value(w.src)
	if n.IsRaw() {
		w.write(string(raw), st)
	} else {
		w.write(unescape(raw), st)
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		w.write("\n"+w.indent(), st)
	}
}

// codeSpan drops all but the quote around it, because code holds no other style and is in none; in a link the link wins.
func (w *writer) codeSpan(n *ast.CodeSpan, st style) {
	if st.link == "" {
		st = style{quote: st.quote, code: inlineCode}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			w.write(w.codeText(t), st)
		}
	}
}

func (w *writer) codeText(t *ast.Text) string {
	text := strings.ReplaceAll(string(t.Value(w.src)), "\n", " ")
	if w.cell {
		text = strings.ReplaceAll(text, `\|`, "|")
	}
	return text
}

// link writes a titled link with its address. Telegram shows the address before it follows one whose title differs.
func (w *writer) link(n *ast.Link, st style) {
	st.link = address(unescape(n.Destination))
	start := len(w.runs)
	w.inlines(n, st)
	if st.link == "" {
		return
	}
	var title strings.Builder
	for _, r := range w.runs[start:] {
		title.WriteString(r.text)
	}
	switch shown := strings.TrimSpace(title.String()); {
	case shown == "":
		w.write(st.link, st)
	case shown != st.link && "mailto:"+shown != st.link:
		w.runs = append(w.runs, run{text: " (" + st.link + ")", style: style{quote: st.quote}, plainOnly: true})
	}
}

// autoLink is an address as it stands in the text. With any other scheme it is only text.
func (w *writer) autoLink(n *ast.AutoLink, st style) {
	to := string(n.URL(w.src))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(to), "mailto:") {
		to = "mailto:" + to
	}
	if st.link == "" {
		st.link = address(to)
	}
	w.write(string(n.Label(w.src)), st)
}

// rawHTML shows tags as they were written; a line break is the one that models mean.
func (w *writer) rawHTML(tag string, st style) {
	if name := strings.TrimSuffix(strings.Trim(tag, "<>"), "/"); strings.EqualFold(strings.TrimSpace(name), "br") {
		tag = "\n" + w.indent()
	}
	w.write(tag, st)
}
