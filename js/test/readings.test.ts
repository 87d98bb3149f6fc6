// What can be read: of a guard by key, of a shared object, at any time, and that reading changes nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FIGURES, POLICIES } from "../src/generated/vocabulary.js";
import type { Config, KeyMetrics } from "../src/index.js";
import { FakeHost, quiet, reasonOf } from "./support/host.js";
import { engineModule, faceOn, shim, trap } from "./support/shim.js";
import { status, Upstream } from "./support/upstream.js";

const A = "https://a.example";
const EVERYTHING: Config = {
  timeout: {}, retry: { attempts: 1 }, throttler: {}, breaker: {}, concurrencyLimiter: {}, bulkhead: { concurrency: 1, queue: 3 }, rateLimiter: { rate: 10 },
};
const of = (keys: readonly KeyMetrics[], name: string | null): KeyMetrics => keys.find(({ key }) => key === name)!;

test("metrics tell what each policy that is on knows of each key", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream(status(200), status(500), "hang");
  const stack = guard({ ...EVERYTHING, retry: { attempts: 1, budget: { kind: "tokenBucket" } } }, { fetch: upstream.fetch });
  await stack.fetch(A);
  await stack.fetch(A);
  void stack.fetch(A).catch(() => {});
  void stack.fetch(A).catch(() => {});
  await quiet();
  const { budget, throttler, breaker, concurrencyLimiter, bulkhead, rateLimiter } = of(stack.metrics().keys, A);
  assert.deepEqual(throttler, { requests: 2, accepts: 1, rejection: 0 });
  assert.deepEqual(breaker, {
    state: "closed", calls: 2, failures: 1, slow: 0, failureRate: 0.5, slowRate: 0, consecutiveFailures: 1, trips: 0, retryAfterMs: undefined,
  });
  assert.deepEqual(concurrencyLimiter, { limit: 20, inFlight: 1, queued: 0, baselineMs: undefined });
  assert.deepEqual(bulkhead, { inFlight: 1, queued: 1 });
  assert.deepEqual(rateLimiter, { available: 7, queued: 0 });
  assert.deepEqual(budget, { firsts: 0, repeats: 0, tokens: 5 });
  assert.deepEqual(JSON.parse(JSON.stringify(bulkhead)), bulkhead);
  host.time += 100;
  assert.equal(of(stack.metrics().keys, A).rateLimiter?.available, 8, "as it is now");
});

test("a policy that is off reads undefined, and the budget that retry brings by itself is read too", async () => {
  const { guard } = shim();
  const none = guard({ name: "none", timeout: {} });
  const retry = guard({ name: "retry", retry: { budget: { ratio: 1 } } });
  const defaults = guard({ name: "defaults", retry: {} });
  const without = guard({ name: "without", retry: { budget: false }, bulkhead: {} });
  for (const stack of [none, retry, defaults, without]) await stack.execute(() => 1);
  const on = ({ metrics }: { metrics: () => { keys: readonly KeyMetrics[] } }): string[] =>
    POLICIES.filter((policy) => policy in FIGURES && metrics().keys[0]![policy as "budget"] !== undefined);
  assert.deepEqual([none, retry, defaults, without].map((stack) => on({ metrics: () => stack.metrics() })), [[], ["budget"], ["budget"], ["bulkhead"]]);
  assert.equal(defaults.metrics().keys[0]?.budget?.firsts, 1);
});

test("the throttler's share, and the limit and baseline that a limiter has found", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream(...Array.from({ length: 20 }, () => status(500)));
  const stack = guard({ throttler: { minRequests: 10 }, concurrencyLimiter: { algorithm: "aimd" } }, { fetch: async (...input) => {
    const response = upstream.fetch(...input);
    await host.pass(0);
    host.time += 150;
    return response;
  } });
  for (let i = 0; i < 20; i++) await stack.fetch(A).catch(() => {});
  const { throttler, concurrencyLimiter } = of(stack.metrics().keys, A);
  assert.ok(throttler!.requests >= 10 && throttler!.accepts === 0);
  assert.ok(Math.abs(throttler!.rejection - 0.9) < 1e-6, "not above maxRejection");
  assert.equal(concurrencyLimiter?.baselineMs, 150);
});

