// Waiting for a slot or a turn, through the shim: each waiter on its own timer, woken early where hosts allow it.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RejectedError, Config } from "../src/index.js";
import { reasonOf, } from "./support/host.js";
import { shim } from "./support/shim.js";
import { status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";
const bulkhead = (more: Config["bulkhead"] & object): Config => ({ timeout: { total: "10s" }, bulkhead: { concurrency: 1, ...more } });

test("a full bulkhead without a line refuses at once, and says so", async () => {
  const { guard } = shim();
  const upstream = new Upstream("hang");
  const payments = guard(bulkhead({}), { fetch: upstream.fetch });
  void payments.fetch(URL_A).catch(() => {});
  const error = (await reasonOf(payments.fetch(URL_A))) as RejectedError;
  assert.deepEqual([error.reason, error.policy], ["bulkhead-full", "bulkhead"]);
  assert.equal(upstream.sent.length, 1);
});

test("whoever waits in line is woken as soon as a slot is free, and sent in its turn", async () => {
  const { host, guard } = shim();
  const open: ((response: Response) => void)[] = [];
  const fetch = () => new Promise<Response>((resolve) => open.push(resolve));
  const payments = guard(bulkhead({ queue: 2 }), { fetch });
  const calls = [payments.fetch(URL_A), payments.fetch(URL_A), payments.fetch(URL_A)];
  assert.equal(open.length, 1);
  for (let served = 0; served < 3; served++) {
    open[served]!(new Response(String(served)));
    await host.pass(0);
    assert.equal(await (await calls[served]!).text(), String(served));
    assert.equal(open.length, Math.min(3, served + 2));
  }
  assert.equal(host.timers.length, 0);
});

test("a call that leaves while it waits in line is counted, and no attempt with it", async () => {
  const { host, guard } = shim();
  const payments = guard(bulkhead({ queue: 1 }), { fetch: new Upstream("hang").fetch });
  void payments.fetch(URL_A).catch(() => {});
  const controller = new AbortController();
  const waiting = reasonOf(payments.fetch(URL_A, { signal: controller.signal }));
  await host.pass(100);
  controller.abort("left");
  assert.equal(await waiting, "left");
  const { calls, attempts } = payments.metrics().keys[0]!;
  assert.deepEqual([calls, attempts], [2, 1]);
});

test("a lost hint costs a short wait, not the call", async () => {
  const { host, guard } = shim();
  host.wakesOthers = () => false;
  const open: ((response: Response) => void)[] = [];
  const payments = guard(bulkhead({ queue: 1 }), { fetch: () => new Promise<Response>((resolve) => open.push(resolve)) });
  const first = payments.fetch(URL_A);
  const second = payments.fetch(URL_A);
  open[0]!(status(200));
  await first;
  assert.equal(open.length, 1);
  await host.pass(50);
  assert.equal(open.length, 2);
  open[1]!(status(200));
  assert.equal((await second).status, 200);
});

test("who waits too long is refused with queue-timeout", async () => {
  const { host, guard } = shim();
  const payments = guard(bulkhead({ queue: 1, queueTimeout: 300 }), { fetch: new Upstream("hang").fetch });
  void payments.fetch(URL_A).catch(() => {});
  const waiting = reasonOf(payments.fetch(URL_A));
  await host.pass(300);
  assert.equal(((await waiting) as RejectedError).reason, "queue-timeout");
});

test("of calls that a runtime dropped in line nothing is kept that grows", async () => {
  const { host, engine, guard } = shim();
  const payments = guard(bulkhead({ queue: 1 }), { fetch: () => new Promise<Response>(() => {}) });
  for (let round = 0; round < 50; round++) {
    for (let call = 0; call < 2; call++) payments.fetch(URL_A).catch(() => {});
    host.timers = []; // nobody will hear of them again
    host.time += 3_600_000;
  }
  assert.ok(engine.sleepers.size < 5, `${engine.sleepers.size}`);
});

test("a rate limiter refuses what comes too soon and says when to come again; with a line it makes it wait its turn", async () => {
  const { host, guard } = shim();
  const limited = guard({ rateLimiter: { rate: 1, interval: "1s" } }, { fetch: async () => status(200) });
  await limited.fetch(URL_A);
  const error = (await reasonOf(limited.fetch(URL_A))) as RejectedError;
  assert.deepEqual([error.reason, error.retryAfterMs], ["rate-limited", 1_000]);
  await host.pass(1_000);
  assert.equal((await limited.fetch(URL_A)).status, 200);

  const patient = guard({ timeout: { total: "10s" }, rateLimiter: { rate: 1, interval: "1s", wait: "5s" } }, { fetch: async () => status(200) });
  const started = host.time;
  const turns = [0, 1, 2].map(() => patient.fetch(URL_A).then(() => host.time - started));
  await host.pass(3_000);
  assert.deepEqual(await Promise.all(turns), [0, 1_000, 2_000]);
});

test("a long line with more turns than its host has ticks is served a call a tick, in order, and not woken in vain", async () => {
  for (const lateMs of [0, 5]) {
    const { host, engine, guard } = shim();
    let late = 0;
    let wakes = 0;
    const { arm } = host;
    host.arm = (delayMs, wake) => arm(delayMs + ((late += 7) % (lateMs + 1)), wake);
    const wake = engine.wake.bind(engine);
    engine.wake = (handle) => (wakes++, wake(handle));
    const limited = guard({ rateLimiter: { rate: 10_000, burst: 1, wait: "1m", queue: 10_000 } }, { fetch: async () => status(200) });
    const served: number[] = [];
    const calls = Array.from({ length: 300 }, (_, number) => limited.fetch(URL_A).then(() => served.push(number)));
    await host.pass(300 - 1);
    if (lateMs === 0) assert.equal(served.length, 300, "one at once, and one in each millisecond");
    await host.pass(700);
    await Promise.all(calls);
    assert.deepEqual(served, [...served].sort((a, b) => a - b), "first in, first out");
    assert.ok(wakes <= (lateMs === 0 ? 3 : 5) * calls.length, `${wakes} wakes`);
  }
});
