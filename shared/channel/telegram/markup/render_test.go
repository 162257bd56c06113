package markup

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/channel/telegram/telegramtest"
)

func TestMarkdownBecomesTelegramsHTML(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ markdown, html string }{
		"plain":               {"hello", "hello"},
		"escapes":             {`a < b & c > d "e"`, `a &lt; b &amp; c &gt; d &quot;e&quot;`},
		"references":          {`&lt;b&gt; &copy; &nosuch; &notit; &#65;&semi; \& \*x\* a\b`, `&lt;b&gt; © &amp;nosuch; &amp;notit; A; &amp; *x* a\b`},
		"emphasis":            {"**b** *i* ***bi*** ~~s~~", "<b>b</b> <i>i</i> <b><i>bi</i></b> <s>s</s>"},
		"same twice":          {"**a __b__ c**", "<b>a b c</b>"},
		"overlapping":         {"*a **b** c*", "<i>a </i><b><i>b</i></b><i> c</i>"},
		"code":                {"use `a<b` now", "use <code>a&lt;b</code> now"},
		"code in bold":        {"**a `b` c**", "<b>a </b><code>b</code><b> c</b>"},
		"heading":             {"# Title *x*\ntext", "<b>Title <i>x</i></b>\n\ntext"},
		"line breaks":         {"one\ntwo  \nthree", "one\ntwo\nthree"},
		"paragraphs":          {"one\n\n\n\ntwo", "one\n\ntwo"},
		"fence":               {"```go\na := 1 < 2\n\tb\n```", "<pre><code class=\"language-go\">a := 1 &lt; 2\n    b</code></pre>"},
		"fence without":       {"a\n```\nx\n```\nb", "a\n\n<pre>x</pre>\n\nb"},
		"odd language":        {"```\"><b>\nx\n```", "<pre>x</pre>"},
		"open fence":          {"```\nx\n", "<pre>x</pre>"},
		"empty fence":         {"a\n```\n```\nb", "a\n\nb"},
		"two fences":          {"```\na\n```\n```\nb\n```", "<pre>a</pre>\n\n<pre>b</pre>"},
		"indented code":       {"    x\n      y", "<pre>x\n  y</pre>"},
		"quote":               {"> a\n> **b**\n\nc", "<blockquote>a\n<b>b</b></blockquote>\n\nc"},
		"quote paragraphs":    {"> a\n>\n> b", "<blockquote>a\n\nb</blockquote>"},
		"quote in quote":      {"> a\n>> b", "<blockquote>a\n\nb</blockquote>"},
		"bullets":             {"- a\n- b\n  - c\n- d", "• a\n• b\n   • c\n• d"},
		"numbers":             {"3. a\n4. b", "3. a\n4. b"},
		"loose list":          {"1. a\n\n   more\n\n2. b", "1. a\n\n   more\n\n2. b"},
		"list after text":     {"a:\n- b", "a:\n\n• b"},
		"fence in a list":     {"- a\n  ```\n  x\n  ```\n- b", "• a\n<pre>x</pre>\n• b"},
		"fence first in item": {"- ```\n  x\n  ```", "• \n<pre>x</pre>"},
		"task list":           {"- [x] a\n- [ ] b\n- [X]  *c*", "• ☑ a\n• ☐ b\n• ☑ <i>c</i>"},
		"no task":             {"[x] a\n- [y] b\n- [x]c\n- d [x] e\n- [x](https://example.com)", "[x] a\n\n• [y] b\n• [x]c\n• d [x] e\n• <a href=\"https://example.com\">x</a>"},
		"rule":                {"a\n\n---\n\nb", "a\n\n———\n\nb"},
		"image":               {"![a cat](http://evil.example/x.png)", "a cat"},
		"link":                {"[docs](https://example.com/?a=1&b=2)", `<a href="https://example.com/?a=1&amp;b=2">docs</a>`},
		"link with markup":    {"[**a** `b`](https://example.com)", `<a href="https://example.com"><b>a</b> b</a>`},
		"link with image":     {"[![alt](x.png)](https://example.com)", `<a href="https://example.com">alt</a>`},
		"empty link":          {"[](https://example.com)", `<a href="https://example.com">https://example.com</a>`},
		"mail link":           {"[write](mailto:a@example.com)", `<a href="mailto:a@example.com">write</a>`},
		"tg link":             {"[me](tg://user?id=1)", `<a href="tg://user?id=1">me</a>`},
		"other scheme":        {"[x](javascript:alert(1)) [y](file:///etc) [z](/rel)", "x y z"},
		"quote in address":    {`[x](https://example.com/"><b>)`, `<a href="https://example.com/%22%3E%3Cb%3E">x</a>`},
		"bare address":        {"see https://example.com/a_b_c.", "see https://example.com/a_b_c."},
		"bare mail":           {"a@example.com", "a@example.com"},
		"bare ftp":            {"ftp://example.com/x", "ftp://example.com/x"},
		"bare with markup":    {"https://example.com/__init__/*a*~b~c", "https://example.com/__init__/*a*~b~c"},
		"bare in bold":        {"**https://example.com/a_b**, (__https://example.com__)", "<b>https://example.com/a_b</b>, (<b>https://example.com</b>)"},
		"bare in a link":      {"[https://example.com/a](https://example.com/a)", `<a href="https://example.com/a">https://example.com/a</a>`},
		"bare before wide":    {"https://example.com。**b**", "https://example.com。<b>b</b>"},
		"no address":          {"a:// *b*: :", "a:// <i>b</i>: :"},
		"marked address":      {"<https://example.com/a_b>", `<a href="https://example.com/a_b">https://example.com/a_b</a>`},
		"marked mail":         {"<a@example.com>", `<a href="mailto:a@example.com">a@example.com</a>`},
		"one tilde":           {"~a~ b~c~d 5~6", "<s>a</s> b<s>c</s>d 5~6"},
		"tildes apart":        {"~~a~ ~b~~ a ~~~b~~~ \\~~~c~~ ~~ d ~~", "<s>a~ ~b</s> a ~~~b~~~ ~<s>c</s> ~~ d ~~"},
		"strike and bold":     {"**a ~~b~~** ~~c *d*~~", "<b>a <s>b</s></b> <s>c </s><i><s>d</s></i>"},
		"tags":                {"a <script>b</script><br>c", "a &lt;script&gt;b&lt;/script&gt;\nc"},
		"tag block":           {"<div>\nx\n</div>", "&lt;div&gt;\nx\n&lt;/div&gt;"},
		"table": {
			"| a | bb |\n|---|--:|\n| **1** | 2 |\n| 日本 | `x` |",
			"<pre>a    │ bb\n─────┼───\n1    │  2\n日本 │  x</pre>",
		},
		"table without outer pipes": {"a|b\n:-|-:\n1|2", "<pre>a │ b\n──┼──\n1 │ 2</pre>"},
		"table of one column":       {"| a |\n| - |", "<pre>a\n─</pre>"},
		"table with centre":         {"| abc | abc |\n|:-:|--:|\n| x | y |", "<pre>abc │ abc\n────┼────\nx   │   y</pre>"},
		"pipes in a table":          {"| a \\| b | `c\\|d` |\n|-|-|\n| **e\\|** | \\\\ |", "<pre>a | b │ c|d\n──────┼────\ne|    │ \\</pre>"},
		"rows of other lengths":     {"| a | b |\n|-|-|\n| 1 |\n| 1 | 2 | 3 |\nx", "<pre>a │ b\n──┼──\n1\n1 │ 2\nx</pre>"},
		"empty cells":               {"| | b |\n|-|-|\n| || x |", "<pre> │ b\n─┼──\n │</pre>"},
		"no table":                  {"| a | b |\n|---|\n| 1 | 2 |", "| a | b |\n|---|\n| 1 | 2 |"},
		"no line of dashes":         {"| a |\n|-x-|\n| : |", "| a |\n|-x-|\n| : |"},
		"text before a table":       {"  see\n  this:\n| a |\n|---|\n| 1 |\n\nb", "see\nthis:\n\n<pre>a\n─\n1</pre>\n\nb"},
		"text, table, rule":         {"see\n| a |\n|---|\n---\nb", "see\n\n<pre>a\n─</pre>\n\n———\n\nb"},
		"table, then a block":       {"| a |\n|---|\n| 1 |\n> b", "<pre>a\n─\n1</pre>\n\n<blockquote>b</blockquote>"},
		"table in a quote":          {"> x\n>\n> | a |\n> |---|\n> | 1 |", "<blockquote>x\n\n<pre>a\n─\n1</pre></blockquote>"},
		"table in a list":           {"- x\n\n  | a |\n  |---|\n  | 1 |", "• x\n\n<pre>a\n─\n1</pre>"},
		"table after a definition":  {"[r]: https://example.com\n| [a][r] |\n|---|", "<pre>a (https://example.com)\n───────────────────────</pre>"},
		"address in a table":        {"| https://example.com/__a__|b |\n|---|---|", "<pre>https://example.com/__a__ │ b\n──────────────────────────┼──</pre>"},
		"controls":                  {"a\x00b\x01c\u202Ed\r\ne", "a b cd\ne"},
		"bad utf8":                  {"a\xffb", "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := Render(c.markdown)
			if len(parts) != 1 {
				t.Fatalf("%d parts: %q", len(parts), parts)
			}
			if diff := cmp.Diff(c.html, parts[0].Rich); diff != "" {
				t.Error(diff)
			}
			check(t, c.markdown, parts)
		})
	}
}

