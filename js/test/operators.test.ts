// What may be asked without sending anything: permits of a rate limiter, and what a budget pays for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { ConfigError, RejectedError, type GuardEvent } from "../src/index.js";
import { NamedBudget, NamedObject } from "../src/guards/shared-objects.js";
import { FakeHost, quiet, reasonOf } from "./support/host.js";
import { engineModule, faceOn, shim, trap } from "./support/shim.js";
import { status, Upstream } from "./support/upstream.js";

const A = "https://a.example";
const ROOM = 1_024;

test("a breaker's handle prints what it reads", () => {
  const { guard } = shim();
  const handle = guard({ breaker: {} }).breaker();
  assert.equal(inspect(handle), inspect({ ...handle }));
  assert.match(inspect(handle), /^\{\n {2}state: 'closed',\n {2}calls: 0,/);
});

test("tryAcquire takes all permits it is asked for, or none, and calls find what is left", async () => {
  const { host, guard } = shim();
  const stack = guard({ rateLimiter: { rate: 5 } });
  assert.deepEqual([stack.tryAcquire(3), stack.tryAcquire(3), stack.tryAcquire(2), stack.tryAcquire()], [true, false, true, false]);
  const error = (await reasonOf(stack.execute(() => 1))) as RejectedError;
  assert.deepEqual([error.reason, error.retryAfterMs], ["rate-limited", 200]);
  host.time += 200;
  assert.equal(await stack.execute(() => 1), 1);
  assert.equal(stack.tryAcquire(), false);
  host.time += 1_000;
  assert.equal(stack.tryAcquire(5), true);
});

test("tryAcquire meets the key's own permits, by any URL of its origin", async () => {
  const { guard } = shim();
  const stack = guard({ rateLimiter: { rate: 1 } }, { fetch: new Upstream(status(200)).fetch });
  assert.equal(stack.tryAcquire(1, `${A}/any/path`), true);
  assert.equal(stack.tryAcquire(1, A), false);
  assert.ok((await reasonOf(stack.fetch(A))) instanceof RejectedError);
  assert.equal(stack.tryAcquire(1, "b"), true);
  assert.equal(stack.tryAcquire(), true, "and so has the keyless state");
});

test("while anybody waits for a permit, tryAcquire is false and takes nothing", async () => {
  const { host, guard } = shim();
  const stack = guard({ timeout: { total: "10s" }, rateLimiter: { rate: 2, wait: "5s" } });
  assert.equal(await stack.execute(() => 1), 1);
  assert.equal(stack.tryAcquire(), true);
  const waiting = stack.execute(() => "served");
  await quiet();
  assert.equal(stack.metrics().keys.find(({ key }) => key === null)?.rateLimiter?.queued, 1);
  host.time += 499;
  assert.equal(stack.tryAcquire(0), false, "not even nothing");
  assert.equal(stack.tryAcquire(), false);
  await host.pass(1);
  assert.equal(await waiting, "served");
  assert.equal(stack.tryAcquire(), false, "the waiter had the permit that came");
});

test("more permits than there can ever be are refused for good, and the event says so", async () => {
  const { engine, guard } = shim();
  const stack = guard({ name: "api", rateLimiter: { rate: 5 } });
  const heard: GuardEvent[] = [];
  stack.on("oversized", (event) => heard.push(event));
  for (const permits of [6, 2 ** 31, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, 1e300]) assert.equal(stack.tryAcquire(permits), false);
  await quiet();
  assert.equal(heard.length, 6);
  assert.deepEqual(heard[0], { type: "oversized", at: 1_000, stack: "api", key: null, policy: "rateLimiter", permits: 6 });
  assert.equal(stack.tryAcquire(5), true, "they took nothing");
  assert.equal(engine.epoch, 0);
});

test("what is no number of permits, or no key, is its caller's error", () => {
  const { engine, guard } = shim();
  const stack = guard({ rateLimiter: { rate: 5 } });
  for (const permits of [NaN, -1, 0.5, Infinity, -Infinity, "2", 2n, null, {}, Symbol("two")]) {
    assert.throws(() => stack.tryAcquire(permits as never), (error) => error instanceof ConfigError && error.path === "tryAcquire", String(permits));
  }
  for (const key of [5, {}, [], Symbol("k")]) assert.throws(() => stack.tryAcquire(1, key as never), ConfigError);
  assert.equal(stack.tryAcquire(5), true);
  assert.equal(engine.epoch, 0);
});

test("a stack without a rate limiter says that it has none", () => {
  const { guard } = shim();
  assert.throws(() => guard({ bulkhead: {} }).tryAcquire(), (error) => error instanceof ConfigError && error.path === "rateLimiter" && /no rateLimiter/.test(error.message));
  assert.throws(() => guard({ rateLimiter: false, retry: {} }).tryAcquire(), ConfigError);
});

test("where every key is busy, one more shares its permits with others like it, as its calls do", () => {
  const { guard } = shim();
  const stack = guard({ rateLimiter: { rate: 2 } });
  for (let i = 0; i < ROOM; i++) assert.equal(stack.tryAcquire(1, `busy ${i}`), true);
  assert.deepEqual(["new", "newer", "newest"].map((key) => stack.tryAcquire(1, key)), [true, true, false]);
  assert.equal(stack.tryAcquire(2), true, "and nobody else's");
});

test("without an engine nothing is limited; a fresh one has all its permits", async () => {
  let broken = false;
  const { engine, guard } = shim(new FakeHost(), () => {
    if (broken) throw new Error("no memory");
    return engineModule();
  });
  const stack = guard({ rateLimiter: { rate: 1 } });
  assert.deepEqual([stack.tryAcquire(), stack.tryAcquire()], [true, false]);
  trap(engine);
  assert.deepEqual([stack.tryAcquire(), stack.tryAcquire()], [true, false]);
  broken = true;
  trap(engine);
  assert.deepEqual([stack.tryAcquire(), stack.tryAcquire()], [true, true]);
});

test("a wallet answers at once, for whoever asks, and calls pay from the same one", async () => {
  const { host, forbear, retryBudget } = faceOn();
  const wallet = retryBudget({ kind: "wallet", reserve: 3, window: "60s" });
  const guard = forbear({ retry: { attempts: 3, budget: wallet, backoff: { jitter: "none" } } }, { fetch: new Upstream(status(503)).fetch });
  assert.equal(wallet.read().tokens, 3);
  assert.deepEqual([wallet.try(), wallet.try("job 7")], [true, true]);
  assert.equal(wallet.read().tokens, 1);
  const pending = guard.fetch(A);
  await host.pass(10_000);
  await pending;
  assert.deepEqual(wallet.read(A), { firsts: 1, repeats: 1, tokens: 0 });
  assert.equal(wallet.read("job 7").repeats, 1);
  assert.equal(wallet.try(), false);
  host.time += 60_000;
  assert.equal(wallet.try(), true);
});

test("every kind of budget may be asked, and a wrong key is its caller's error", () => {
  const { retryBudget } = faceOn();
  assert.deepEqual([1, 2, 3, 4].map(() => retryBudget({ kind: "tokenBucket", max: 3 })).map((budget) => budget.try()), [true, true, true, true]);
  const bucket = retryBudget({ kind: "tokenBucket", max: 3 });
  assert.deepEqual([1, 2, 3, 4].map(() => bucket.try("a")), [true, true, true, false]);
  assert.equal(bucket.read("a").tokens, 0);
  assert.equal(bucket.try("b"), true, "each key has tokens of its own");
  assert.equal(retryBudget({ ratio: 0, reserve: 0 }).try(), false);
  assert.equal(retryBudget({ kind: "concurrency", reserve: 1 }).try(), true);
  for (const key of [5, {}, Symbol("k")]) assert.throws(() => bucket.try(key as never), (error) => error instanceof ConfigError && error.path === "try");
});

test("a budget tells its listeners when it is exhausted, by a call of any stack or by whoever asks it", async () => {
  const { host, forbear, retryBudget } = faceOn();
  const budget = retryBudget({ kind: "wallet", reserve: 1 });
  const fetch = new Upstream(status(503)).fetch;
  const one = forbear({ name: "one", retry: { budget } }, { fetch });
  const two = forbear({ name: "two", retry: { budget: { kind: "wallet", reserve: 0 } } }, { fetch });
  const heard: GuardEvent[] = [];
  const stop = budget.on("exhausted", (event) => heard.push(event));
  budget.on("exhausted", () => {
    throw new Error("a listener's own business");
  });
  await Promise.all([one.fetch(A), two.fetch(A), host.pass(60_000)]);
  await quiet();
  assert.deepEqual(heard.map(({ type, stack, key, policy }) => ({ type, stack, key, policy })), [{ type: "exhausted", stack: "one", key: A, policy: "budget" }]);
  assert.equal(budget.try("asker"), false);
  await quiet();
  const [, asked] = heard;
  assert.deepEqual([asked?.stack, asked?.key], [undefined, "asker"]);
  stop();
  assert.equal(budget.try(), false);
  await quiet();
  assert.equal(heard.length, 2);
});

test("a stack hears of its budget too, and of nobody else's asking", async () => {
  const { host, forbear, retryBudget } = faceOn();
  const budget = retryBudget({ kind: "wallet", reserve: 0 });
  const guard = forbear({ name: "one", retry: { budget } }, { fetch: new Upstream(status(503)).fetch });
  const heard: (string | undefined)[] = [];
  guard.on("exhausted", ({ stack }) => heard.push(stack));
  assert.equal(budget.try(), false);
  await Promise.all([guard.fetch(A), host.pass(1_000)]);
  await quiet();
  assert.deepEqual(heard, ["one"]);
});

test("a breaker, a bulkhead and a limiter that are shared tell what they do, in whichever stack", async () => {
  const { forbear, circuitBreaker, bulkhead, rateLimiter } = faceOn();
  const [breaker, slots, permits] = [circuitBreaker({ consecutiveFailures: 1 }), bulkhead({ concurrency: 1 }), rateLimiter({ rate: 2 })];
  const config = { breaker, bulkhead: slots, rateLimiter: permits };
  const one = forbear({ name: "one", ...config });
  const two = forbear({ name: "two", ...config });
  const heard: string[] = [];
  for (const object of [breaker, slots, permits]) object.on("*", ({ type, policy, stack }) => heard.push(`${stack}: ${policy} ${type}`));
  void one.execute(() => new Promise(() => {}));
  await reasonOf(two.execute(() => 1));
  two.breaker().forceOpen();
  await reasonOf(one.execute(() => 1));
  one.breaker().reset();
  assert.equal(one.tryAcquire(3), false);
  await quiet();
  assert.deepEqual(heard, [
    "two: bulkhead rejected", "two: breaker opened", "one: breaker rejected", "one: breaker reset", "one: rateLimiter oversized",
  ]);
  assert.throws(() => breaker.on("open" as never, () => {}), ConfigError);
  assert.throws(() => breaker.on("opened", 5 as never), ConfigError);
});

test("a clock that fails while an operator is at work leaves nobody else's events to that operator", async () => {
  const host = new FakeHost();
  const { guard } = shim(host);
  const stack = guard({ name: "one", rateLimiter: {}, breaker: {} });
  const { now } = host;
  host.now = () => {
    throw new Error("no clock here");
  };
  assert.throws(() => stack.tryAcquire(), /no clock here/);
  assert.throws(() => stack.breaker().forceOpen(), /no clock here/);
  host.now = now;
  assert.equal(stack.tryAcquire(), true);
});

test("after a trap objects are whole again, still heard, and still one for the stacks that share them", async () => {
  const { host, engine, guard } = shim();
  const budget = new NamedBudget(engine, "budget", "retryBudget", { kind: "wallet", reserve: 1 });
  const permits = new NamedObject(engine, "rateLimiter", "rateLimiter", { rate: 1 });
  const unused = new NamedObject(engine, "bulkhead", "bulkhead", {});
  const one = guard({ name: "one", rateLimiter: permits, retry: { budget } }, { fetch: new Upstream(status(503)).fetch });
  const two = guard({ name: "two", rateLimiter: permits });
  const heard: (string | undefined)[] = [];
  budget.on("exhausted", ({ stack }) => heard.push(stack));
  for (let life = 0; life < 3; life++) {
    assert.deepEqual([budget.try(), budget.try()], [true, false]);
    assert.deepEqual([two.tryAcquire(), one.tryAcquire(), permits.read().available], [true, false, 0]);
    await Promise.all([one.fetch(A), host.pass(1_000)]);
    assert.deepEqual(unused.read(A), { inFlight: 0, queued: 0 });
    trap(engine);
    assert.deepEqual([budget.read().tokens, permits.read().available], [1, 1]);
  }
  await quiet();
  assert.deepEqual(heard, [undefined, "one", undefined, "one", undefined, "one"]);
});

test("without an engine a budget pays for nothing and reads as nothing", () => {
  let broken = false;
  const { engine } = shim(new FakeHost(), () => {
    if (broken) throw new Error("no memory");
    return engineModule();
  });
  const budget = new NamedBudget(engine, "budget", "retryBudget", { kind: "wallet" });
  broken = true;
  trap(engine);
  assert.equal(budget.try(), false);
  assert.deepEqual(budget.read(), { firsts: 0, repeats: 0, tokens: 0 });
  broken = false;
  assert.equal(budget.try(), true);
});

test("however many names are asked for, what is busy stays, and nothing grows", async () => {
  const { engine, guard } = shim();
  const budget = new NamedBudget(engine, "budget", "retryBudget", { kind: "wallet", reserve: 3 });
  const stack = guard({ breaker: {}, rateLimiter: { rate: 1 } });
  stack.breaker("broken").forceOpen();
  const granted = Array.from({ length: 5_000 }, (_, i) => budget.try(`name ${i}`)).filter(Boolean).length;
  assert.equal(granted, 3);
  for (let i = 0; i < 5_000; i++) budget.read(`other ${i}`);
  assert.equal(stack.breaker("broken").state, "forced-open");
  assert.ok([...engine.keys.entries()].length <= ROOM);
  assert.equal(engine.epoch, 0);
});
