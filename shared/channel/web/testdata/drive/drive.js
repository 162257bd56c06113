// What the scripts share. Each says what it finds wrong, and the test fails with that.
const wrong = [];

export const $ = (selector) => document.querySelector(selector);
export const $$ = (selector) => [...document.querySelectorAll(selector)];
export const texts = (selector) => $$(selector).map((e) => e.innerText.trim());

addEventListener("error", (e) => wrong.push(`error: ${e.message}`));
addEventListener("unhandledrejection", (e) => wrong.push(`unhandled: ${e.reason}`));
document.addEventListener("securitypolicyviolation", (e) => wrong.push(`policy: ${e.violatedDirective} ${e.sample}`));

export function same(what, got, want) {
  const [g, w] = [got, want].map((x) => JSON.stringify(x));
  if (g !== w) wrong.push(`${what}: got ${g}, want ${w}`);
}

// until waits for a condition; after twenty seconds it is wrong, and the script goes on.
export async function until(what, condition) {
  const end = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > end) { wrong.push(`waited in vain until ${what}`); return; }
    await new Promise((done) => setTimeout(done, 10));
  }
}

export const act = (name, argument = "") => fetch(`/drive/${name}`, { method: "POST", body: argument });

export function type(text) {
  $("#text").value = text;
  $("#text").dispatchEvent(new Event("input"));
}

export function press(key, more) {
  $("#text").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
}

// escape presses Esc wherever the focus is.
export function escape(more) {
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true, ...more }));
}

// click presses the first button with that text.
export function click(text) {
  const button = $$("button").find((b) => b.innerText === text);
  if (button) button.click();
  else wrong.push(`there is no button ${text}`);
}

// posts are the bodies of all that was posted to a path of the server, in order.
export function posts(path) {
  const seen = [], real = window.fetch;
  window.fetch = (to, options) => {
    if (to === path) seen.push(JSON.parse(options.body));
    return real(to, options);
  };
  return seen;
}

export function write(text) {
  type(text);
  press("Enter");
}

export async function drive(script) {
  try {
    await script();
  } catch (error) {
    wrong.push(`script: ${error.stack}`);
  }
  await fetch("/drive/found", { method: "POST", body: JSON.stringify(wrong) });
}
