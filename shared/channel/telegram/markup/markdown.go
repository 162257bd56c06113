package markup

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxAddressBytes is the longest address that is made a link; Telegram takes no longer ones.
const maxAddressBytes = 2048

// markdown is the parser, made when first used so that a start pays nothing for it. Of the library it takes the core
// alone, CommonMark: what GitHub adds to that is read by own parsers, because the library's extensions set up more
// regular expressions at every start than all the rest of a program. A smaller number goes first; each stands before the
// parser of the core that would take the same characters.
var markdown = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithInlineParsers(
			util.Prioritized(taskParser{}, 150), // links have 200
			util.Prioritized(strikeParser{}, 600),
			util.Prioritized(bareParser{}, 700),
		),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
		parser.WithParagraphTransformers(util.Prioritized(gridTransformer{}, 200)), // definitions of links have 100
	)
})

// parse turns Markdown into runs.
func parse(source string) []run {
	src := []byte(strings.ToValidUTF8(source, "\uFFFD"))
	w := &writer{src: src}
	w.blocks(markdown().Parse(text.NewReader(src)), style{}, false)
	return w.runs
}

// reference is a character reference of HTML, which Markdown allows in text.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`&#?[A-Za-z0-9]+;`) })

// unescape resolves backslashes and character references in the source of a text or an address.
func unescape(raw []byte) string {
	s := string(raw)
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			break
		}
		b.WriteString(resolve(s[:i]))
		if !punctuation(s[i+1]) {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i+1])
		s = s[i+2:]
	}
	b.WriteString(resolve(s))
	return b.String()
}

func resolve(s string) string {
	return reference().ReplaceAllStringFunc(s, func(ref string) string {
		// The library also knows some names as the beginning of longer ones; the rest and the semicolon are left then.
		if text := html.UnescapeString(ref); text == ";" || !strings.HasSuffix(text, ";") {
			return text
		}
		return ref
	})
}

func punctuation(c byte) bool { return strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) >= 0 }

// address is where a link may lead: http, https, tg and mailto only, whole and of bearable length; "" for any other.
func address(raw string) string {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || len(raw) > maxAddressBytes {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "tg":
		if u.Host == "" {
			return ""
		}
	case "mailto":
		if u.Opaque == "" {
			return ""
		}
	default:
		return ""
	}
	return u.String()
}

// plainText is the text of a node's inlines without any markup, for the cells of tables and the descriptions of images.
func plainText(n ast.Node, src []byte, cell bool) string {
	w := &writer{src: src, cell: cell}
	w.inlines(n, style{})
	var b strings.Builder
	for _, r := range w.runs {
		b.WriteString(r.text)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
