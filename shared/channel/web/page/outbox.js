import { api, Backoff, turnedAway } from "./api.js";

const prefix = "bobbin.out.";

// store is localStorage where the browser allows it; without, what is unsent lasts as long as the page.
export const store = {
  get(key) { try { return localStorage.getItem(key); } catch { return null; } },
  set(key, value) { try { value ? localStorage.setItem(key, value) : localStorage.removeItem(key); } catch { /* full or forbidden */ } },
  keys() { try { return Object.keys(localStorage); } catch { return []; } },
};

// Outbox holds what the owner wrote until the server lists it. A message keeps its ID over every attempt and every
// visit, so that sending once too often is harmless; each has a place of its own in the store, so that two tabs do not
// overwrite each other's. States: sending, waiting (for another attempt), accepted, refused.
export class Outbox {
  items = [];
  #backoff = new Backoff();
  #busy = false;
  #timer;

  // changed is called after every change; answered when the server has taken one or turned it away, with what the owner
  // is told. While held returns true, no attempt begins.
  constructor(changed, answered, held) {
    Object.assign(this, { changed, answered, held });
    for (const key of store.keys().filter((k) => k.startsWith(prefix))) {
      try { this.items.push({ ...JSON.parse(store.get(key)), state: "sending" }); } catch { store.set(key); }
    }
    this.items.sort((a, b) => a.at - b.at);
  }

  add(text, thread) {
    const item = { id: crypto.randomUUID(), thread, text, at: Date.now(), state: "sending" };
    this.items.push(item);
    store.set(prefix + item.id, JSON.stringify(item));
    this.changed();
    this.send();
  }

  remove(id) {
    this.items = this.items.filter((i) => i.id !== id);
    store.set(prefix + id);
    this.changed();
  }

  // listed drops what the server shows by now, or took into another thread than is shown.
  listed(messages, thread) {
    const there = new Set(messages.map((m) => m.client));
    for (const item of this.items) {
      if (there.has(item.id) || item.state === "accepted" && item.thread !== thread) this.remove(item.id);
    }
  }

  // send tries all that are not refused, one after the other, so that they arrive in the order of writing.
  async send() {
    if (this.#busy) return;
    this.#busy = true;
    clearTimeout(this.#timer);
    for (let item; !this.held() && (item = this.items.find((i) => i.state === "sending" || i.state === "waiting"));) {
      if (!await this.#try(item)) break;
    }
    this.#busy = false;
  }

  async #try(item) {
    let answer;
    try {
      const { id, thread, text } = item;
      answer = await api("/api/messages", { id, thread, text });
    } catch (error) {
      return this.#failed(item, error);
    }
    this.#backoff.reset();
    item.state = "accepted";
    store.set(prefix + item.id);
    this.changed();
    if (answer.outcome === "obeyed") this.remove(item.id); // a command: nothing will be listed
    this.answered(item, answer.told);
    return true;
  }

  // failed reports whether to go on with the next: after a refusal of this one, not when the server is away.
  #failed(item, error) {
    const refused = turnedAway(error);
    item.state = refused ? "refused" : "waiting";
    item.error = error.status ? error.message : "";
    if (refused) this.answered(item, error.message); // the conversation may be another one by now
    else this.#timer = setTimeout(() => this.send(), this.#backoff.next());
    this.changed();
    return refused;
  }
}
