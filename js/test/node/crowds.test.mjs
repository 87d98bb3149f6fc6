// Crowds in one process: what is promised is measured at the upstream, and afterwards nothing is held.

import assert from "node:assert/strict";
import { engines } from "../workers/support/instances.mjs"; // before forbear, or it sees nothing
import { forbear } from "forbear";
import { Meter } from "../support/meter.mjs";
import { test } from "../support/test.mjs";
import { ok, startUpstream, stallHeaders } from "../support/upstream.mjs";

const COUNT = 1_000;

test("a thousand calls through ten slots, a third of them given up in line: ten at once, in order, nothing held", async (t) => {
  const meter = new Meter();
  const upstream = await startUpstream(t, meter.takes(20));
  const guard = forbear({ name: "slots", timeout: { total: "1m" }, bulkhead: { concurrency: 10, queue: COUNT, queueTimeout: false } });
  const began = performance.now();
  const sent = [];
  const waiting = new Map();
  assert.equal(engines.count, 1);
  const calls = Array.from({ length: COUNT }, (_, number) => {
    const caller = new AbortController();
    waiting.set(number, caller);
    const send = async ({ signal }) => {
      sent.push(number);
      waiting.delete(number);
      return (await fetch(upstream.url, { signal })).text();
    };
    return guard.execute(send, { signal: caller.signal }).catch((error) => error);
  });
  for (let gone = 0; gone < COUNT / 3; gone += 10) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (const [number, caller] of [...waiting].filter(([number]) => number % 3 === 0).slice(-10)) {
      waiting.delete(number);
      caller.abort("left");
    }
  }
  const answers = await Promise.all(calls);
  const tookMs = performance.now() - began;
  assert.equal(answers.filter((answer) => answer === "fine").length, sent.length);
  assert.equal(answers.filter((answer) => answer === "left").length, COUNT - sent.length);
  assert.equal(meter.most, 10);
  assert.deepEqual(sent, [...sent].sort((a, b) => a - b), "first in, first out");
  assert.equal(engines.inFlight(), 0);
  t.diagnostic(`slots busy for ${((meter.busyMs / 10 / tookMs) * 100).toFixed()} % of ${tookMs.toFixed()} ms`);
  assert.ok(meter.busyMs / 10 / tookMs > 0.1);
});

test("a thousand hedged calls, in line, running and hedged, that leave by one signal: all end at once, nothing is held", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  const guard = forbear({ name: "storm", timeout: { total: "1m" }, hedge: { after: 50 }, bulkhead: { concurrency: 60, queue: 2 * COUNT, queueTimeout: false } });
  const caller = new AbortController();
  const calls = Array.from({ length: COUNT }, () => guard.fetch(upstream.url, { signal: caller.signal }).catch((error) => error));
  await upstream.requests(50);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const since = performance.now();
  caller.abort("storm");
  assert.deepEqual([...new Set(await Promise.all(calls))], ["storm"]);
  assert.ok(performance.now() - since < 1_000);
  assert.equal(engines.inFlight(), 0);
  await Promise.all(upstream.seen.map(({ left }) => left));
  assert.ok(upstream.seen.length <= 60);
});

test("storms of signals over waiting, running and repeated calls: every call ends, by its result or its caller", async (t) => {
  let turn = 0;
  const upstream = await startUpstream(t, (response, hit) => void setTimeout(() => (turn++ % 4 === 0 ? response.writeHead(503).end() : ok(response, hit)), (turn * 7) % 20));
  const guard = forbear({
    name: "storms", timeout: { total: "1m", attempt: "5s" }, retry: { budget: false, backoff: { base: 10 } }, hedge: { after: 15 },
    bulkhead: { concurrency: 20, queue: 3 * COUNT, queueTimeout: false }, rateLimiter: { rate: 2_000, burst: 50, wait: "1m", queue: 3 * COUNT },
  });
  const callers = Array.from({ length: 10 }, () => new AbortController());
  const calls = Array.from({ length: COUNT }, async (_, number) => {
    try {
      return (await (await guard.fetch(upstream.url, { signal: callers[number % 10].signal })).text()).length;
    } catch (error) {
      return error;
    }
  });
  for (const caller of callers.slice(0, 6)) {
    await new Promise((resolve) => setTimeout(resolve, 40));
    caller.abort("storm");
  }
  const answers = await Promise.all(calls);
  const left = answers.filter((answer) => answer === "storm" || answer?.name === "AbortError").length;
  assert.ok(left > 0 && left <= 600, `${left}`);
  assert.equal(left + answers.filter((answer) => typeof answer === "number").length, COUNT, String([...new Set(answers)]));
  assert.equal(engines.inFlight(), 0);
});

test("in Node, and by the same entry in Deno and browsers, the hint wakes at once", async () => {
  const guard = forbear({ name: "hints", timeout: { total: "1m" }, bulkhead: { concurrency: 1, queue: 1 } });
  for (let round = 0; round < 10; round++) {
    const slot = withResolvers();
    const holder = guard.execute(() => slot.promise);
    let begun = false;
    const waiter = guard.execute(() => (begun = true));
    await new Promise((resolve) => setTimeout(resolve, 7 * round));
    assert.equal(begun, false);
    slot.resolve();
    await new Promise(setImmediate); // no timer of 50 ms is due ten times in a row
    assert.equal(begun, true);
    await Promise.all([holder, waiter]);
  }
});

/** Promise.withResolvers, which Node 20 has not got. */
function withResolvers() {
  const made = {};
  made.promise = new Promise((resolve) => (made.resolve = resolve));
  return made;
}
