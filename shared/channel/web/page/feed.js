import { api, Backoff } from "./api.js";

const overlap = 10; // settled messages that are read again, for one that was stored late in its place
const recent = 50; // messages from the end within which an unsettled one is waited for

const unsettled = (m) => ["queued", "running", "sending"].includes(m.state);

// Feed keeps the conversation as the server has it: by a stream of events where there is one and the page is in view,
// else by asking. An event never changes the conversation itself, it only says when to read it again.
export class Feed {
  thread = "";
  messages = []; // in order
  replies = new Map(); // of running turns: turn → {text, stale}
  waits = []; // what the owner is asked for
  more = false; // there are earlier ones
  lost = false;
  #backoff = new Backoff();
  #source;
  #timer;
  #reading;
  #again;
  #news = false; // since the waits were read, something has changed
  #eager = 0; // until when to ask often

  // changed is called after every change, stranger when the server does not know this browser.
  constructor(streams, changed, stranger) { Object.assign(this, { streams, changed, stranger }); }

  // connect reads what is new and then follows. It is also what brings back a lost connection.
  async connect() {
    this.#disconnect();
    try {
      await this.read();
    } catch {
      return;
    }
    this.#disconnect(); // another connect may have come this far meanwhile
    if (this.streams && !document.hidden) this.#open();
    else this.#later();
  }

  // working reports whether a turn is queued or runs.
  get working() { return this.replies.size > 0 || this.messages.some((m) => m.from === "owner" && unsettled(m)); }

  // nudge reads soon what is known to have changed. More may follow within the milliseconds given, without a message of
  // the owner's to announce it. It never throws.
  nudge(eager = 0) {
    this.#eager = performance.now() + eager;
    return this.#source ? this.read().catch(() => {}) : this.connect();
  }

  #disconnect() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = undefined;
  }

  #open() {
    const source = this.#source = new EventSource("/api/events");
    source.onmessage = (e) => this.#told(JSON.parse(e.data));
    source.onerror = () => { if (source === this.#source) this.#lose(); };
  }

  // later asks again: soon while a turn is under way, seldom otherwise, not at all when nobody looks.
  #later() {
    const busy = this.messages.some(unsettled) || performance.now() < this.#eager;
    if (document.hidden && !busy) return;
    this.#timer = setTimeout(() => this.connect(), busy ? (document.hidden ? 5000 : 1000) : 10_000);
  }

  #lose() {
    this.#disconnect();
    this.lost = true;
    this.#timer = setTimeout(() => this.connect(), this.#backoff.next());
    this.changed();
  }

  // read brings the conversation up to date, and returns when it shows what was there at the time of the call. It
  // throws, after arranging for another attempt, when the server can't be reached.
  read() {
    if (!this.#reading) {
      this.#reading = this.#read().finally(() => { this.#reading = undefined; });
      return this.#reading;
    }
    this.#again ??= this.#reading.catch(() => {}).then(() => { this.#again = undefined; return this.read(); });
    return this.#again;
  }

  async #read() {
    try {
      await this.#fetch(this.#place());
      await this.#ask();
    } catch (error) {
      if (error.status === 401) { this.#disconnect(); this.stranger(); } else this.#lose();
      throw error;
    }
    this.lost = false;
    this.#backoff.reset();
    this.changed();
  }

  // fetch reads all behind a cursor, or the conversation's end.
  async #fetch(after) {
    const page = await api("/api/messages" + (after && `?after=${encodeURIComponent(after)}`));
    const other = page.thread !== this.thread;
    if (other) this.#begin(page.thread);
    if (other && after) return this.#fetch("");
    if (!after) Object.assign(this, { messages: [], more: page.more });
    this.#merge(page.messages);
    if (after && page.more) return this.#fetch(page.messages.at(-1).cursor);
  }

  // ask reads what waits for the owner, if that may be another than before: it changes only with the conversation, but
  // for what expires.
  async #ask() {
    if (!this.#news && !this.waits.length) return;
    this.waits = await api("/api/waits");
    this.#news = false;
  }

  // begin turns to another thread, after the one before was cleared.
  #begin(thread) {
    Object.assign(this, { thread, messages: [], waits: [] });
    this.replies.clear();
    if (this.#source) { this.#disconnect(); this.#open(); }
  }

  // place is the cursor to read from: behind it is all that may still change.
  #place() {
    const all = this.messages, from = Math.max(0, all.length - recent);
    const open = all.slice(from).findIndex(unsettled);
    const first = Math.min(open < 0 ? Infinity : from + open, all.length - overlap);
    return all[first - 1]?.cursor ?? "";
  }

  #merge(fresh) {
    const all = new Map(this.messages.map((m) => [m.id, m]));
    for (const m of fresh) {
      this.#news ||= JSON.stringify(all.get(m.id)) !== JSON.stringify(m);
      all.set(m.id, m);
    }
    this.messages = [...all.values()].sort((a, b) => (a.cursor < b.cursor ? -1 : 1));
  }

  async earlier() {
    const thread = this.thread;
    const page = await api(`/api/messages?before=${encodeURIComponent(this.messages[0]?.cursor ?? "")}`);
    if (page.thread !== thread || thread !== this.thread) return;
    this.more = page.more;
    this.#merge(page.messages);
    this.changed();
  }

  #told(e) {
    const reply = this.replies.get(e.turn);
    switch (e.kind) {
      case "text": if (reply) reply.text += e.text; break; // else the turn has ended: it was stopped while it wrote
      case "restart": this.replies.set(e.turn, { text: e.text ?? "" }); break;
      case "turned": this.#turned(e, reply); break;
      case "stored": this.read().catch(() => {}); return;
      case "resync": this.#resync(); return;
    }
    this.changed();
  }

  #turned(e, reply) {
    if (e.status === "ended") { if (reply) reply.stale = true; this.#settle(); }
    if (e.status !== "running") return;
    this.replies.set(e.turn, reply ?? { text: "" });
    for (const m of this.messages) if (m.turn === e.turn && m.state === "queued") m.state = "running";
  }

  #resync() {
    for (const reply of this.replies.values()) reply.stale = true;
    this.#settle();
  }

  // settle lets previews of what has ended stand until the conversation is read, so that a reply never blinks.
  #settle() {
    this.read().then(() => {
      for (const [turn, reply] of this.replies) if (reply.stale) this.replies.delete(turn);
      this.changed();
    }, () => {});
  }
}
