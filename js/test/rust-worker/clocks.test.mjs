// A Rust Worker's calls while the clock is set, and after the engine has forgotten them: their limits hold all the same.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { test } from "../support/test.mjs";
import { ok, stallHeaders, startUpstream, status } from "../support/upstream.mjs";
import { until } from "../workers/support/clients.mjs";
import { startWorker } from "../workers/support/workerd.mjs";

let worker;
before(async () => {
  worker = await startWorker(new URL("clocks.worker.mjs", import.meta.url), { objects: { OBJECT: "Failing" } });
});
after(() => worker?.stop());

const setClock = (byMs) => worker.ask("/clock", { byMs });
const ONCE = { attempts: 1 };

/** Asks, and tells how long that really took. */
async function timed(order) {
  const began = performance.now();
  return { ...(await worker.ask("/", order)), realMs: performance.now() - began };
}

test("a call that was sent ends by its limits though the engine has forgotten it", async (t) => {
  const upstream = await startUpstream(t, stallHeaders, ok);
  const guard = { name: "forgotten in flight", timeout: { attempt: "1s", total: "3s" }, retry: ONCE, bulkhead: { concurrency: 1 } };
  const call = timed({ url: upstream.url, guard });
  await until(() => upstream.seen.length === 1);
  // Its lease has ended, and whoever would be refused finds that out.
  await setClock(60_000);
  assert.equal((await timed({ url: upstream.url, guard })).body, "fine");
  const { error, report, realMs } = await call;
  assert.deepEqual([error.name, report.stopReason], ["TimeoutError", "unguarded"]);
  assert.ok(realMs < 2_000, `${realMs} ms`);
  await upstream.seen[0].left;
});

test("a call that waited for its repeat sends nothing once its time is up, though the engine has forgotten it", async (t) => {
  const upstream = await startUpstream(t, status(500), stallHeaders, ok);
  const backoff = { base: "2s", cap: "2s", jitter: "none" };
  const guard = { name: "forgotten between two", timeout: { attempt: false, total: "3s" }, retry: { attempts: 2, budget: false, backoff }, bulkhead: { concurrency: 1 } };
  const call = (path) => timed({ url: `${upstream.url}${path}`, guard });
  const waiting = call("waiting");
  await until(() => upstream.seen.length === 1);
  await setClock(60_000);
  const stalled = call("stalled");
  await until(() => upstream.seen.length === 2);
  assert.equal((await call("refused")).error.reason, "bulkhead-full"); // which ends its lease
  await setClock(700_000);
  assert.equal((await call("other")).body, "fine"); // and now it is forgotten
  const { error, report } = await waiting;
  assert.deepEqual([error.name, error.policy, report.attempts], ["TimeoutError", "deadline", 1]);
  assert.deepEqual(upstream.seen.map(({ url }) => url), ["/waiting", "/stalled", "/other"]);
  assert.equal((await stalled).error.name, "TimeoutError");
});

for (const back of [-700, -30_000, -61_000, -90_000]) {
  test(`a clock that is set back by ${-back / 1_000} s makes no wait longer by more than a second`, async (t) => {
    const stalled = await startUpstream(t, stallHeaders);
    const failing = await startUpstream(t, status(500), ok);
    const backoff = { base: "1s", cap: "1s", jitter: "none" };
    const calls = [
      timed({ url: stalled.url, guard: { name: `deadline ${back}`, timeout: { total: "1s" }, retry: false } }),
      timed({ url: stalled.url, guard: { name: `attempt ${back}`, timeout: { attempt: "1s" }, retry: ONCE } }),
      timed({ url: failing.url, guard: { name: `backoff ${back}`, retry: { attempts: 2, budget: false, backoff } } }),
    ];
    await until(() => stalled.seen.length === 2 && failing.seen.length === 1);
    await setClock(back);
    const answers = await Promise.all(calls);
    assert.deepEqual(answers.map(({ error, body }) => error?.name ?? body), ["TimeoutError", "TimeoutError", "fine"]);
    for (const { realMs } of answers) assert.ok(realMs >= 950 && realMs < 2_500, `${realMs} ms`);
  });
}
