import { drive, same } from "./drive.js";
import { markdown } from "/static/markdown.js";

const blank = ' target="_blank" rel="noopener noreferrer"';
const link = (url, text) => `<a href="${url}" title="${url}"${blank}>${text}</a>`;

// Markdown and the HTML that its nodes amount to.
const cases = [
  ["", ""],
  ["Hello *big* **wide** ***world*** ~~gone~~", "<p>Hello <em>big</em> <strong>wide</strong> <strong><em>world</em></strong> <s>gone</s></p>"],
  ["**bold *in* it** *a **b***", "<p><strong>bold <em>in</em> it</strong> <em>a <strong>b</strong></em></p>"],
  ["2 * 3 * 4, snake_case_name, _yes_, a ** b", "<p>2 * 3 * 4, snake_case_name, <em>yes</em>, a ** b</p>"],
  ["**unclosed and `open", "<p>**unclosed and `open</p>"],
  ["`a*b*` ``x`y`` `` ` ``", "<p><code>a*b*</code> <code>x`y</code> <code>`</code></p>"],
  ["\\*not\\* \\a", "<p>*not* \\a</p>"],
  ["one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"],
  ["# One\n### Three\n#no\n# C#", "<h3>One</h3><h5>Three</h5><p>#no</p><h3>C#</h3>"],
  ["---\n* * *", "<hr><hr>"],
  ["> a\n> > b\n\nc", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>"],
  ["- a\n- b\n  - c\n    more\n- d", "<ul><li>a</li><li>b<ul><li>c<br>more</li></ul></li><li>d</li></ul>"],
  ["3. a\n4. b\n\n   second\n\n5. c", '<ol start="3"><li>a</li><li>b<p>second</p></li><li>c</li></ol>'],
  ["1. a\n   - x\n2. b\n- c", "<ol><li>a<ul><li>x</li></ul></li><li>b</li></ol><ul><li>c</li></ul>"],
  ["- [ ] open\n- [x] done", "<ul><li>☐ open</li><li>☑ done</li></ul>"],
  ["Text:\n- item\n\nAfter", "<p>Text:</p><ul><li>item</li></ul><p>After</p>"],
  ["| a | b |\n|---|:-:|\n| 1 | `x\\|y` | 3 |\n| 2 |\n\nend", '<div class="wide" tabindex="0"><table><thead><tr><th>a</th><th>b</th></tr></thead>'
    + "<tbody><tr><td>1</td><td><code>x|y</code></td></tr><tr><td>2</td><td></td></tr></tbody></table></div><p>end</p>"],
  ["```go\nif a < b {\n\n}\n```\nx", '<div class="block"><pre tabindex="0"><code>if a &lt; b {\n\n}</code></pre><button class="copy">Copy</button></div><p>x</p>'],
  ["~~~\nopen", '<div class="block"><pre tabindex="0"><code>open</code></pre><button class="copy">Copy</button></div>'],
  ["[a **b**](https://x.example/p_(q) \"t\").", `<p>${link("https://x.example/p_(q)", "a <strong>b</strong>")}.</p>`],
  ["See https://x.example/a?b=1&c_d. (https://y.example)", `<p>See ${link("https://x.example/a?b=1&amp;c_d", "https://x.example/a?b=1&amp;c_d")}. (${link("https://y.example/", "https://y.example")})</p>`],
  ["<https://x.example> <mailto:a@b.example>", `<p>${link("https://x.example/", "https://x.example")} ${link("mailto:a@b.example", "mailto:a@b.example")}</p>`],
  ["![a cat](https://x.example/c.png) ![](https://x.example/d)", `<p>${link("https://x.example/c.png", "a cat")} ${link("https://x.example/d", "image")}</p>`],
  ["[x](javascript:alert(1)) [y](data:text/html,z) [z](/api) [w](vbscript:x)", "<p>[x](javascript:alert(1)) [y](data:text/html,z) [z](/api) [w](vbscript:x)</p>"],
  ["[x](JaVaScRiPt:alert(1)) [y](\\x01javascript:a) <javascript:a>", "<p>[x](JaVaScRiPt:alert(1)) [y](\\x01javascript:a) &lt;javascript:a&gt;</p>"],
  ["<img src=x onerror=alert(1)><script>alert(1)</script>", "<p>&lt;img src=x onerror=alert(1)&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>"],
  ["&lt;b&gt; &amp;", "<p>&amp;lt;b&amp;gt; &amp;amp;</p>"],
  ["[a](https://x.example/\"onmouseover=\"alert(1))", `<p>${link("https://x.example/%22onmouseover=%22alert(1)", "a")}</p>`],
];

// Texts that make careless scanners slow: each must be done with in a moment.
const long = 50_000;
const odd = ["*", "**a ", "_a_b", "`", "``a`", "[", "[a](", "![a](", "<", "<http:", "> ", "- ", "  - ", "|", "| a |\n|-|\n", "~~", "#", "1. ", "\\", "http://", "((", "*a **b ***c "];

drive(() => {
  for (const [text, want] of cases) {
    const div = document.createElement("div");
    div.append(markdown(text));
    same(JSON.stringify(text), div.innerHTML, want);
  }
  for (const text of odd) {
    const from = performance.now();
    const got = markdown(text.repeat(long / text.length));
    const took = performance.now() - from;
    if (took > 2000) same(`milliseconds for many ${JSON.stringify(text)}`, Math.round(took), "at most 2000");
    same(`something comes of many ${JSON.stringify(text)}`, got.childNodes.length > 0, true);
  }
});
