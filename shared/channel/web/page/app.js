import { api, Backoff } from "./api.js";
import { Commands } from "./commands.js";
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

function converse({ live, clearing, model, note }) {
  $("model").textContent = $("model").title = model;
  $("note").textContent = note ?? "";
  $("note").hidden = !note;
  $("talk").hidden = $("foot").hidden = false;
  $("more").hidden = !clearing;

  let drawing = false;
  const draw = () => {
    if (drawing) return;
    drawing = true;
    setTimeout(() => { drawing = false; show(); }, 30); // a frame never comes while hidden
  };
  const feed = new Feed(live, draw, () => location.reload());
  // What is written while a Stop is on its way goes after it, or it might be stopped too.
  const outbox = new Outbox(draw, answered, () => commands.sending("stop"));
  const commands = new Commands(() => { draw(); outbox.send(); }, carried);
  const view = new View(act);
  let unread = 0, newest = "";

  function show() {
    link(feed.lost, wake);
    if (!feed.thread) return;
    outbox.listed(feed.messages, feed.thread);
    const theirs = feed.messages.filter((m) => m.from !== "owner" && m.cursor > newest);
    if (document.hidden && newest) unread += theirs.length;
    newest = feed.messages.at(-1)?.cursor ?? newest;
    document.title = unread ? `(${unread}) Bobbin` : "Bobbin";
    view.draw(feed, outbox.items, commands);
    stoppable(feed.working || commands.has("stop"), commands.has("stop"));
  }

  function wake() {
    feed.connect();
    outbox.send();
    commands.retry();
  }

  // answered puts a message that was turned away back into the composer, if nothing else is in it.
  function answered(item, told) {
    feed.nudge();
    const back = item.state === "refused" && !$("text").value.trim();
    if (back) edit(item);
    if (back || item.state !== "refused") tell(told);
  }

  // carried shows what came of a command, unless its thread is no longer there: that is what was wanted, or more.
  async function carried({ name, body }, told) {
    await feed.nudge(name === "answer" ? 30_000 : 0);
    if (feed.thread === body.thread) tell(told);
  }

  function press(name, more) {
    tell("");
    commands.press(name, feed.thread, more);
  }

  function edit(item) {
    outbox.remove(item.id);
    $("text").value = [item.text, $("text").value].filter(Boolean).join("\n");
    typed();
  }

  // act does what a message's button says to an unsent message, or to a turn.
  function act(what, subject) {
    const item = outbox.items.find((i) => i.id === subject);
    switch (what) {
      case "Retry now": wake(); break;
      case "Send again": outbox.remove(subject); outbox.add(item.text, feed.thread); break;
      case "Edit": edit(item); $("text").focus(); break;
      case "Cancel": press("cancel", { turn: subject }); break;
      case "Yes": case "No": press("answer", { turn: subject, yes: what === "Yes" }); break;
    }
    if (!touch) $("text").focus(); // the button is about to go
  }

  function submit(e) {
    e?.preventDefault();
    const text = $("text").value;
    if (!text.trim() || !feed.thread) return;
    tell("");
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
  $("stop").onclick = () => press("stop");
  addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || e.isComposing || e.defaultPrevented || !feed.working) return;
    if (document.querySelector(":modal, :popover-open")) return; // it is these that Esc closes
    e.preventDefault();
    press("stop");
  });
  $("clear").onclick = () => {
    $("menu").hidePopover();
    $("clearing").returnValue = "";
    $("clearing").showModal();
  };
  $("clearing").onclose = () => { if ($("clearing").returnValue) press("clear"); };
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

// tell shows the owner one sentence until the next thing is done.
function tell(sentence = "") { $("told").textContent = sentence; }

// stoppable offers Stop while there is something to be stopped.
function stoppable(working, stopping) {
  const stop = $("stop");
  if (!working && stop === document.activeElement && !touch) $("text").focus();
  stop.hidden = !working;
  stop.ariaLabel = stopping ? "Stopping" : "Stop";
  stop.classList.toggle("busy", stopping);
}

// typed keeps the draft and fits the composer to it.
function typed() {
  const text = $("text");
  store.set("bobbin.draft", text.value);
  $("send").disabled = !text.value.trim();
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
}
