// api calls the server: GET, or POST with a body. It throws an Error whose message is for the owner; status is the
// answer's, undefined when there was none.
export async function api(path, body) {
  const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, { ...(body && post), signal: AbortSignal.timeout(20_000) });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw Object.assign(new Error(answer.error ?? `The server answered ${response.status}.`), { status: response.status });
  }
  return answer;
}

// turnedAway reports whether an error is the server's last word: sent again, the same would get the same answer.
export function turnedAway({ status }) {
  return status >= 400 && status < 500 && ![401, 408, 429].includes(status);
}

// Backoff gives the waits between attempts, in milliseconds: doubling, spread, at most 20 s.
export class Backoff {
  tries = 0;
  reset() { this.tries = 0; }
  next() { return Math.min(20_000, 1000 * 2 ** this.tries++) * (0.8 + 0.4 * Math.random()); }
}
