// The one list of what an upstream does to a request in the soak, and who may send the request again afterwards.

import { endless, hangUp, reset, resetBody, slow, stallBody, stallHeaders, status, trickle, unavailableUntil } from "../support/upstream.mjs";

/** After it, nobody sends the request again. */
export const NEVER = 0;
/** Who may repeat what may have been processed: idempotent methods, a key, the caller's word. */
export const IDEMPOTENT = 1;
/** Also what is not idempotent, unless the caller forbade it: the upstream says that it has done nothing. */
export const ASKED = 2;
/** Everybody: it surely never reached the upstream. */
export const ANYBODY = 3;

/**
 * `act(response, hit, upstream)` as in upstream.mjs; `draws` makes some of them. `afterMs`: a repeat keeps away for so long. `inBody`: its
 * headers were fine. */
const fault = (name, weight, again, act, facts = {}) => ({ name, weight, again, act, ...facts });
const drawn = (name, weight, again, draw, facts = {}) => ({ name, weight, again, draw, ...facts });

export const FAULTS = [
  fault("answers", 40, NEVER, (response, hit) => answer(response, hit, 200)),
  drawn("is slow", 8, NEVER, (draws) => slow(draws.whole(5, 120), (response, hit) => answer(response, hit, 200))),
  fault("refuses to find it", 3, NEVER, status(404)),
  fault("does not know the method", 1, NEVER, status(501)),

  fault("resets the connection", 5, IDEMPOTENT, reset),
  fault("hangs up", 3, IDEMPOTENT, hangUp),
  fault("stalls", 3, IDEMPOTENT, stallHeaders),
  fault("speaks no HTTP", 2, IDEMPOTENT, (response) => response.socket.end("SMTP 220 hello\r\n\r\n")),
  fault("breaks off in its headers", 2, IDEMPOTENT, (response) => response.socket.write("HTTP/1.1 200 OK\r\nx-half: ", () => response.socket.resetAndDestroy())),

  fault("stalls in its body", 3, NEVER, stallBody(), { inBody: true }),
  fault("breaks off in its body", 3, NEVER, resetBody, { inBody: true }),
  fault("never ends its body", 2, NEVER, endless(), { inBody: true }),
  fault("sends its body piece by piece", 3, NEVER, trickle(5, 10), { inBody: true }),
  fault("fails with an endless body", 2, IDEMPOTENT, endless(500), { inBody: true }),
  fault("fails with a stalled body", 2, IDEMPOTENT, stallBody(502), { inBody: true }),

  drawn("fails", 8, IDEMPOTENT, (draws) => status(draws.of([500, 502, 504, 408, 520]))),
  fault("is unavailable", 4, IDEMPOTENT, status(503)),
  fault("is unavailable for a second", 1, ASKED, status(503, { "retry-after": "1" }), { afterMs: 1_000 }),
  fault("is unavailable until a date", 1, ASKED, unavailableUntil(1), { afterMs: 1_000 }),
  fault("is unavailable until a date in the past", 1, ASKED, unavailableUntil(-3_600)),
  fault("has too many requests", 3, ASKED, status(429)),
  fault("has too many requests for now", 2, ASKED, status(429, { "retry-after": "0" })),
  fault("is too early", 2, ASKED, status(425)),
  fault("was sent to the wrong place", 1, ASKED, status(421)),
  fault("is not reached by its gateway", 2, ANYBODY, status(521)),
  fault("forbids it for now", 1, ASKED, status(403, { "retry-after": "0" })),
  fault("is overloaded", 1, IDEMPOTENT, status(529)),
  fault("finds it too large for now", 1, IDEMPOTENT, status(413, { "retry-after": "0" })),
  drawn("asks for eternity", 2, NEVER, (draws) => status(draws.of([429, 503]), { "retry-after": "9".repeat(draws.of([9, 20, 64, 65, 256, 257, 4_000])) })),
  drawn("says nonsense about time", 2, IDEMPOTENT, (draws) => status(503, { "retry-after": draws.of(["-1", "1.5", "soon", "1e3", "0x10", "", "9".repeat(50) + "s", "Thu, 99 Foo 2026 99:99:99 GMT"]) })),
  fault("says two times", 1, IDEMPOTENT, status(503, { "retry-after": ["0", "60"] })),

  drawn("redirects to what answers", 4, NEVER, (draws) => redirect(draws, "answers")),
  drawn("redirects to what fails", 3, IDEMPOTENT, (draws) => redirect(draws, draws.of(["500", "503", "reset", "stall"]))),
  // What came after a redirect proves nothing about the first hop.
  drawn("redirects to what asks to come again", 3, IDEMPOTENT, (draws) => redirect(draws, draws.of(["425", "429", "503-0"]))),
  drawn("redirects to nobody", 1, IDEMPOTENT, (draws) => redirect(draws, "nobody")),
  drawn("redirects in circles", 1, NEVER, (draws) => redirect(draws, "circle")),
];

/** Where redirects lead, by the last part of the path. */
export const TARGETS = {
  answers: (response, hit) => answer(response, hit, 200),
  500: status(500),
  503: status(503),
  "503-0": status(503, { "retry-after": "0" }),
  425: status(425),
  429: status(429),
  reset,
  stall: stallHeaders,
  circle: (response, { url }) => response.writeHead(307, { location: url }).end(),
};

/** The fault that a request of this method meets, and what is done then. An answer to HEAD has no body to fail in. */
export function drawFault(draws, method) {
  const chosen = draws.weighed(method === "HEAD" ? FAULTS.filter(({ inBody }) => !inBody) : FAULTS);
  return { ...chosen, act: chosen.act ?? chosen.draw(draws) };
}

const idOf = (url) => /^\/(\w+)/.exec(url)[1];

/** Whose answer it is stands in it. */
function answer(response, { method, url }, code) {
  const id = idOf(url);
  response.writeHead(code, { "x-whose": id }).end(method === "HEAD" ? undefined : id);
}

function redirect(draws, target) {
  const code = draws.of([301, 302, 303, 307, 308]);
  const host = draws.of(["localhost", "127.0.0.1"]);
  return (response, { url }, { port, nobody }) => {
    const id = idOf(url);
    response.writeHead(code, { location: target === "nobody" ? `http://${host}:${nobody}/` : `http://${host}:${port}/${id}/${target}` }).end();
  };
}
