import { api, Backoff } from "./api.js";
import { Feed } from "./feed.js";
import { Outbox, store } from "./outbox.js";
import { $, element, View } from "./view.js";

const touch = matchMedia("(pointer: coarse)").matches;
const backoff = new Backoff();

start();

async function start() {
  let status;
  try {
    status = await api("/api/status");
  } catch {
    link(true, start);
    setTimeout(start, backoff.next());
    return;
  }
  link(false);
  status.paired ? converse(status) : pair();
}

// link says that the connection is lost, until it is back; the style waits a second, since most come back before.
function link(lost, again) {
  const pill = $("link");
  if (pill.classList.toggle("shown", lost) && !pill.firstChild) {
    const now = element("button", "text-button", "Try now");
    now.onclick = again;
    pill.append("Connection lost. Reconnecting… ", now);
  } else if (!lost) {
    pill.replaceChildren();
  }
}

function pair() {
  $("pairing").hidden = false;
  $("code").focus();
  $("pair").onsubmit = async (e) => {
    e.preventDefault();
    $("pair-error").textContent = "";
    try {
      await api("/api/pair", { code: $("code").value });
      location.reload();
    } catch (error) {
      $("pair-error").textContent = error.status ? error.message : "The server can't be reached.";
      $("code").select();
    }
  };
}

function converse({ live, model, note }) {
  $("model").textContent = $("model").title = model;
  $("note").textContent = note ?? "";
  $("note").hidden = !note;
  $("talk").hidden = $("foot").hidden = false;

  let drawing = false;
  const draw = () => {
    if (drawing) return;
    drawing = true;
    setTimeout(() => { drawing = false; show(); }, 30); // a frame never comes while hidden
  };
  const feed = new Feed(live, draw, () => location.reload());
  const outbox = new Outbox(draw, () => feed.nudge());
  const view = new View(act);
  let unread = 0, newest = "";

  function show() {
    link(feed.lost, wake);
    if (!feed.thread) return;
    outbox.listed(feed.messages);
    const theirs = feed.messages.filter((m) => m.from !== "owner" && m.cursor > newest);
    if (document.hidden && newest) unread += theirs.length;
    newest = feed.messages.at(-1)?.cursor ?? newest;
    document.title = unread ? `(${unread}) Bobbin` : "Bobbin";
    view.draw(feed, outbox.items);
  }

  function wake() {
    feed.connect();
    outbox.send();
  }

  function act(what, id) {
    const item = outbox.items.find((i) => i.id === id);
    if (what === "Retry now") return wake();
    outbox.remove(id);
    if (what === "Send again") return outbox.add(item.text, feed.thread);
    $("text").value = [item.text, $("text").value].filter(Boolean).join("\n");
    typed();
    $("text").focus();
  }

  function submit(e) {
    e?.preventDefault();
    const text = $("text").value;
    if (!text.trim() || !feed.thread) return;
    outbox.add(text.trim(), feed.thread);
    $("text").value = "";
    typed();
    view.toEnd();
    $("text").focus();
  }

  $("composer").onsubmit = submit;
  $("text").oninput = typed;
  $("text").onkeydown = (e) => {
    if (e.key !== "Enter" || e.shiftKey || e.isComposing || touch) return;
    e.preventDefault();
    submit();
  };
  $("earlier").onclick = () => feed.earlier().catch(() => feed.connect());
  addEventListener("online", wake);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) unread = 0;
    draw();
    wake();
  });

  $("text").value = store.get("bobbin.draft") ?? "";
  typed();
  if (!touch) $("text").focus();
  wake();
}

// typed keeps the draft and fits the composer to it.
function typed() {
  const text = $("text");
  store.set("bobbin.draft", text.value);
  $("send").disabled = !text.value.trim();
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
}
