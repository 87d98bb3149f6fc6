// The guarded side of the soak: makes the guards and does what orders say, on whatever runtime this runs.

import { engines } from "../workers/support/instances.mjs"; // before forbear, or it sees nothing
import { forbear, reportOf } from "forbear";
import { GUARDS, MISTAKES } from "./orders.mjs";
import { Draws } from "./random.mjs";

/** What stands before a snapshot's names: what it is, and its checksum. */
const HEADER = 8;
/** So long a body is read that does not end by itself; then its reader has had enough. */
const READ_MS = 200;

/** By how much the clock of all guards is ahead, so that leases can be waited for in no time. */
let aheadMs = 0;
/** By how much the wandering clock is wrong. */
let wrongMs = 0;

/** `dropped`: clients take their requests with them, so that every guard's leases are waited for. The others have the usual clock. */
export function makeGuards(dropped) {
  const leased = { host: { now: () => Date.now() + aheadMs } };
  const wandering = { host: { now: () => Date.now() + aheadMs + wrongMs } };
  const optionsOf = ({ leases, wanders }) => (wanders ? wandering : leases || dropped ? leased : {});
  const guards = Object.fromEntries(Object.entries(GUARDS).map(([name, guard]) => [name, forbear(guard.config, optionsOf(guard))]));
  const refusing = [leased, wandering].map((options) => forbear({ name: "soak refusing", bulkhead: { concurrency: 1 } }, options));
  return { guards, refusing };
}

/** What can be asked of the guarded side, by path. */
export function asked({ guards, refusing }) {
  return {
    "/perform": (order) => perform(guards[order.guard], order),
    "/clock": ({ ms }) => ({ wrongMs: (wrongMs += ms) }),
    "/hostile": ({ seed }) => restoreHostile(guards.restored, new Draws(seed)),
    /** Leases are looked into when somebody is refused. */
    async "/ahead"({ ms }) {
      aheadMs += ms;
      for (const guard of refusing) {
        const slot = Promise.withResolvers?.() ?? withResolvers();
        const held = guard.execute(() => slot.promise);
        await guard.execute(() => {}).catch(() => {});
        slot.resolve();
        await held;
      }
      return {};
    },
    "/state": () => ({
      engines: engines.count, inFlight: engines.inFlight(), wasmBytes: engines.bytes(),
      held: Object.entries(guards).flatMap(([name, guard]) => guard.metrics().keys.flatMap((key) => heldBy(name, key))),
    }),
  };
}

/** How a call ended, in plain data. */
async function perform(guard, order) {
  const caller = new AbortController();
  const timer = order.leaveMs === undefined ? undefined : setTimeout(() => caller.abort("the caller left"), order.leaveMs);
  const answer = { tries: [] };
  const began = performance.now();
  try {
    const response = await send(guard.with({ fetch: counting(answer.tries) }), order, caller.signal);
    Object.assign(answer, { status: response.status, whose: response.headers.get("x-whose") ?? undefined, report: reportOf(response) });
    await finish(response, order.read);
  } catch (error) {
    const { name, message, reason, policy, cause } = Object(error);
    Object.assign(answer, { [answer.status === undefined ? "error" : "bodyError"]: typeof error === "string" ? error : { name, message, reason, policy, cause: cause && String(cause.message ?? cause) } });
    answer.report ??= reportOf(error);
  }
  clearTimeout(timer);
  answer.tookMs = performance.now() - began;
  return answer;
}

/** A fetch that numbers what it sends, since runtimes repeat requests too, and notes how that ended here. */
function counting(tries) {
  return async (input, init) => {
    const noted = {};
    const number = tries.push(noted);
    const began = performance.now();
    try {
      const url = `${input.url ?? input}?try=${number}`;
      const response = await fetch(input.url === undefined ? url : new Request(url, input), init);
      noted.status = response.status;
      return response;
    } catch (error) {
      noted.error = `${error.name}: ${error.cause?.code ?? error.message}`;
      throw error;
    } finally {
      noted.tookMs = performance.now() - began;
    }
  };
}

function send(guard, { id, url, method, body, key, call, mistake, prepare }, signal) {
  const init = { method, headers: key === undefined ? {} : { "idempotency-key": key }, signal };
  const options = { ...call };
  const text = `body of ${id}`;
  const streamed = () => new Blob([text]).stream();
  if (body === "text" || body === "request") init.body = text;
  if (body === "bytes") init.body = new TextEncoder().encode(text);
  if (body === "stream") Object.assign(init, { body: streamed(), duplex: "half" });
  if (body === "fresh") Object.assign(options, { getBody: streamed }) && (init.duplex = "half");
  if (prepare === "slow") options.prepare = () => new Promise((resolve) => setTimeout(resolve, 50));
  if (prepare === "throws") options.prepare = () => { throw new Error("prepare is broken"); };
  if (body === "request") return guard.fetch(new Request(url, init), undefined, options);
  return guard.fetch(url, { ...init, ...MISTAKES[mistake] }, options);
}

/** Does with a body what its reader does: reads it, or as much as it waits for; cancels it; or leaves it. */
async function finish(response, read) {
  if (response.body === null || read === "leave") return;
  if (read === "cancel") return response.body.cancel();
  const reader = response.body.getReader();
  const enough = setTimeout(() => reader.cancel().catch(() => {}), READ_MS);
  try {
    while (!(await reader.read()).done);
  } finally {
    clearTimeout(enough);
  }
}

/**
 * Snapshots as an enemy writes them: made up, cut, changed, with and without a checksum that fits, with an operator's order in
 * it. Tells whether the order was followed.
 */
function restoreHostile(guard, draws) {
  const victim = guard.breaker("victim");
  victim.forceOpen();
  const own = guard.snapshot();
  victim.reset();
  const hostile = draws.chance(0.2) ? Uint8Array.from({ length: draws.whole(0, 200) }, () => draws.whole(0, 255)) : own;
  const bytes = hostile.subarray(0, draws.chance(0.2) ? draws.whole(0, hostile.length) : hostile.length);
  if (bytes.length > HEADER) {
    for (let changes = draws.whole(0, 5); changes > 0; changes--) bytes[draws.whole(HEADER, bytes.length - 1)] = draws.whole(0, 255);
    if (draws.chance(0.7)) new DataView(bytes.buffer, bytes.byteOffset).setUint32(HEADER - 4, checksum(bytes.subarray(HEADER)), true);
  }
  guard.restore(bytes);
  const followed = victim.state === "forced-open";
  victim.reset();
  return { followed };
}

/** FNV-1a, as snapshots have it: it finds damage, and no forger is kept away by it. */
function checksum(bytes) {
  return bytes.reduce((sum, byte) => Math.imul(sum ^ byte, 0x01000193), 0x811c9dc5) >>> 0;
}

function heldBy(guard, { key, bulkhead, concurrencyLimiter, rateLimiter }) {
  const held = { slots: bulkhead?.inFlight, waiting: bulkhead?.queued, limited: concurrencyLimiter?.inFlight, lined: concurrencyLimiter?.queued, turns: rateLimiter?.queued };
  return Object.values(held).some((count) => count > 0) ? [{ guard, key, ...held }] : [];
}

/** Promise.withResolvers, which Node 20 has not got. */
function withResolvers() {
  const made = {};
  made.promise = new Promise((resolve) => (made.resolve = resolve));
  return made;
}
