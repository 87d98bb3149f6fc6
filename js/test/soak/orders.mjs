// What callers of the soak ask for: guards, and orders drawn for them.

import { ANYBODY, ASKED, IDEMPOTENT } from "./faults.mjs";

/** How long a call may take; all have a limit, or a stalled upstream would hold them for ever. */
const TOTAL_MS = 3_000;
export const ATTEMPT_MS = 400;
export const ATTEMPTS = 3;

const timeout = { total: TOTAL_MS, attempt: ATTEMPT_MS };
const retry = { attempts: ATTEMPTS, backoff: { base: 5, cap: 50 }, maxRetryAfter: "2s", budget: false };
const breaker = { openFor: 300, minCalls: 20, window: "2s" };

/**
 * `refuses`: whether refusals are in order. `hedges`: how many attempts stand beside each other. `slots`: how many calls at once it
 * serves, to be tried when all is quiet. `leases`: bodies that nobody reads hold slots until their leases end. `wanders`: its
 * host's clock is set forward and back.
 */
export const GUARDS = {
  plain: { weight: 5, config: { timeout, retry } },
  gated: {
    weight: 5, refuses: true, keys: true, slots: 10,
    config: {
      timeout, retry: { ...retry, budget: { ratio: 0.5, reserve: 50 } }, throttler: {}, breaker, concurrencyLimiter: { initial: 20 },
      bulkhead: { concurrency: 10, queue: 100, queueTimeout: "1s" }, rateLimiter: { rate: 500, interval: "1s", burst: 50, wait: "1s", queue: 100 },
    },
  },
  hedged: { weight: 2, refuses: true, hedges: 2, slots: 10, config: { timeout, retry, hedge: { after: 30 }, bulkhead: { concurrency: 10, queue: 100 } } },
  held: { weight: 3, refuses: true, slots: 10, leases: true, config: { timeout, retry, bulkhead: { concurrency: 10, queue: 100, queueTimeout: false, release: "body" } } },
  // Whatever its callers do wrong, the circuit stays shut: its upstream answers, and it waits for it even on a busy machine.
  mistaken: { weight: 2, mistakes: true, config: { timeout: { total: 10_000 }, retry, breaker: { consecutiveFailures: 3, minCalls: 5 } } },
  wandering: { weight: 2, refuses: true, wanders: true, slots: 10, config: { timeout, retry, bulkhead: { concurrency: 10, queue: 100 }, rateLimiter: { rate: 200, interval: "1s", burst: 20, wait: "1s" } } },
  restored: { weight: 1, refuses: true, config: { timeout, retry: { ...retry, budget: {} }, throttler: {}, breaker, concurrencyLimiter: {}, rateLimiter: { rate: 1_000, burst: 100 } } },
};
for (const [name, { config }] of Object.entries(GUARDS)) config.name = `soak ${name}`;

/** An order in plain data. */
export function drawOrder(draws, id) {
  const [guard, { keys, mistakes }] = draws.weighed(Object.entries(GUARDS).map((entry) => Object.assign(entry, entry[1])));
  const method = draws.of(METHODS);
  const order = { id, guard, method, body: BODILESS.has(method) ? undefined : draws.of(BODIES), call: {}, read: draws.weighed(READS).how };
  if (mistakes && draws.chance(0.8)) Object.assign(order, { mistake: draws.of(Object.keys(MISTAKES)), body: undefined });
  if (keys) order.call.key = `tenant ${draws.chance(0.7) ? draws.whole(1, 3) : draws.whole(4, 1_500)}`;
  if (method === "POST" && draws.chance(0.3)) order.key = `key ${id}`;
  if (draws.chance(0.2)) order.call.idempotent = draws.chance(0.5);
  if (draws.chance(0.05)) order.call.retry = false;
  if (mistakes) return order; // in no hurry, or its haste would be the upstream's fault
  if (draws.chance(0.1)) order.call.timeout = draws.whole(1, TOTAL_MS);
  if (draws.chance(0.15)) order.leaveMs = draws.whole(0, ATTEMPT_MS);
  else if (draws.chance(0.05)) order.dropMs = draws.whole(5, ATTEMPT_MS);
  if (draws.chance(0.05)) order.prepare = draws.of(["slow", "throws"]);
  return order;
}

/** The least that must be known of an attempt for this request to be sent again: a fault's `again`. */
export function leastOf({ method, key, call: { idempotent, retry }, body, mistake, prepare }) {
  if (retry === false || mistake || prepare === "throws") return Infinity;
  const least = leastWithBody({ method, key, idempotent });
  // A body that can be read only once is kept only where a request may be repeated though it was processed.
  return (body === "stream" || body === "request") && least !== IDEMPOTENT ? Infinity : least;
}

function leastWithBody({ method, key, idempotent }) {
  if (idempotent === false) return ANYBODY;
  return idempotent || key !== undefined || IDEMPOTENT_METHODS.has(method) ? IDEMPOTENT : ASKED;
}

/** What callers get wrong: what they give to fetch in place of what is right. */
export const MISTAKES = {
  "a header with a line break": { headers: { "x-user": "a\nb" } },
  "a header beyond Latin-1": { headers: { "x-user": "Ж" } },
  "a header's name with a space": { headers: { "x user": "a" } },
  "headers that are a number": { headers: 5 },
  "headers of three": { headers: [["a", "b", "c"]] },
  "a method with a space": { method: "GE T", body: undefined },
  "a forbidden method": { method: "CONNECT", body: undefined },
  "a body on GET": { method: "GET", body: "text" },
  "an unknown redirect": { redirect: "perhaps" },
};

const METHODS = ["GET", "GET", "GET", "HEAD", "PUT", "DELETE", "POST", "POST", "POST", "PATCH"];
const BODILESS = new Set(["GET", "HEAD", "DELETE"]);
const BODIES = [undefined, "text", "text", "bytes", "stream", "fresh", "request"];
const IDEMPOTENT_METHODS = new Set(["GET", "HEAD", "PUT", "DELETE"]);
const READS = [{ weight: 8, how: "text" }, { weight: 1, how: "cancel" }, { weight: 1, how: "leave" }];
