// Markdown to DOM nodes: what models write of it, and nothing that could carry markup, load a picture or run a script.
// Text only ever becomes text nodes; a link's address is one of three schemes. Every scan is bounded or remembered, so
// that no text, however odd, holds up the page.

const deepest = 8; // of quotes, lists and emphasis; what is nested deeper is plain text
const maxAddress = 2048;

export function markdown(text) {
  const out = document.createDocumentFragment();
  blocks(out, text.replace(/\r\n?/g, "\n").split("\n"), 0);
  return out;
}

function add(parent, tag, text) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  return parent.appendChild(e);
}

// Each kind of block takes lines from i on and returns where it stopped, or i if it does not begin there.
function blocks(out, lines, depth) {
  for (let i = 0; i < lines.length;) {
    if (!lines[i].trim()) { i++; continue; }
    const from = i;
    for (const kind of [fence, heading, rule, quote, list, table]) {
      i = kind(out, lines, from, depth);
      if (i > from) break;
    }
    if (i === from) i = paragraph(out, lines, from);
  }
}

function fence(out, lines, i) {
  const open = /^ {0,3}(`{3,}|~{3,})([^`]*)$/.exec(lines[i]);
  if (!open) return i;
  const indent = lines[i].search(/\S/), body = [];
  for (i++; i < lines.length; i++) {
    const line = lines[i].trim();
    if (line.length >= open[1].length && line === open[1][0].repeat(line.length)) { i++; break; }
    body.push(lines[i].slice(Math.min(indent, Math.max(0, lines[i].search(/\S|$/)))));
  }
  const block = add(out, "div");
  block.className = "block";
  const pre = add(block, "pre");
  pre.tabIndex = 0;
  add(pre, "code", body.join("\n"));
  const copy = add(block, "button", "Copy");
  copy.className = "copy";
  return i;
}

