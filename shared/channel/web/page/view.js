import { markdown } from "./markdown.js";

export const $ = (id) => document.getElementById(id);

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const speakers = { owner: "You", agent: "Bobbin", notice: "Notice" };
const states = {
  sending: "Sending…", waiting: "Not sent yet, trying again.", accepted: "Sent", queued: "Queued", failed: "Failed",
  cancelled: "Cancelled", held: "Not delivered",
};
const wanted = {
  question: "Waiting for your answer", confirmation: "Waiting for your yes or no", form: "Waiting for you to fill in the form",
  payment: "Waiting for your approval",
};
const services = { telegram: "Telegram" };

export function element(tag, className = "", ...content) {
  const e = document.createElement(tag);
  e.className = className;
  e.append(...content);
  return e;
}

function day(date) {
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(date).setHours(0, 0, 0, 0)) / 864e5);
  if (days === 0 || days === 1) return days ? "Yesterday" : "Today";
  const year = date.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long", year });
}

// View draws the conversation: every row has a key, and only rows that changed are touched, so that selections,
// scrolling and screen readers are left in peace. act is called with what a message's button says and what it is about:
// the ID of an unsent message, else the turn.
export class View {
  #rows = new Map(); // key → {node, print}
  #previews = new Map(); // turn → {node, body, text}
  #bottom = true; // the owner looks at the end
  #newest = "";

  constructor(act) {
    this.act = act;
    const talk = $("talk");
    talk.addEventListener("scroll", () => {
      this.#bottom = talk.scrollHeight - talk.scrollTop - talk.clientHeight < 40;
      if (this.#bottom) $("latest").hidden = true;
    }, { passive: true });
    new ResizeObserver(() => this.#bottom && this.toEnd()).observe(talk);
    $("latest").onclick = () => this.toEnd();
    talk.addEventListener("click", copy);
  }

  toEnd() {
    const talk = $("talk");
    talk.scrollTop = talk.scrollHeight;
    this.#bottom = true;
    $("latest").hidden = true;
  }

  draw(feed, pending, commands) {
    const talk = $("talk"), first = this.#rows.size === 0;
    const anchor = $("log").querySelector(".message"), top = anchor?.offsetTop;
    $("log").ariaBusy = String(first); // what was there before is not news
    this.#place(this.#list(feed, pending, commands));
    this.#preview(feed, commands.has("stop"));
    $("earlier").hidden = !feed.more;
    $("empty").hidden = feed.messages.length + pending.length > 0;
    if (this.#bottom) this.toEnd();
    else if (anchor?.isConnected) talk.scrollTop += anchor.offsetTop - top;
    const newest = feed.messages.at(-1)?.cursor ?? "";
    if (!this.#bottom && newest > this.#newest) $("latest").hidden = false;
    this.#newest = newest;
    if (first) requestAnimationFrame(() => { $("log").ariaBusy = "false"; });
  }

  #list({ messages, waits }, pending, commands) {
    const rows = [];
    const asking = new Map(waits.map((w) => [messages.findLast((m) => m.turn === w.turn && m.from === "agent")?.id, w]));
    let last = "";
    for (const m of [...messages, ...pending.map((p) => ({ ...p, from: "owner", channel: "web" }))]) {
      const at = new Date(m.at), name = day(at);
      const key = m.client || m.id;
      if (name !== last) rows.push({ key: "day " + key, print: name, make: () => element("div", "day", name) });
      last = name;
      const wait = asking.get(m.id), pressed = commands.has("cancel", m.turn) || commands.has("answer", m.turn);
      rows.push({ key, print: [m.state, m.error, m.text, wait?.kind, pressed].join(), make: () => this.#message(m, at, wait, pressed) });
    }
    return rows;
  }

  #place(rows) {
    const keep = new Set(rows.map((r) => r.key));
    for (const [key, row] of this.#rows) if (!keep.has(key)) { row.node.remove(); this.#rows.delete(key); }
    let next = $("log").firstChild;
    for (const { key, print, make } of rows) {
      let row = this.#rows.get(key);
      if (row?.print !== print) {
        const node = make();
        if (row?.node === next) next = node;
        const focused = row?.node.contains(document.activeElement);
        row?.node.replaceWith(node);
        if (focused) $("talk").focus({ preventScroll: true });
        this.#rows.set(key, row = { node, print });
      }
      if (row.node === next) next = next.nextSibling;
      else $("log").insertBefore(row.node, next);
    }
  }

  #message(m, at, wait, pressed) {
    const body = element("div", "body");
    body.append(m.from === "owner" ? m.text : markdown(m.text));
    const time = element("time", "", clock.format(at));
    time.dateTime = at.toISOString();
    const meta = element("div", "meta", time);
    if (m.channel !== "web") meta.append(element("span", "badge", services[m.channel] ?? m.channel));
    const said = m.state === "refused" ? m.error : m.from === "owner" || m.state === "held" ? states[m.state] : "";
    const cancelling = m.state === "queued" && pressed;
    if (cancelling) meta.append("Cancelling…");
    else if (said) meta.append(element("span", /refused|failed|held/.test(m.state) ? "bad" : "", said));
    if (m.state === "waiting") meta.append(this.#button("Retry now", m.id));
    if (m.state === "refused") meta.append(this.#button("Send again", m.id), this.#button("Edit", m.id));
    if (m.state === "queued" && m.turn && !pressed) meta.append(this.#button("Cancel", m.turn, "Cancel this message"));
    const article = element("article", `message ${m.from}`, element("span", "unseen", speakers[m.from] + ": "), body);
    if (wait?.kind === "confirmation" && !pressed) article.append(this.#choice(wait));
    if (wait) meta.append(element("span", "wanted", pressed ? "Answering…" : wanted[wait.kind] ?? wanted.question));
    article.append(meta);
    return article;
  }

  #choice(wait) {
    const choice = element("div", "choice", this.#button("Yes", wait.turn), this.#button("No", wait.turn));
    choice.role = "group";
    choice.ariaLabel = wait.text;
    return choice;
  }

  #button(text, subject, label = text) {
    const b = element("button", "text-button", text);
    b.ariaLabel = label;
    b.onclick = () => this.act(text, subject);
    return b;
  }

  // preview shows what running turns have written so far, or that they run.
  #preview(feed, stopping) {
    const replies = new Map(feed.replies);
    const running = feed.messages.findLast((m) => m.from === "owner" && m.state === "running");
    if (!replies.size && running) replies.set(running.turn, { text: "" });
    for (const [turn, p] of this.#previews) if (!replies.has(turn)) { p.node.remove(); this.#previews.delete(turn); }
    for (const [turn, { text }] of replies) {
      let p = this.#previews.get(turn);
      if (!p) {
        const body = element("div", "body");
        p = { body, meta: element("div", "meta") };
        p.node = element("article", "message agent", body, p.meta);
        $("live").append(p.node);
        this.#previews.set(turn, p);
      }
      if (p.text !== text) p.body.replaceChildren(text.trim() ? markdown(text) : dots());
      p.text = text;
      p.meta.textContent = stopping ? "Stopping…" : "Working…";
    }
    const said = !replies.size ? "" : stopping ? "Stopping." : "Bobbin is working.";
    if ($("said").textContent !== said) $("said").textContent = said;
  }
}

function dots() {
  const d = element("span", "dots", element("i"), element("i"), element("i"));
  d.ariaHidden = "true";
  return d;
}

async function copy(e) {
  const button = e.target.closest(".copy");
  if (!button) return;
  await navigator.clipboard.writeText(button.previousSibling.textContent);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}
