// Clocks of a Worker: every request's own stands still while code runs, lags those of others, or is plainly wrong.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { Meter } from "../support/meter.mjs";
import { test } from "../support/test.mjs";
import { ok, slow, stallHeaders, startUpstream, status } from "../support/upstream.mjs";
import { startWorker } from "./support/workerd.mjs";

let worker;
before(async () => {
  worker = await startWorker(new URL("clocks.worker.mjs", import.meta.url), { flags: ["nodejs_als"] });
});
after(() => worker?.stop());

const ask = (order) => worker.ask("/", order);
const aheads = (count) => Array.from({ length: count }, (_, i) => ((i * 37) % 11) * 10 - 50);

test("interleaved requests whose clocks disagree all end, each within its own limits, and repeat when it is time", async (t) => {
  const upstream = await startUpstream(t, ...Array(30).fill(slow(60, status(503))), slow(30));
  const answers = await Promise.all(aheads(30).map((aheadMs) => ask({ guard: "patient", url: upstream.url, clock: { aheadMs } })));
  for (const { calls: [call], tookMs } of answers) {
    assert.equal(call.status, 200);
    assert.equal(call.report.attempts, 2);
    assert.ok(call.report.elapsedMs >= 0 && call.report.elapsedMs < 4_000, `${call.report.elapsedMs} ms`);
    assert.ok(tookMs >= 135, `the backoff was waited for: ${tookMs} ms`);
  }
});

test("timeouts of interleaved requests whose clocks disagree fire, no earlier than they should", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  const answers = await Promise.all([-50, 0, 50, 20, -20].map((aheadMs) => ask({ guard: "patient", url: upstream.url, clock: { aheadMs } })));
  for (const { calls: [call], tookMs, armed } of answers) {
    assert.equal(call.error, "TimeoutError");
    assert.equal(call.report.attempts, 3);
    assert.ok(tookMs >= 3 * 400 - 150 && tookMs < 4_000, `${tookMs} ms`);
    assert.ok(armed < 40, `waited by timers, not by polling the clock: ${armed} were set`);
  }
});

test("requests whose clocks disagree stand in one line: never more at once than there are slots, and all are served", async (t) => {
  const meter = new Meter();
  const upstream = await startUpstream(t, meter.takes(30));
  const answers = await Promise.all(aheads(20).map((aheadMs) => ask({ guard: "lined", url: upstream.url, clock: { aheadMs } })));
  assert.ok(answers.every(({ calls: [call] }) => call.status === 200));
  assert.equal(meter.most, 2);
});

test("requests whose clocks disagree wait for their turns: none is earlier than clocks disagree, and all are served", async (t) => {
  const upstream = await startUpstream(t, ok);
  const began = Date.now();
  const answers = await Promise.all(aheads(20).map((aheadMs) => ask({ guard: "turned", url: upstream.url, clock: { aheadMs } })));
  assert.ok(answers.every(({ calls: [call] }) => call.status === 200));
  upstream.seen.forEach(({ at }, turn) => assert.ok(at - began >= turn * 50 - 110, `${turn} after ${at - began} ms`));
  assert.ok(upstream.seen.at(-1).at - began < 6_000);
});

test("a request whose clock is an hour ahead delays the others by a second or two, and no more", async (t) => {
  const upstream = await startUpstream(t, ok);
  await ask({ guard: "patient", url: upstream.url, clock: { aheadMs: 3_600_000 } });
  upstream.behave(status(503), ok);
  const { calls: [call], tookMs } = await ask({ guard: "patient", url: upstream.url, clock: {} });
  assert.equal(call.status, 200);
  assert.equal(call.report.attempts, 2);
  assert.ok(tookMs < 4_000, `${tookMs} ms`);
});

test("a hundred calls at one instant: latencies are zero, the circuit opens at the fifth failure, and its refusals say when it ends", async (t) => {
  const upstream = await startUpstream(t, status(500));
  const stopped = { stopped: true };
  const { calls: failed } = await ask({ guard: "tripping", url: upstream.url, clock: stopped, count: 100 });
  assert.ok(failed.every((call) => call.status === 500), "all were sent before the first failed");
  const { calls: refused } = await ask({ guard: "tripping", url: upstream.url, clock: stopped, count: 100 });
  for (const { error, reason, retryAfterMs } of refused) {
    assert.deepEqual([error, reason], ["RejectedError", "circuit-open"]);
    assert.ok(retryAfterMs > 0 && retryAfterMs <= 500);
  }
  assert.equal(upstream.seen.length, 100);
});

test("a hundred failing calls at one instant get what the budget has, and none more", async (t) => {
  const upstream = await startUpstream(t, status(500));
  const { calls } = await ask({ guard: "thrifty", url: upstream.url, clock: {}, count: 100 });
  assert.ok(calls.every((call) => call.status === 500));
  assert.ok(upstream.seen.length > 100 && upstream.seen.length <= 112, `${upstream.seen.length} attempts`);
  assert.ok(calls.some(({ report }) => report.stopReason === "budget-exceeded"));
});
