import { api, Backoff, turnedAway } from "./api.js";

// Commands carries out what the owner presses. Each is posted at once, and again under the same ID until the server has
// answered. Unlike what was written they last only as long as the page, whose clock tells how long ago a Stop was pressed.
export class Commands {
  #all = new Map(); // key → command; its state is sending, waiting (for another attempt), or answered

  // changed is called after every change. answered is called with a command and what the owner is told, "" for nothing;
  // the command counts as under way until the promise it returns is settled.
  constructor(changed, answered) { Object.assign(this, { changed, answered }); }

  // has reports whether such a command is under way, sending whether an attempt is.
  has(name, turn = "") { return this.#all.has(name + turn); }
  sending(name) { return this.#all.get(name)?.state === "sending"; }

  // press begins a command. Pressed again while it waits, it is a new one, for what was begun meanwhile.
  press(name, thread, more) {
    const key = name + (more?.turn ?? ""), before = this.#all.get(key);
    if (before && before.state !== "waiting") return;
    clearTimeout(before?.timer);
    const body = { id: crypto.randomUUID(), thread, ...more };
    this.#all.set(key, { key, name, body, at: Date.now(), from: performance.now(), backoff: new Backoff() });
    this.#try(this.#all.get(key));
  }

  // retry tries at once what waits for another attempt.
  retry() {
    for (const c of this.#all.values()) if (c.state === "waiting") this.#try(c);
  }

  async #try(c) {
    clearTimeout(c.timer);
    this.#enter(c, "sending");
    let told;
    try {
      const ago = c.name === "stop" && { ago_ms: age(c) };
      told = (await api(`/api/${c.name}`, { ...c.body, ...ago })).told;
    } catch (error) {
      if (!turnedAway(error)) return this.#wait(c);
      told = error.message;
    }
    this.#enter(c, "answered");
    await this.answered(c, told ?? "");
    this.#all.delete(c.key);
    this.changed();
  }

  #wait(c) {
    c.timer = setTimeout(() => this.#try(c), c.backoff.next());
    this.#enter(c, "waiting");
  }

  #enter(c, state) {
    c.state = state;
    this.changed();
  }
}

// age is how many milliseconds ago a command was pressed: the one clock stands still while some computers sleep, the
// other may be set back. Too old is the safe mistake: it spares what is newer.
function age(c) {
  return Math.ceil(Math.max(performance.now() - c.from, Date.now() - c.at));
}