func TestPlainFormKeepsAddresses(t *testing.T) {
	t.Parallel()
	for markdown, want := range map[string]string{
		"see **the** [docs](https://example.com/a)!":     "see the docs (https://example.com/a)!",
		"[https://example.com](https://example.com)":     "https://example.com",
		"[https://bank.example](https://thief.example/)": "https://bank.example (https://thief.example/)",
		"[a@example.com](mailto:a@example.com)":          "a@example.com",
		"| a |\n|---|\n| [x](https://example.com) |":     "a\n───────────────────────\nx (https://example.com)",
	} {
		if got := Render(markdown)[0].Plain; got != want {
			t.Errorf("%q: got %q, want %q", markdown, got, want)
		}
	}
}

func TestNothingVisibleIsNeverSent(t *testing.T) {
	t.Parallel()
	for _, markdown := range []string{
		"", " ", "\n\n\n", "\u200B", "\u200D\uFE0F", "\u3164", "```\n```", "```\n \n```", "![](x)", "<!-- x -->", "- ", "#", ">",
		"---", "****", "[](x)", "&nbsp;", "\x00\x01", "[](https://example.com)", "| |\n|-|", strings.Repeat("\n\u200B", 9000),
	} {
		check(t, markdown, Render(markdown))
	}
}

func TestLongTextsAreCutWhereReadersWouldCutThem(t *testing.T) {
	t.Parallel()
	paragraph := strings.Repeat("word ", 500) + "end"
	for name, c := range map[string]struct {
		markdown string
		first    string // how the first part ends
		second   string // how the second begins
	}{
		"between paragraphs": {paragraph + "\n\n" + paragraph, "end", "word"},
		"between lines":      {strings.Repeat("a line\n", 700), "a line", "a line"},
		"between words":      {strings.Repeat("word ", 1000), "word", "word"},
		"between characters": {strings.Repeat("x", 5000), "x", "x"},
		"before a fence that fits the next part": {
			paragraph + "\n\n```\n" + strings.Repeat("code line\n", 200) + "```", "end", "<pre>code",
		},
		"in a fence that fits none": {
			"```go\n" + strings.Repeat("\tindented\n", 1000) + "```",
			"    indented</code></pre>", "<pre><code class=\"language-go\">    indented",
		},
		"in a quote":     {"> " + strings.Repeat("word ", 1000), "word</blockquote>", "<blockquote>word"},
		"in bold italic": {"***" + strings.Repeat("word ", 1000) + "end***", "word</i></b>", "<b><i>word"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := Render(c.markdown)
			check(t, c.markdown, parts)
			if len(parts) < 2 || !strings.HasSuffix(parts[0].Rich, c.first) || !strings.HasPrefix(parts[1].Rich, c.second) {
				t.Errorf("%d parts, cut at …%q / %q…", len(parts), tail(parts[0].Rich), head(parts[1].Rich))
			}
		})
	}
}