test("reading changes nothing: no state, no order of keys, no metrics", async () => {
  const { guard } = shim();
  const stack = guard(EVERYTHING, { fetch: new Upstream(status(500)).fetch });
  await stack.fetch(A);
  await stack.execute(() => 1, { key: "b" });
  const [before, metrics] = [stack.snapshot(), stack.metrics()];
  for (let i = 0; i < 10; i++) {
    stack.metrics();
    stack.breaker("never called");
    assert.equal(stack.breaker("never called").calls, 0);
  }
  assert.deepEqual(stack.snapshot(), before);
  assert.deepEqual(stack.metrics(), metrics);
});

test("a shared object is read by its key, by any URL of an origin, and as new where it is unknown", async () => {
  const { forbear, bulkhead, throttler, circuitBreaker, concurrencyLimiter, rateLimiter, retryBudget } = faceOn();
  const objects = {
    bulkhead: bulkhead({ concurrency: 3 }), throttler: throttler(), breaker: circuitBreaker(), concurrencyLimiter: concurrencyLimiter({ initial: 7 }),
    rateLimiter: rateLimiter({ rate: 5 }), retry: { budget: retryBudget() },
  };
  const one = forbear({ name: "one", ...objects }, { fetch: new Upstream("hang").fetch });
  const two = forbear({ name: "two", ...objects }, { fetch: new Upstream("hang").fetch });
  void one.fetch(`${A}/x`);
  void two.fetch(`${A}/y`);
  assert.deepEqual(objects.bulkhead.read(A), { inFlight: 2, queued: 0 });
  assert.deepEqual(objects.bulkhead.read(`${A}/z?q`), { inFlight: 2, queued: 0 });
  assert.deepEqual(objects.rateLimiter.read(A), { available: 3, queued: 0 });
  assert.deepEqual(objects.concurrencyLimiter.read(A), { limit: 7, inFlight: 2, queued: 0, baselineMs: undefined });
  assert.deepEqual(objects.retry.budget.read(A), { firsts: 2, repeats: 0, tokens: undefined });
  assert.equal(objects.breaker.read(A).state, "closed");
  for (const key of ["never called", null, undefined, "", "https://"]) {
    assert.deepEqual(objects.bulkhead.read(key), { inFlight: 0, queued: 0 });
    assert.deepEqual(objects.rateLimiter.read(key), { available: 5, queued: 0 });
    assert.deepEqual(objects.throttler.read(key), { requests: 0, accepts: 0, rejection: 0 });
  }
  for (const key of [5, {}, Symbol("k"), []]) assert.throws(() => objects.bulkhead.read(key as never), /^ConfigError: read: /);
});

test("after a trap all that is read is as if nothing had happened, and a shared object is the same one again", async () => {
  const { engine, guard } = shim();
  const stack = guard(EVERYTHING, { fetch: new Upstream("hang").fetch });
  void stack.fetch(A);
  trap(engine);
  assert.deepEqual(stack.metrics().keys, []);
  assert.equal(stack.breaker(A).state, "closed");
  void stack.fetch(A);
  assert.equal(of(stack.metrics().keys, A).bulkhead?.inFlight, 1);
});

test("where the engine can no longer be built, reads say that nothing is known", async () => {
  let broken = false;
  const { engine, guard } = shim(new FakeHost(), () => {
    if (broken) throw new Error("no memory");
    return engineModule();
  });
  const stack = guard(EVERYTHING);
  stack.breaker().forceOpen();
  broken = true;
  trap(engine);
  assert.deepEqual(stack.metrics(), { stack: undefined, keys: [] });
  assert.deepEqual([stack.breaker().state, stack.breaker().failureRate], ["closed", 0]);
});

test("a clock of a host's own that gives no number fails its reads and nothing else", async () => {
  const host = new FakeHost();
  const { engine, guard } = shim(host);
  const stack = guard(EVERYTHING);
  await stack.execute(() => 1);
  const { now } = host;
  host.now = () => 5n as never;
  assert.throws(() => stack.metrics(), TypeError);
  assert.ok((await reasonOf(stack.execute(() => 1))) instanceof TypeError);
  for (const odd of [NaN, Infinity, -Infinity, -1e300, 1e300]) {
    host.now = () => odd;
    assert.equal(stack.metrics().keys[0]?.calls, 1);
  }
  host.now = now;
  assert.equal(engine.epoch, 0);
  assert.equal(await stack.execute(() => "as before"), "as before");
});
