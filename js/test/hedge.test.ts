// Several attempts at once: the driver must be able to race them, whatever policy asks for it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf, TimeoutError, type Config } from "../src/index.js";
import { quiet, reasonOf } from "./support/host.js";
import { shim, trap } from "./support/shim.js";
import { countingSignal, hang, status, Upstream, watched } from "./support/upstream.js";

const URL_A = "https://a.example/";
const hedge = (more: Config = {}): Config => ({ hedge: { attempts: 2, after: 100 }, timeout: { attempt: "1s" }, ...more });

test("the first success wins; the loser is aborted, and the winner's signal stays alive", async () => {
  const { host, guard } = shim();
  const won = status(200);
  const upstream = new Upstream((signal) => hang(signal), async () => won);
  const pending = guard(hedge(), { fetch: upstream.fetch }).fetch(URL_A);
  await host.pass(500);
  assert.equal(await pending, won);
  const [loser, winner] = upstream.sent;
  assert.equal(loser?.signal?.aborted, true);
  assert.equal((loser?.signal?.reason as Error | undefined)?.name, "AbortError");
  assert.equal(winner?.signal?.aborted, false);
  assert.equal(host.timers.length, 0);
  assert.equal(reportOf(won)?.attempts, 2);
});

test("a loser that answers all the same is cancelled", async () => {
  const { host, guard } = shim();
  const late = watched(200);
  const upstream = new Upstream(() => new Promise((resolve) => host.arm(400, () => resolve(late.response))), status(200));
  const pending = guard(hedge(), { fetch: upstream.fetch }).fetch(URL_A);
  await host.pass(1_000);
  assert.notEqual(await pending, late.response);
  assert.equal(late.cancelled(), true);
});

test("leaving aborts all attempts at once, and leaves no listener and no timer", async () => {
  const { host, guard } = shim();
  const { controller, signal, listeners } = countingSignal();
  const upstream = new Upstream("hang");
  const pending = guard(hedge(), { fetch: upstream.fetch }).fetch(URL_A, { signal });
  await host.pass(200);
  assert.equal(upstream.sent.length, 2);
  controller.abort("gone");
  assert.equal(await reasonOf(pending), "gone");
  assert.ok(upstream.sent.every(({ signal }) => signal?.reason === "gone"));
  assert.equal(listeners(), 0);
  assert.equal(host.timers.length, 0);
});

test("a request that may not be sent twice at once is not hedged: an Idempotency-Key allows retries only", async () => {
  for (const [init, options, expected] of [
    [{ method: "POST", body: "x", headers: { "idempotency-key": "k" } }, {}, 1],
    [{ method: "POST", body: "x" }, { idempotent: true }, 2],
    [{ method: "PUT", body: "x" }, {}, 2],
  ] as const) {
    const { host, guard } = shim();
    const upstream = new Upstream("hang");
    const pending = guard(hedge(), { fetch: upstream.fetch }).fetch(URL_A, init, options);
    await host.pass(200);
    assert.equal(upstream.sent.length, expected);
    await Promise.all([reasonOf(pending), host.pass(5_000)]);
  }
});

test("after a trap, when one of two attempts has failed, the timer still ends the other", async () => {
  const { host, engine, guard } = shim();
  let fail!: (error: Error) => void;
  const upstream = new Upstream(() => new Promise((_, reject) => (fail = reject)), "hang");
  const pending = guard(hedge(), { fetch: upstream.fetch }).fetch(URL_A);
  await host.pass(200);
  trap(engine);
  fail(new Error("lost"));
  await quiet();
  await Promise.all([reasonOf(pending), host.pass(5_000)]);
  assert.ok((await reasonOf(pending)) instanceof TimeoutError);
  assert.equal(upstream.sent[1]?.signal?.aborted, true);
});

test("after a trap the first of two attempts to succeed is the answer, and the other is given up", async () => {
  const { host, engine, guard } = shim();
  const won = status(200);
  const upstream = new Upstream("hang", () => new Promise((resolve) => host.arm(200, () => resolve(won))));
  const pending = guard(hedge(), { fetch: upstream.fetch }).fetch(URL_A);
  await host.pass(150);
  trap(engine);
  await host.pass(500);
  assert.equal(await pending, won);
  assert.equal(upstream.sent[0]?.signal?.aborted, true);
  assert.equal(host.timers.length, 0);
});

test("a first attempt that timed out while another still ran is what the caller hears of, as what it was", async () => {
  const { host, guard } = shim();
  const failed = watched(500);
  const upstream = new Upstream("hang", () => new Promise((resolve) => host.arm(500, () => resolve(failed.response))));
  const pending = guard(hedge({ hedge: { attempts: 2, after: 900 } }), { fetch: upstream.fetch }).fetch(URL_A);
  await Promise.all([reasonOf(pending), host.pass(5_000)]);
  const error = await reasonOf(pending);
  assert.ok(error instanceof TimeoutError);
  assert.deepEqual([error.policy, error.attempt], ["attemptTimeout", 1]);
  assert.equal(reportOf(error)?.attempts, 2);
  assert.equal(upstream.sent.length, 2);
  assert.equal(failed.cancelled(), true);
});

test("the events of a race say who started, who failed and who won, each after how long", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream(() => new Promise((resolve) => host.arm(150, () => resolve(status(503)))), (signal) => hang(signal), status(200));
  const stack = guard({ hedge: { attempts: 3, after: 100 }, retry: { attempts: 1, budget: false } }, { fetch: upstream.fetch });
  const heard: unknown[] = [];
  stack.on("hedge", ({ step, attempt, latencyMs, policy }) => heard.push([step, attempt, latencyMs, policy]));
  const pending = stack.fetch(URL_A);
  await host.pass(300);
  assert.equal((await pending).status, 200);
  await quiet();
  assert.deepEqual(heard, [
    ["started", 2, undefined, "hedge"],
    ["attempt-failed", 1, 150, "hedge"],
    ["started", 3, undefined, "hedge"],
    ["won", 3, 0, "hedge"],
  ]);
});

test("at a measured pace a hedge starts when nineteen of twenty calls have answered", async () => {
  const { host, guard } = shim();
  const slow = (ms: number) => () => new Promise<Response>((resolve) => host.arm(ms, () => resolve(status(200))));
  const calls = Array.from({ length: 20 }, (_, call) => slow(10 + call));
  const upstream = new Upstream(...calls, slow(400), status(200));
  const stack = guard({ hedge: { after: "10s", quantile: 0.95 } }, { fetch: upstream.fetch });
  for (let call = 0; call < 20; call++) {
    const pending = stack.fetch(URL_A);
    await host.pass(50);
    await pending;
  }
  const pending = stack.fetch(URL_A);
  await host.pass(28);
  assert.equal(upstream.sent.length, 21);
  await host.pass(1);
  assert.equal(upstream.sent.length, 22);
  assert.equal(reportOf(await pending)?.attempts, 2);
});
