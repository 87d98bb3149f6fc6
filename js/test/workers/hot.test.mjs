// An isolate whose code is optimised. workerd hands a settled promise over to the request that made it, and knows which that
// is by a mark on the promise; optimised code forgets the mark of `new Promise`. Here V8 optimises early, so that a short run
// shows it. `npm run hot` is the long run, on V8 as it is deployed.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { test } from "../support/test.mjs";
import { stallHeaders, startUpstream } from "../support/upstream.mjs";
import { until } from "./support/clients.mjs";
import { EAGER, EAGER_AT_ONCE, runHot } from "./support/hot.mjs";
import { whoGoesOn } from "./support/promises.mjs";
import { startWorker } from "./support/workerd.mjs";

let worker;
before(async () => (worker = await startWorker(new URL("hot.worker.mjs", import.meta.url), { objects: { OBJECTS: "Caller" }, v8Flags: EAGER_AT_ONCE })));
after(() => worker?.stop());

test("workerd does not know whose a promise is that optimised code made by new Promise; whose one of Promise.withResolvers is it does", async () => {
  const statuses = await whoGoesOn({ times: 1_000, v8Flags: EAGER_AT_ONCE });
  assert.deepEqual(statuses.withResolvers, Array(10).fill(200));
  assert.notDeepEqual(statuses.executor, Array(10).fill(200), "workerd knows it now: the fault is gone, and `deferred` of workersHost may be as elsewhere");
});

for (const [where, objects] of Object.entries({ "a Worker": 0, "Durable Objects": 4 })) {
  test(`three thousand requests through the lines of two guards in ${where}: none goes on in another's context, every slot comes back, first in, first out`, async (t) => {
    const { wrong, ...seen } = await runHot({ seed: 1, requests: 3_000, objects, v8Flags: EAGER });
    t.diagnostic(JSON.stringify(seen));
    assert.deepEqual(wrong, []);
  });
}

test("a signal that many requests share ends each call in its own request", async (t) => {
  const { url } = await startUpstream(t, stallHeaders);
  for (let round = 0; round < 40; round++) {
    const calls = Array.from({ length: 5 }, () => worker.ask(`/join?${new URLSearchParams({ upstream: url })}`));
    await until(async () => (await worker.ask("/joined")) === 5);
    await worker.ask("/leave");
    assert.deepEqual(await Promise.all(calls), Array(5).fill({ reason: "enough", then: 200 }), `round ${round}`);
  }
});
