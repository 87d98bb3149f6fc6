// Guards are built at a Worker's module scope, where time stands at 1970 and timers, randomness and fetch throw.

import assert from "node:assert/strict";
import { test } from "../support/test.mjs";
import { startUpstream, status, ok } from "../support/upstream.mjs";
import { startWorker } from "./support/workerd.mjs";

test("every policy is built at module scope, without a clock, a timer, randomness or fetch; then requests work", async (t) => {
  const upstream = await startUpstream(t, status(503), ok);
  const worker = await startWorker(new URL("module-scope.worker.mjs", import.meta.url), { vars: { UPSTREAM: upstream.url } });
  t.after(worker.stop);
  const { atModuleScope, answers, events, now, circuit, asked, limited } = await worker.ask("/");

  assert.equal(atModuleScope.now, 0, "this is what a Worker's module scope is like");
  assert.deepEqual(atModuleScope.touched, []);
  assert.deepEqual(atModuleScope.metrics, { stack: "everything", keys: [] });
  assert.deepEqual(atModuleScope.states, ["closed", "closed"]);
  assert.deepEqual(atModuleScope.restored.dropped, []);
  assert.deepEqual(atModuleScope.read, [
    { requests: 0, accepts: 0, rejection: 0 }, { limit: 20, inFlight: 0, queued: 0 }, { inFlight: 0, queued: 0 }, { available: 1, queued: 0 },
  ]);
  assert.deepEqual(atModuleScope.asked, [true, false, true, false]);

  assert.deepEqual(answers.map(({ status, body }) => [status, body]), Array(5).fill([200, "fine"]));
  assert.deepEqual(answers.map(({ report }) => report.attempts), [2, 1, 1, 1, 1]);
  assert.deepEqual(asked, [true, false, true, false], "what was spent in 1970 has come back long since");
  assert.deepEqual([limited.throttler.accepts, limited.bulkhead.inFlight, limited.rateLimiter.available], [1, 0, 0]);
  // Not one of these was counted from 1970 on.
  for (const { report } of answers) assert.ok(report.elapsedMs < 5_000);
  for (const { at } of events) assert.ok(Math.abs(now - at) < 10_000);
  assert.deepEqual([circuit.calls, circuit.failures], [4, 1], "the window that both stacks share has what was counted a moment ago");
});

test("a Worker whose guard can never be is refused when it is deployed, and is told what is wrong", async () => {
  const starting = startWorker(new URL("misconfigured.worker.mjs", import.meta.url));
  await assert.rejects(starting, /retry\.attempts: 99 is not allowed; expected a whole number from 1 to 15/);
});