func head(s string) string { return s[:min(60, len(s))] }

func tail(s string) string { return s[max(0, len(s)-60):] }

func TestCharactersOfSeveralRunesStayWhole(t *testing.T) {
	t.Parallel()
	for name, character := range map[string]string{
		"family":     "👩‍👩‍👧‍👦",
		"skin tone":  "👍🏽",
		"flag":       "🇩🇪",
		"keycap":     "1️⃣",
		"accent":     "e\u0301",
		"tag flag":   "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
		"Devanagari": "नि",
		"Hangul":     "\u1112\u1161\u11AB",
		"surrogate":  "😀",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for shift := range 3 {
				markdown := strings.Repeat("x", shift) + strings.Repeat(character, 3000)
				parts := Render(markdown)
				check(t, markdown, parts)
				for i, p := range parts {
					text := strings.TrimLeft(p.Plain, "x")
					if text != strings.Repeat(character, len(text)/len(character)) {
						t.Errorf("shift %d: part %d cuts a character: …%q", shift, i, tail(p.Plain))
					}
				}
			}
		})
	}
}

// documents are hard texts of many kinds.
func documents() map[string]string {
	var article strings.Builder
	for i := 0; article.Len() < 40_000; i++ {
		fmt.Fprintf(&article, "## Part %d & more\n\nSome **bold _nested_ text** with `code <x>` and [a link](https://example.com/%d?a=b&c=d).\n\n"+
			"- one 😀\n- two\n  1. deep\n  2. deeper\n\n> quoted **words**\n\n```py\nif a < b:\n    print(\"&\")\n```\n\n"+
			"| k | v |\n|---|---|\n| a | %d |\n\n", i, i, i*i)
	}
	return map[string]string{
		"40,000 characters":         article.String(),
		"a fence over the limit":    "```\n" + strings.Repeat("let x = \"<&>\";\n", 3000) + "```",
		"a fence of one line":       "```js\n" + strings.Repeat("x", 30_000) + "\n```",
		"a fence of empty lines":    "```\n" + strings.Repeat("\n", 20_000) + "x\n```",
		"right to left":             strings.Repeat("שלום **עולם** مرحبا ", 2000),
		"joined emoji":              strings.Repeat("👩‍👩‍👧‍👦", 3000),
		"only escapes":              strings.Repeat("&<>\"", 5000),
		"a tag for every letter":    strings.Repeat("**b**_i_~~s~~", 3000),
		"a link for every letter":   strings.Repeat("[x](https://example.com/"+strings.Repeat("y&", 900)+") ", 200),
		"accents without end":       "e" + strings.Repeat("\u0301", 20_000),
		"joiners without end":       strings.Repeat("\u200D", 20_000) + "x",
		"flags without end":         strings.Repeat("🇩🇪", 6000),
		"quotes in quotes":          strings.Repeat(">", 5000) + " deep",
		"lists in lists":            strings.Repeat("- ", 3000) + "deep",
		"brackets":                  strings.Repeat("[", 5000),
		"stars":                     strings.Repeat("*a ", 5000),
		"spaces":                    "x" + strings.Repeat(" ", 20_000) + "y",
		"a long cell and many rows": "|a|b|\n|-|-|\n|" + strings.Repeat("x", 20_000) + "|y|\n" + strings.Repeat("|x|y|\n", 3000),
		"wide table":                "|" + strings.Repeat(" a |", 500) + "\n|" + strings.Repeat("-|", 500) + "\n",
	}
}

