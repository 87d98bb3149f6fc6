// Guards around a bound Worker, and guards in guards.

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { test } from "../support/test.mjs";
import { ok, reset, stallHeaders, startUpstream, status } from "../support/upstream.mjs";
import { startWorker } from "./support/workerd.mjs";

let worker;
before(async () => {
  worker = await startWorker(new URL("bindings.worker.mjs", import.meta.url), { services: { BOUND: new URL("bound.worker.mjs", import.meta.url) } });
});
after(() => worker?.stop());

const ask = (order) => worker.ask("/", order);

describe("a bound Worker, given by with({ fetch })", () => {
  for (const how of ["binding", "function", "unboundWaitUntil"]) {
    test(`that is busy is asked again (${how})`, async () => {
      const { answers: [answer], seen } = await ask({ guard: "bound", fault: "busy", how });
      assert.deepEqual([answer.status, answer.body, answer.report.attempts, seen], [200, "fine", 3, 3]);
    });
  }

  test("that is slow is waited for, and one that stalls is cut and asked again", async () => {
    const slow = await ask({ guard: "bound", fault: "slow", how: "binding" });
    assert.deepEqual([slow.answers[0].body, slow.seen], ["fine", 1]);
    const stalled = await ask({ guard: "bound", fault: "stalled", how: "binding" });
    assert.deepEqual([stalled.answers[0].body, stalled.answers[0].report.attempts, stalled.seen], ["fine", 2, 2]);
  });

  test("that throws is a failure on the way, handed over as it came", async () => {
    for (const guard of ["bound", "plain"]) {
      const { answers: [answer], seen } = await ask({ guard, fault: "broken", how: "binding" });
      assert.equal(answer.error.message, "a bug of the upstream");
      assert.deepEqual([answer.report.stopReason, seen], ["attempts-exhausted", 3]);
    }
  });

  test("whose answers are discarded has their bodies cancelled", async () => {
    const { answers: [answer], seen } = await ask({ guard: "plain", fault: "endless", how: "binding" });
    assert.deepEqual([answer.body, seen], ["fine", 3]);
    assert.doesNotMatch(worker.log(), /did not read the body|multiple branches/);
  });
});

describe("a guard in a guard", () => {
  test("does not repeat what the inner one refused, and does not take it for the upstream's failure", async (t) => {
    const upstream = await startUpstream(t, reset);
    const { answers, states } = await ask({ guard: "outer", url: upstream.url, times: 3 });
    assert.equal(upstream.seen.length, 2, "then the inner circuit is open, and nobody is asked again");
    for (const { error } of answers) assert.deepEqual([error.name, error.reason], ["RejectedError", "circuit-open"]);
    assert.equal(states.inner.state, "open");
    assert.deepEqual(states.outer, { state: "closed", calls: 0, failures: 0 });
  });

  test("hands the winner through both, with its body", async (t) => {
    const upstream = await startUpstream(t, status(503), ok);
    const { answers: [answer], states } = await ask({ guard: "outer", url: upstream.url });
    assert.deepEqual([answer.status, answer.body], [200, "fine"]);
    assert.deepEqual([states.inner.calls, states.outer.calls], [2, 1]);
  });

  test("learns of a stalled upstream by the outer one's timeouts: they are failures inside, and open the inner circuit", async (t) => {
    const upstream = await startUpstream(t, stallHeaders);
    const { answers, states } = await ask({ guard: "impatient", url: upstream.url, times: 3 });
    assert.deepEqual(answers.map(({ error }) => error.name), ["TimeoutError", "TimeoutError", "RejectedError"]);
    assert.equal(upstream.seen.length, 2, "and nothing was repeated for a caller that has gone");
    assert.equal(states.innerOfImpatient.state, "open");
    await Promise.all(upstream.seen.map(({ left }) => left));
  });
});
