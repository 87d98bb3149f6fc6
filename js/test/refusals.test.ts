// resilix, "Spec: retry, budgets, throttling and rate limiting (v0.4)", section 10: "All six rejection reasons are
// distinguishable by a caller." There are eight, and a budget's no, which is no refusal: through the public functions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forbear, RejectedError, reportOf } from "../src/entry/inline.js";
import { REFUSAL_REASONS } from "../src/generated/vocabulary.js";
import { FakeHost, reasonOf } from "./support/host.js";
import { provoke, REFUSALS, upstreamFor } from "./support/refusals.js";
import { status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/path";

for (const refusal of REFUSALS) {
  const { reason, policy, retryAfterMs, config, call } = refusal;

  test(`${reason}: the error names the policy, the stack and the key${retryAfterMs === undefined ? "" : ", and when to come again"}`, async () => {
    const host = new FakeHost();
    const upstream = upstreamFor(refusal);
    const guard = forbear({ name: "api", ...config }, { host, fetch: upstream.fetch });
    await provoke(refusal, guard, host, URL_A);
    const before = upstream.sent.length;
    const pending = reasonOf(guard.fetch(URL_A, {}, call));
    await host.pass(100);
    const error = (await pending) as RejectedError;
    assert.ok(error instanceof RejectedError && error instanceof Error);
    const { name, stackName, key, cause } = error;
    assert.deepEqual(
      { name, reason: error.reason, policy: error.policy, stackName, key, retryAfterMs: error.retryAfterMs, cause },
      { name: "RejectedError", reason, policy, stackName: "api", key: "https://a.example", retryAfterMs, cause: undefined },
    );
    assert.ok(error.message.startsWith(`${reason} in api for https://a.example`), error.message);
    assert.equal(upstream.sent.length, before, "nothing was sent");
    assert.equal(guard.metrics().keys[0]?.refusals[reason], 1);
  });

  if (retryAfterMs === undefined) continue;
  test(`${reason}: at retryAfterMs, and not before, the policy does not refuse`, async () => {
    const host = new FakeHost();
    const guard = forbear(config, { host, fetch: upstreamFor(refusal).fetch });
    await provoke(refusal, guard, host, URL_A);
    host.time += retryAfterMs - 1;
    assert.equal(((await reasonOf(guard.fetch(URL_A, {}, call))) as RejectedError).retryAfterMs, 1);
    host.time += 1;
    const sent = guard.metrics().keys[0]?.attempts ?? 0;
    void guard.fetch(URL_A, {}, call).catch(() => {});
    assert.equal(guard.metrics().keys[0]?.attempts, sent + 1);
  });
}

test("an oversized call is told what is too much", async () => {
  const guard = forbear({ name: "api", rateLimiter: { rate: 1 } }, { host: new FakeHost() });
  assert.equal(String(await reasonOf(guard.execute(() => 1, { cost: 2 }))), "RejectedError: oversized in api: its cost is more than the rate limiter's burst");
});

test("these are all the reasons there are", () => {
  assert.deepEqual(REFUSALS.map(({ reason }) => reason).sort(), [...REFUSAL_REASONS].sort());
});

test("a budget's no is no refusal: the caller gets the last response, and the reason beside it", async () => {
  const host = new FakeHost();
  const responses = [status(500), status(500), status(500), status(404)];
  const upstream = new Upstream(...responses);
  const guard = forbear({ retry: { attempts: 2, budget: { ratio: 0, reserve: 1 } } }, { host, fetch: upstream.fetch });
  const stops = [];
  for (const last of [1, 2, 3]) {
    const pending = guard.fetch(URL_A);
    await host.pass(1_000);
    assert.equal(await pending, responses[last]);
    stops.push(reportOf(await pending)?.stopReason);
  }
  assert.deepEqual(stops, ["attempts-exhausted", "budget-exceeded", "not-retryable"]);
});