func TestEveryDocumentBecomesValidParts(t *testing.T) {
	t.Parallel()
	for name, markdown := range documents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := Render(markdown)
			check(t, markdown, parts)
			if diff := cmp.Diff(parts, Render(markdown)); diff != "" {
				t.Errorf("a second rendering differs: %s", diff)
			}
		})
	}
}

func TestNoWordIsLostByCutting(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&text, "w%d ", i)
		if i%97 == 0 {
			text.WriteString("\n\n")
		}
	}
	var got []string
	for _, p := range Render(text.String()) {
		got = append(got, strings.Fields(p.Plain)...)
	}
	if diff := cmp.Diff(strings.Fields(text.String()), got); diff != "" {
		t.Error(diff)
	}
}

func FuzzRender(f *testing.F) {
	for _, markdown := range documents() {
		f.Add(markdown)
	}
	f.Add("**a [b](https://x.example) `c` ![d](e)**\n> - 1. ```\n```")
	f.Fuzz(func(t *testing.T, markdown string) {
		if len(markdown) > 100_000 {
			return
		}
		check(t, markdown, Render(markdown))
	})
}

// check holds parts against the rules of the Bot API.
func check(t *testing.T, markdown string, parts []channel.Part) {
	t.Helper()
	if len(parts) == 0 {
		t.Errorf("%.60q: no parts", markdown)
	}
	for i, p := range parts {
		if err := valid(p); err != nil {
			t.Errorf("%.60q: part %d of %d: %v: %.200q", markdown, i, len(parts), err, p.Rich)
		}
	}
}

