// A guard around another one that holds the same slots or the same circuit: refused where the two are put together.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, type Config, type Fetch, type Guard, type Options } from "../src/index.js";
import { quiet } from "./support/host.js";
import { faceOn, shim } from "./support/shim.js";
import { status } from "./support/upstream.js";

const A = "https://a.example";
const ok: Fetch = async () => status(200);
const is = (path: string, ...words: RegExp[]) => (error: unknown): boolean =>
  error instanceof ConfigError && error.path === path && words.every((word) => word.test(error.message));

for (const [policy, make] of [["bulkhead", "bulkhead"], ["concurrencyLimiter", "concurrencyLimiter"], ["breaker", "circuitBreaker"]] as const) {
  test(`a ${policy} that is shared with a guard nested in it is refused, and both are named`, () => {
    const made = faceOn();
    const config: Config = { [policy]: made[make]() };
    const inner = made.forbear({ name: "inner", ...config }, { fetch: ok });
    const refused = is("options.fetch", /"inner"/, /"outer"/, new RegExp(policy));
    assert.throws(() => made.forbear({ name: "outer", ...config }, { fetch: inner.fetch }), refused);
    assert.throws(() => made.forbear({ name: "outer", ...config }, { fetch: inner }), refused, "the guard itself");
    assert.throws(() => made.wrapFetch({ name: "outer", ...config }, { fetch: made.wrapFetch({ name: "inner", ...config }) }), refused);
    const outer = made.forbear({ name: "outer", ...config });
    assert.throws(() => outer.with({ fetch: inner.fetch }), is("with.fetch", /"inner"/, /"outer"/));
    assert.throws(() => outer.with({ fetch: inner.with({ fetch: ok }) }), is("with.fetch"));
    assert.throws(() => outer.with({ waitUntil: () => {} }).with({ fetch: inner.with({ waitUntil: () => {} }).fetch }), is("with.fetch"));
  });

  test(`a ${policy} is found through guards that have none`, () => {
    const made = faceOn();
    const config: Config = { [policy]: made[make]() };
    const inner = made.forbear({ name: "inner", ...config }, { fetch: ok });
    const between = made.forbear({ name: "between", retry: {} }, { fetch: inner.fetch });
    const scoped = made.forbear({ name: "scoped", timeout: {} }).with({ fetch: between });
    assert.throws(() => made.forbear({ name: "outer", ...config }, { fetch: scoped.fetch }), is("options.fetch", /"inner"/, /"outer"/));
  });

  test(`a guard with a ${policy} of its own is not nested in itself, nor in one that is the same`, () => {
    const made = faceOn();
    const policies: Config = { [policy]: {} };
    const config = { name: "one", ...policies };
    const guard = made.forbear(config, { fetch: ok });
    assert.throws(() => guard.with({ fetch: guard.fetch }), is("with.fetch", /"one"/));
    assert.throws(() => made.forbear(config, { fetch: guard.fetch }), is("options.fetch"), "equal configurations of one name are one stack");
    made.forbear({ ...config, name: "another" }, { fetch: guard.fetch });
    const nameless = made.forbear(policies, { fetch: ok });
    assert.throws(() => nameless.with({ fetch: nameless.fetch }), is("with.fetch", /a guard without a name/));
    made.forbear(policies, { fetch: nameless.fetch });
  });
}

test("what may be shared with a nested guard is let through: throttlers, rate limiters, and objects of one's own", async () => {
  const { forbear, throttler, rateLimiter, bulkhead } = faceOn();
  const config = { throttler: throttler(), rateLimiter: rateLimiter({ rate: 4 }) };
  const inner = forbear({ name: "inner", ...config, bulkhead: bulkhead() }, { fetch: ok });
  const outer = forbear({ name: "outer", ...config, bulkhead: bulkhead() }, { fetch: inner.fetch });
  assert.equal((await outer.fetch(A)).status, 200);
  assert.equal(config.rateLimiter.read(A).available, 2, "each took its own permit");
});

test("a retry budget that is shared with a guard nested in it is refused: it would count every call twice", () => {
  const { forbear, retryBudget } = faceOn();
  const budget = retryBudget();
  const refused = is("options.fetch", /"inner"/, /"outer"/, /budget/);
  for (const inner of [{ retry: { budget } }, { hedge: {}, retry: { attempts: 1, budget } }]) {
    const within = forbear({ name: "inner", ...inner }, { fetch: ok });
    assert.throws(() => forbear({ name: "outer", retry: { budget } }, { fetch: within }), refused);
    const between = forbear({ name: "between", timeout: {} }, { fetch: within.fetch });
    assert.throws(() => forbear({ name: "outer", retry: { budget } }, { fetch: between }), refused, "further in");
    forbear({ name: "outer", retry: { budget: retryBudget() } }, { fetch: within });
    forbear({ name: "outer", retry: { budget: false } }, { fetch: within });
  }
});

test("a guard that repeats is not nested in itself, whose budget is its own, unless it has none", () => {
  const { forbear } = faceOn();
  for (const config of [{ retry: {} }, { hedge: {} }, { retry: { budget: { ratio: 0.2 } } }]) {
    const guard = forbear(config, { fetch: ok });
    assert.throws(() => guard.with({ fetch: guard.fetch }), is("with.fetch", /budget/));
    forbear({ name: "another", ...config }, { fetch: guard.fetch });
  }
  const free = forbear({ retry: { budget: false } }, { fetch: ok });
  free.with({ fetch: free.fetch });
});

test("guards that stand beside each other share what they like, and who was refused still works", async () => {
  const { forbear, bulkhead, circuitBreaker } = faceOn();
  const config = { bulkhead: bulkhead({ concurrency: 1 }), breaker: circuitBreaker() };
  const one = forbear({ name: "one", ...config }, { fetch: ok });
  const two = forbear({ name: "two", ...config }, { fetch: ok });
  assert.throws(() => one.with({ fetch: two.fetch }), ConfigError);
  assert.equal((await one.fetch(A)).status, 200);
  assert.equal((await two.fetch(A)).status, 200);
  assert.equal((await one.with({ fetch: async () => status(201) }).fetch(A)).status, 201);
});

test("a function around a guard's fetch cannot be seen through: there the page's warning stands", async () => {
  const { host, guard } = shim();
  const slots: Config = { name: "slots", timeout: { total: "1s" }, bulkhead: { concurrency: 1, queue: 1 } };
  const inner = guard(slots, { fetch: ok });
  const outer = guard(slots, { fetch: (input, init) => inner.fetch(input, init) });
  const pending = outer.fetch(A).catch(({ name }: Error) => name);
  await host.pass(1_000);
  assert.ok(["TimeoutError", "RejectedError"].includes((await pending) as string), "it waited for itself until time was up");
});

test("what is no guard has nothing to hide, however odd it is", async () => {
  const { guard } = shim();
  const odd = Object.assign(async () => status(200), { held: [1], stack: {} });
  const proxied = new Proxy(odd, { get: (target, name) => (typeof name === "symbol" ? undefined : Reflect.get(target, name)) });
  const binding = new (class {
    async fetch(): Promise<Response> {
      return status(200);
    }
  })();
  for (const fetch of [odd, proxied, binding] as Options["fetch"][]) {
    const guarded: Guard = guard({ name: String(fetch), bulkhead: {} }, { fetch: fetch! });
    assert.equal((await guarded.fetch(A)).status, 200);
  }
  await quiet();
});
