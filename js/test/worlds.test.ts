// Random worlds: stacks, upstreams, callers that leave, late timers, hints and traps, all by one seed. Whatever happens,
// every call ends, nothing stays behind, and no body is forgotten.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RejectedError, TimeoutError } from "../src/index.js";
import { FakeHost, quiet } from "./support/host.js";
import { shim, trap } from "./support/shim.js";
import { countingSignal, watched, type Watched } from "./support/upstream.js";

const WORLDS = 150;

for (const traps of [false, true]) {
  test(`${WORLDS} random worlds ${traps ? "with" : "without"} traps`, async () => {
    for (let seed = 1; seed <= WORLDS; seed++) await world(seed, traps);
  });
}

async function world(seed: number, traps: boolean): Promise<void> {
  const rng = generator(seed);
  const pick = <T>(...choices: T[]): T => choices[Math.floor(rng() * choices.length)]!;
  const host = new FakeHost();
  host.random = () => Math.floor(rng() * 2 ** 53);
  host.wakesOthers = () => seed % 2 === 0;
  let setBy = 0;
  host.now = () => host.time + setBy;
  const { engine, guard } = shim(host);
  const bodies: Watched[] = [];

  const upstream = (signal: AbortSignal | undefined): Promise<Response> => new Promise((resolve, reject) => {
    let over = false;
    const abort = (): void => {
      over = true;
      reject(signal?.reason as Error);
    };
    if (rng() < 0.7) {
      if (signal?.aborted) return abort();
      signal?.addEventListener("abort", abort, { once: true });
    }
    const answer = (): void => {
      signal?.removeEventListener("abort", abort);
      if (over) return;
      if (rng() < 0.3) return reject(pick<unknown>(new TypeError("fetch failed"), "words", Object.assign(new Error(), { code: "ECONNREFUSED" })));
      const body = watched(pick(200, 200, 404, 429, 500, 503), rng() < 0.3 ? { "retry-after": pick("0", "1", "-1", "99999") } : {});
      bodies.push(body);
      resolve(body.response);
    };
    if (rng() < 0.3) answer();
    else host.arm(Math.floor(rng() * 2_000), answer);
  });
  const send = (_: unknown, init?: RequestInit): Promise<Response> => {
    if (rng() < 0.05) throw new Error("thrown at once");
    return upstream(init?.signal ?? undefined);
  };
  const stacks = Array.from({ length: 3 }, (_, i) => guard({
    name: `stack ${i}`,
    ...(rng() < 0.6 ? { timeout: pick<object>({}, { total: 700 }, { attempt: 300 }, { total: 1_500, attempt: 400 }) } : {}),
    ...(rng() < 0.8 ? { retry: { attempts: pick(1, 2, 5), backoff: { base: pick(1, 50) }, ...(rng() < 0.5 ? { budget: false as const } : {}) } } : {}),
    ...(rng() < 0.5 ? { breaker: { consecutiveFailures: 3, openFor: 500 } } : {}),
    ...(rng() < 0.3 ? { hedge: { after: 100 } } : {}),
    ...(rng() < 0.4 ? { bulkhead: { concurrency: pick(1, 3), queue: pick(0, 3, 30), queueTimeout: pick<"300ms" | false>("300ms", false), release: pick<"headers" | "settled">("headers", "settled") } } : {}),
    ...(rng() < 0.3 ? { rateLimiter: { rate: pick(5, 50), burst: pick(1, 5), wait: pick(0, 1_000, 20_000) } } : {}),
  }, { fetch: send }));

  const signals = [countingSignal(), countingSignal()];
  const handed = new Set<unknown>();
  let ended = 0;
  const calls = Array.from({ length: 30 }, async () => {
    await new Promise<void>((resolve) => host.arm(Math.floor(rng() * 1_000), resolve));
    const signal = rng() < 0.5 ? pick(...signals).signal : undefined;
    const init: RequestInit = { method: pick("GET", "POST", "PUT"), ...(signal && { signal }) };
    const options = { key: pick("a", "b", null), ...(rng() < 0.2 ? { timeout: 500 } : {}) };
    try {
      handed.add(await pick(...stacks).fetch("https://a.example/", init, options));
    } catch (error) {
      assert.ok(error instanceof Error || error === "words" || error === "gone", String(error));
      if (error instanceof RejectedError || error instanceof TimeoutError) assert.ok(error.stackName?.startsWith("stack"));
    }
    ended++;
  });

  for (let step = 0; step < 12; step++) {
    await host.pass(Math.floor(rng() * 400));
    if (rng() < 0.2) host.time += pick(-50, 5_000, 3_600_000); // timers are late, or early
    if (rng() < 0.2) setBy += pick(-700, -30_000, -3_600_000, 60_000); // the clock is set, and timers go on
    if (rng() < 0.1) pick(...signals).controller.abort("gone");
    if (rng() < 0.3) for (const wake of [...engine.sleepers.values()]) wake();
    if (traps && rng() < 0.3) trap(engine);
  }
  await host.pass(200_000);
  await Promise.all([Promise.all(calls), host.pass(10_000)]);
  await quiet();

  const where = `world ${seed}`;
  assert.equal(ended, calls.length, where);
  assert.equal(host.timers.length, 0, `${where}: timers`);
  assert.equal(engine.sleepers.size, 0, `${where}: sleepers`);
  assert.equal(engine.ask((exports) => exports.in_flight(), -1), 0, `${where}: calls in flight`);
  for (const { response, cancelled } of bodies) assert.equal(cancelled(), !handed.has(response), `${where}: a body of ${response.status}`);
}

/** mulberry32: small, seeded, good enough to shake things. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