func valid(p channel.Part) error {
	if err := sendable(p.Plain); err != nil {
		return fmt.Errorf("plain: %w", err)
	}
	if p.Rich == "" {
		return nil
	}
	text, entities, err := telegramtest.ParseHTML(p.Rich)
	if err != nil {
		return err
	}
	if len(p.Rich) > 1<<15 {
		return fmt.Errorf("source has %d bytes", len(p.Rich))
	}
	if err := sendable(text); err != nil {
		return fmt.Errorf("rich: %w", err)
	}
	return nested(entities)
}

func sendable(text string) error {
	switch n := telegramtest.UTF16(text); {
	case !utf8.ValidString(text):
		return fmt.Errorf("is no UTF-8")
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("is empty")
	case n > 4096:
		return fmt.Errorf("has %d units", n)
	}
	return nil
}

// nested holds entities against the rules of nesting: one in another or apart; nothing in code, links not in links,
// quotes not in quotes.
func nested(entities []telegramtest.Entity) error {
	var open []telegramtest.Entity
	for _, e := range entities {
		for len(open) > 0 && open[len(open)-1].Offset+open[len(open)-1].Length <= e.Offset {
			open = open[:len(open)-1]
		}
		for _, outer := range open {
			if !mayHold(outer, e) {
				return fmt.Errorf("%+v in %+v", e, outer)
			}
		}
		open = append(open, e)
	}
	return nil
}

func mayHold(outer, inner telegramtest.Entity) bool {
	switch {
	case outer.Offset+outer.Length < inner.Offset+inner.Length, outer.Type == inner.Type:
		return false
	case outer.Type == "code" || outer.Type == "pre":
		return false
	case inner.Type == "code" || inner.Type == "pre":
		return outer.Type == "blockquote"
	}
	return true
}

func BenchmarkRender(b *testing.B) {
	for _, name := range []string{"40,000 characters"} {
		markdown := documents()[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Render(markdown)
			}
		})
	}
	b.Run("one line", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Render("Hello, **you**. It is done.")
		}
	})
}