function heading(out, lines, i) {
  const level = /^ {0,3}(#{1,6})(?:[ \t]|$)/.exec(lines[i]);
  if (!level) return i;
  const text = lines[i].trim().slice(level[1].length).trim();
  inline(add(out, "h" + Math.min(6, level[1].length + 2)), text, 0);
  return i + 1;
}

function isRule(line) {
  const marks = line.replace(/[ \t]/g, "");
  return marks.length >= 3 && "-*_".includes(marks[0]) && marks === marks[0].repeat(marks.length);
}

function rule(out, lines, i) {
  if (!isRule(lines[i])) return i;
  add(out, "hr");
  return i + 1;
}

function quote(out, lines, i, depth) {
  const inner = [];
  for (; depth < deepest && i < lines.length && /^ {0,3}>/.test(lines[i]); i++) inner.push(lines[i].replace(/^ *> ?/, ""));
  if (inner.length) blocks(add(out, "blockquote"), inner, depth + 1);
  return i;
}

const marker = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/;

function list(out, lines, i, depth) {
  const first = marker.exec(lines[i]);
  if (!first || depth >= deepest) return i;
  const ordered = first[2].length > 1, base = first[1].length;
  const parent = add(out, ordered ? "ol" : "ul");
  if (ordered && parseInt(first[2], 10) !== 1) parent.start = parseInt(first[2], 10);
  while (i < lines.length) {
    const m = marker.exec(lines[i]);
    if (!m || m[1].length > base + 1 || m[2].length > 1 !== ordered || isRule(lines[i])) break;
    i = item(parent, lines, i, m[0].length, m[1].length, depth);
    let next = i;
    while (next < lines.length && !lines[next].trim()) next++;
    if (next < lines.length && marker.test(lines[next])) i = next;
  }
  return i;
}

// item takes a list's item: its first line, and what is indented beneath it or goes on without a blank line.
function item(parent, lines, i, width, base, depth) {
  const inner = [lines[i].slice(width)];
  for (i++; i < lines.length; i++) {
    const line = lines[i], indent = line.search(/\S/);
    if (indent < 0) {
      const next = lines[i + 1] ?? "";
      if (next.search(/\S/) <= base) break;
    } else if (indent <= base && (marker.test(line) || !lines[i - 1].trim() || begins(lines, i))) break;
    inner.push(line.slice(Math.min(width, Math.max(0, indent))));
  }
  const li = add(parent, "li");
  inner[0] = inner[0].replace(/^\[ \] /, "☐ ").replace(/^\[[xX]\] /, "☑ ");
  blocks(li, inner, depth + 1);
  if (li.children.length && li.firstChild.tagName === "P") li.firstChild.replaceWith(...li.firstChild.childNodes);
  return i;
}

function cells(line) {
  const parts = line.trim().replace(/^\|/, "").split(/(?<!\\)\|/);
  if (parts.length > 1 && !parts.at(-1).trim()) parts.pop();
  return parts.map((c) => c.trim().replaceAll("\\|", "|"));
}

function isTable(lines, i) {
  if (!lines[i].includes("|") || !(lines[i + 1] ?? "").includes("-")) return false;
  const marks = cells(lines[i + 1]);
  return marks.length === cells(lines[i]).length && marks.every((c) => /^:?-+:?$/.test(c));
}

function table(out, lines, i) {
  if (!isTable(lines, i)) return i;
  const wide = add(out, "div");
  wide.className = "wide";
  wide.tabIndex = 0;
  const grid = add(wide, "table");
  const head = cells(lines[i]);
  row(add(grid, "thead"), head, "th", head.length);
  const body = add(grid, "tbody");
  for (i += 2; i < lines.length && lines[i].trim() && lines[i].includes("|"); i++) row(body, cells(lines[i]), "td", head.length);
  return i;
}

function row(parent, texts, tag, width) {
  const tr = add(parent, "tr");
  for (let c = 0; c < width; c++) inline(add(tr, tag), texts[c] ?? "", 0);
}

// begins reports whether a block that may interrupt a paragraph begins at line i.
function begins(lines, i) {
  return /^ {0,3}(`{3}|~{3}|#{1,6}[ \t]|>|[-*+] +\S|1[.)] +\S)/.test(lines[i]) || isTable(lines, i) || isRule(lines[i]);
}

function paragraph(out, lines, i) {
  const text = [lines[i]];
  for (i++; i < lines.length && lines[i].trim() && !begins(lines, i); i++) text.push(lines[i]);
  inline(add(out, "p"), text.map((l) => l.trim()).join("\n"), 0);
  return i;
}

const plain = /[^\\`*_~![<h\n]+/y;
const bare = /https?:\/\/[^\s<>"'`]+/y;

// inline appends a run of text, with what is marked in it.
function inline(out, text, depth, linked) {
  const seen = {}; // what was looked for: the next place of a string, or that there is none
  const find = (what, from) => {
    if (seen[what] === undefined || seen[what] !== -1 && seen[what] < from) seen[what] = text.indexOf(what, from);
    return seen[what];
  };
  const matched = (sticky, at) => { sticky.lastIndex = at; return sticky.exec(text); };
  let held = "", i = 0;
  const flush = () => { if (held) out.append(held); held = ""; };
  const element = (tag, inner) => { flush(); inline(add(out, tag), inner, depth + 1, linked); };
  const link = (address, label) => {
    const url = allowed(address);
    if (!url) return false;
    flush();
    const a = add(out, "a");
    a.href = url;
    a.title = url;
    a.target = "_blank";
    a.rel = "noopener noreferrer";
    inline(a, label, depth + 1, true);
    return true;
  };
  const takes = {
    "\\": () => /[!-/:-@[-`{-~]/.test(text[i + 1] ?? "") && (held += text[i + 1], i + 2),
    "\n": () => (flush(), add(out, "br"), i + 1),
    "`": () => {
      const run = matched(/`+/y, i)[0];
      let end = seen[run] === -1 ? -1 : text.indexOf(run, i + run.length);
      while (end >= 0 && text[end + run.length] === "`") {
        end += matched(/`+/y, end)[0].length;
        end = text.indexOf(run, end);
      }
      if (end < 0) { seen[run] = -1; held += run; return i + run.length; }
      const code = text.slice(i + run.length, end).replaceAll("\n", " ");
      flush();
      add(out, "code", /^ .*\S.* $/.test(code) ? code.slice(1, -1) : code);
      return end + run.length;
    },
    "<": () => {
      const end = linked ? -1 : find(">", i);
      return end > 0 && end - i < maxAddress && link(text.slice(i + 1, end), text.slice(i + 1, end)) && end + 1;
    },
    "h": () => {
      const url = !linked && !/\w/.test(text[i - 1] ?? "") && matched(bare, i);
      const address = url && trimmed(url[0].slice(0, maxAddress));
      return address && link(address, address) && i + address.length;
    },
    "[": () => anchor(i, false),
    "!": () => text[i + 1] === "[" && anchor(i + 1, true),
    "*": emphasis, "_": emphasis, "~": emphasis,
  };

  function anchor(at, image) {
    const end = linked ? -1 : find("]", at);
    if (end < 0 || text[end + 1] !== "(") return false;
    const close = closing(text, end + 1);
    const address = text.slice(end + 2, close).trim().split(/\s/)[0].replace(/^<|>$/g, "");
    return close > 0 && link(address, text.slice(at + 1, end) || (image ? "image" : address)) && close + 1;
  }

  function emphasis() {
    const ch = text[i];
    let run = 1;
    while (text[i + run] === ch) run++;
    const literal = () => (held += ch.repeat(run), i + run);
    const after = text[i + run] ?? " ";
    if (run > 3 || /\s/.test(after) || ch === "~" && run !== 2 || ch === "_" && /\w/.test(text[i - 1] ?? "")) return literal();
    const end = closer(ch, run, i + run);
    if (end < 0) return literal();
    const inner = text.slice(i + run, end);
    if (ch === "~") element("s", inner);
    else if (run < 3) element(run === 2 ? "strong" : "em", inner);
    else { flush(); inline(add(add(out, "strong"), "em"), inner, depth + 1, linked); }
    return end + run;
  }

  // closer finds where a run of n marks is closed: by a run as long, else by the end of a longer one.
  function closer(ch, n, from) {
    if (seen[ch + n] === -1) return -1;
    let longer = -1;
    for (let at = text.indexOf(ch, from); at >= 0;) {
      let end = at;
      while (text[end] === ch) end++;
      const closes = end - at >= n && !/\s/.test(text[at - 1]) && (ch !== "_" || !/\w/.test(text[end] ?? ""));
      if (closes && end - at === n) return at;
      if (closes && longer < 0) longer = end - n;
      at = text.indexOf(ch, end);
    }
    if (longer < 0) seen[ch + n] = -1;
    return longer;
  }

  if (depth > deepest) { out.append(text); return; }
  while (i < text.length) {
    const run = matched(plain, i);
    if (run) { held += run[0]; i += run[0].length; continue; }
    const next = takes[text[i]]();
    if (next) i = next; else held += text[i++];
  }
  flush();
}

// closing returns the place of the bracket that closes the one at i, or -1.
function closing(text, i) {
  for (let open = 0, end = Math.min(text.length, i + maxAddress); i < end; i++) {
    if (text[i] === "(") open++;
    else if (text[i] === ")" && --open === 0) return i;
    else if (text[i] === "\n") return -1;
  }
  return -1;
}

// trimmed takes off an address what belongs to the sentence around it.
function trimmed(address) {
  let end = address.length;
  while (end) {
    const last = address[end - 1];
    const unopened = last === ")" && !address.slice(0, end).includes("(");
    if (!unopened && !".,;:!?*_~".includes(last)) break;
    end--;
  }
  return address.slice(0, end);
}

function allowed(address) {
  const url = URL.canParse(address) && new URL(address);
  return url && ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : "";
}
