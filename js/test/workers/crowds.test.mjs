// A thousand calls at once, of many requests, through one guard: what is promised is measured at the upstream.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { Meter } from "../support/meter.mjs";
import { test } from "../support/test.mjs";
import { ok, startUpstream } from "../support/upstream.mjs";
import { displacement, story } from "./support/story.mjs";
import { startWorker } from "./support/workerd.mjs";

const RUNTIMES = {
  "where hints are handed over": { hinted: true },
  "where hints are not handed over": { flags: ["no_handle_cross_request_promise_resolution"] },
};
const REQUESTS = 40;
const CALLS_A_REQUEST = 25;
const SLOTS = 10;

for (const runtime of Object.values(RUNTIMES)) {
  before(async () => (runtime.worker = await startWorker(new URL("waiting.worker.mjs", import.meta.url), { flags: runtime.flags })));
  after(() => runtime.worker?.stop());
}

for (const [where, runtime] of Object.entries(RUNTIMES)) {
  test(`a thousand calls through ten slots, every seventh of them given up in line, ${where}`, async (t) => {
    const meter = new Meter();
    const { url } = await startUpstream(t, meter.takes(20));
    const guard = { name: "slots", timeout: { total: "60s" }, bulkhead: { concurrency: SLOTS, queue: 1_000, queueTimeout: false } };
    const since = performance.now();
    const answers = await crowd(runtime.worker, "slots", { guard, url });
    const tookMs = performance.now() - since;
    const { came, starts, inFlight } = await story(runtime.worker.ask, "slots");
    const served = answers.filter(({ status }) => status === 200).length;
    assert.equal(served + answers.filter(({ error }) => error === "AbortError").length, 1_000, "all have ended");
    assert.equal(starts.length, served, "nobody who gave up was sent");
    assert.ok(served >= 857 && served < 1_000, `${served}`);
    assert.equal(meter.most, SLOTS);
    assert.equal(inFlight, 0);
    const share = meter.busyMs / SLOTS / tookMs;
    const order = displacement(came, starts);
    t.diagnostic(`slots busy for ${(share * 100).toFixed()} % of ${tookMs.toFixed()} ms, displaced by ${order.mean.toFixed(1)} on average, ${order.most} at most`);
    assert.ok(share > (runtime.hinted ? 0.25 : 0.1), `${share}`);
    assert.ok(order.mean < (runtime.hinted ? 30 : 150), `displaced by ${order.mean}`); // at random it would be 290
  });

  test(`a thousand calls at five hundred a second, every seventh of them given up in line, ${where}`, async (t) => {
    const { url } = await startUpstream(t, ok);
    const guard = { name: "turns", rateLimiter: { rate: 500, interval: "1s", burst: 10, wait: "1m", queue: 1_000 } };
    const since = performance.now();
    const answers = await crowd(runtime.worker, "turns", { guard, url });
    const tookMs = performance.now() - since;
    const { came, starts, inFlight } = await story(runtime.worker.ask, "turns");
    const served = answers.filter(({ status }) => status === 200).length;
    assert.equal(served + answers.filter(({ error }) => error === "AbortError").length, 1_000, "all have ended");
    assert.equal(starts.length, served);
    assert.equal(inFlight, 0);
    for (let first = 0; first < served; first += 7) {
      for (let last = first; last < served; last += 7) {
        const most = 10 + 0.5 * (starts[last].at - starts[first].at);
        assert.ok(last - first + 1 <= most, `${last - first + 1} within ${starts[last].at - starts[first].at} ms`);
      }
    }
    const share = (served - 10) / 0.5 / tookMs;
    const order = displacement(came, starts);
    t.diagnostic(`${(share * 100).toFixed()} % of the rate in ${tookMs.toFixed()} ms, displaced by ${order.mean.toFixed(1)} on average, ${order.most} at most`);
    assert.ok(share > 0.25, `${share}`);
    assert.ok(order.mean < 50, `displaced by ${order.mean}`);
  });
}

/** Every seventh gives up some time, unless it has been sent by then. */
async function crowd({ ask }, name, order) {
  const requests = Array.from({ length: REQUESTS }, (_, request) => {
    const ids = Array.from({ length: CALLS_A_REQUEST }, (_, call) => `${name}-${request}-${call}`);
    const leaveAfterMs = Object.fromEntries(ids.map((id, call) => [id, (request * CALLS_A_REQUEST + call) * 7 % 1_500]).filter((_, call) => (request + call) % 7 === 0));
    return ask("/calls", { ...order, ids, leaveAfterMs });
  });
  return (await Promise.all(requests)).flat();
}
