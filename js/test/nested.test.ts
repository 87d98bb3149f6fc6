// A guarded fetch is a fetch: stacks around stacks, and what a guard takes from the request it works in.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RejectedError, reportOf, TimeoutError, type Config } from "../src/index.js";
import type { StackGuard } from "../src/guards/guard.js";
import { quiet, reasonOf } from "./support/host.js";
import { provoke, REFUSALS, upstreamFor } from "./support/refusals.js";
import { shim } from "./support/shim.js";
import { hang, status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";
const EVERYTHING: Config = { timeout: {}, retry: {}, hedge: {}, throttler: {}, breaker: {}, concurrencyLimiter: {}, bulkhead: {}, rateLimiter: {} };
type Fetch = typeof globalThis.fetch;

/** So many stacks around a fetch, each around the next; the outermost first. */
function surround(fetch: Fetch, guard: ReturnType<typeof shim>["guard"], configs: readonly Config[]): StackGuard[] {
  const stacks: StackGuard[] = [];
  // Each has a name of its own: without one, stacks of equal configuration are one.
  const named = configs.map((config, place) => ({ name: `stack ${place}`, ...config }));
  for (const config of named.reverse()) stacks.unshift(guard(config, { fetch: stacks[0]?.fetch ?? fetch }));
  return stacks;
}

/** The verdicts that a stack has read. */
function verdictsOf(stack: StackGuard): Record<string, number> {
  return Object.fromEntries(Object.entries(stack.metrics().keys[0]!.verdicts).filter(([, count]) => count > 0));
}

test("errors stay flat: an inner refusal passes through unwrapped, is not repeated and is no evidence", async () => {
  const { guard } = shim();
  const upstream = new Upstream(status(200));
  const inner = guard({ name: "inner", breaker: {} }, { fetch: upstream.fetch });
  const outer = guard({ name: "outer", retry: {}, breaker: {}, timeout: {} }, { fetch: inner.fetch });
  inner.breaker(URL_A).forceOpen();
  const error = (await reasonOf(outer.fetch(URL_A))) as RejectedError;
  assert.ok(error instanceof RejectedError);
  assert.equal(error.stackName, "inner");
  assert.equal(error.cause, undefined);
  assert.deepEqual([reportOf(error)?.stack, reportOf(error)?.stopReason, reportOf(error)?.attempts], ["outer", "refused", 1]);
  assert.equal(outer.breaker(URL_A).calls, 0);
  assert.equal(upstream.sent.length, 0);
});

for (const refusal of REFUSALS) {
  test(`${refusal.reason}: the same error reaches the caller through however many stacks, each of which reads it as rejected`, async () => {
    for (const depth of [1, 2, 3]) {
      const { host, guard } = shim();
      const upstream = upstreamFor(refusal);
      const refuser = guard({ name: "refuser", ...refusal.config }, { fetch: upstream.fetch });
      await provoke(refusal, refuser, host, URL_A);
      const thrown: unknown[] = [];
      const refused: Fetch = (input, init) => refuser.fetch(input, init, refusal.call).catch((error: unknown) => {
        thrown.push(error);
        throw error;
      });
      const around = surround(refused, guard, Array.from({ length: depth }, () => EVERYTHING));
      const sent = upstream.sent.length;
      const pending = reasonOf(around[0]!.fetch(URL_A));
      await host.pass(100);
      const error = (await pending) as RejectedError;
      assert.deepEqual(thrown, [error]);
      assert.equal(thrown[0], error, "and not another one that is like it");
      assert.deepEqual([error.reason, error.policy, error.stackName], [refusal.reason, refusal.policy, "refuser"]);
      const { attempts, stopReason, stack } = reportOf(error)!;
      assert.deepEqual([stack, stopReason, attempts], ["stack 0", "refused", 1]);
      for (const stack of around) {
        assert.deepEqual(verdictsOf(stack), { rejected: 1 });
        assert.equal(stack.breaker(URL_A).calls, 0);
      }
      assert.equal(upstream.sent.length, sent, "nothing was sent");
    }
  });
}

test("an outer stack's time limit is a timeout in every stack inside, and the caller gets the outer one's error", async () => {
  for (const timeout of [{ total: 100, attempt: false }, { attempt: 100 }] as const) {
    const { host, guard } = shim();
    const upstream = new Upstream("hang");
    const stacks = surround(upstream.fetch, guard, [{ name: "outer", timeout }, { breaker: {} }, { breaker: {}, retry: {} }]);
    const pending = reasonOf(stacks[0]!.fetch(URL_A));
    await host.pass(10_000);
    const error = (await pending) as TimeoutError;
    assert.ok(error instanceof TimeoutError);
    assert.deepEqual([error.stackName, error.elapsedMs], ["outer", 100]);
    assert.deepEqual(stacks.map(verdictsOf), [{ timeout: 1 }, { timeout: 1 }, { timeout: 1 }]);
    assert.deepEqual(stacks.slice(1).map((stack) => stack.breaker(URL_A).failures), [1, 1]);
    assert.equal(upstream.sent.length, 1, "nobody repeats for a caller that has gone");
  }
});

test("any other abort is cancelled in every stack, and no evidence", async () => {
  const reasons = [undefined, "gone", new Error("gone"), new DOMException("mine", "AbortError"), new DOMException("the caller's own", "TimeoutError")];
  for (const reason of reasons) {
    const { host, guard } = shim();
    const upstream = new Upstream("hang");
    const stacks = surround(upstream.fetch, guard, [{ breaker: {}, timeout: {} }, { breaker: {} }, { breaker: {}, retry: {} }]);
    const controller = new AbortController();
    const pending = reasonOf(stacks[0]!.fetch(URL_A, { signal: controller.signal }));
    await quiet();
    controller.abort(reason);
    assert.equal(await pending, controller.signal.reason);
    await host.pass(0);
    assert.deepEqual(stacks.map(verdictsOf), [{ cancelled: 1 }, { cancelled: 1 }, { cancelled: 1 }], String(reason));
    assert.deepEqual(stacks.map((stack) => stack.breaker(URL_A).calls), [0, 0, 0]);
    assert.equal(upstream.sent.length, 1);
  }
});

test("an inner stack's timeout is the upstream's slowness to the stacks around it, and its error reaches the caller", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream("hang");
  const stacks = surround(upstream.fetch, guard, [{ breaker: {} }, { breaker: {} }, { name: "inner", timeout: { attempt: 100 } }]);
  const pending = reasonOf(stacks[0]!.fetch(URL_A));
  await host.pass(100);
  const error = (await pending) as TimeoutError;
  assert.ok(error instanceof TimeoutError);
  assert.equal(error.stackName, "inner");
  assert.deepEqual(stacks.map(verdictsOf), [{ timeout: 1 }, { timeout: 1 }, { timeout: 1 }]);
});

test("the last response of an inner stack is the outer one's too", async () => {
  const { host, guard } = shim();
  const last = status(503);
  const upstream = new Upstream(status(503), status(503), status(503), last);
  const inner = guard({ name: "inner", retry: { attempts: 2, budget: false } }, { fetch: upstream.fetch });
  const outer = guard({ name: "outer", retry: { attempts: 2, budget: false } }, { fetch: inner.fetch });
  const pending = outer.fetch(URL_A);
  await host.pass(10_000);
  assert.equal(await pending, last);
  assert.equal(upstream.sent.length, 4);
});

test("leaving reaches through all stacks at once", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream("hang");
  const inner = guard({ name: "inner", timeout: {}, breaker: {} }, { fetch: upstream.fetch });
  const outer = guard({ name: "outer", timeout: {}, retry: {} }, { fetch: inner.fetch });
  const controller = new AbortController();
  const pending = outer.fetch(URL_A, { signal: controller.signal });
  await quiet();
  controller.abort("gone");
  assert.equal(await reasonOf(pending), "gone");
  assert.equal(upstream.sent[0]?.signal?.reason, "gone");
  assert.equal(inner.breaker(URL_A).calls, 0);
  assert.equal(host.timers.length, 0);
});

test("with(): what exists only inside a request, over the same stack", async () => {
  const { guard } = shim();
  const stack = guard({ name: "api", retry: {}, breaker: {} }, { fetch: async () => status(500) });
  const binding = {
    calls: 0,
    async fetch(this: unknown) {
      assert.equal(this, binding, "a binding's fetch is called on its binding");
      binding.calls++;
      return status(200);
    },
  };
  const inside = stack.with({ fetch: binding });
  assert.equal((await inside.fetch(URL_A)).status, 200);
  assert.equal(binding.calls, 1);
  assert.equal(stack.metrics().keys[0]?.calls, 1, "one stack");
  assert.equal((await stack.fetch(URL_A, { method: "POST" })).status, 500, "the guard itself is as it was");
  const both = inside.with({ waitUntil: () => {} });
  await both.fetch(URL_A);
  assert.equal(binding.calls, 2, "scopes add up");
});

test("a fetch is called as a plain function, and may be handed on as one", async () => {
  const { guard } = shim();
  const stack = guard({ retry: {} }, {
    fetch: async function (this: unknown) {
      assert.equal(this, undefined);
      return status(200);
    },
  });
  const { fetch } = stack;
  assert.equal((await fetch(URL_A)).status, 200);
});

test("waitUntil anchors the call to its end and hears nothing of its failure", async () => {
  const { guard } = shim();
  const anchored: Promise<unknown>[] = [];
  const waitUntil = (promise: Promise<unknown>): void => void anchored.push(promise);
  const stack = guard({ retry: { attempts: 1 } }).with({ waitUntil });
  const error = new Error("lost");
  assert.equal(await reasonOf(stack.execute(() => Promise.reject(error))), error);
  assert.equal(await stack.execute(() => 1, { waitUntil }), 1);
  assert.deepEqual(await Promise.all(anchored), [undefined, 1]);
  const refused = guard({ retry: {} }).with({ waitUntil: () => { throw new TypeError("Illegal invocation"); } });
  assert.equal(await refused.execute(() => 2), 2, "a hint that fails harms nobody");
});

test("fetch never throws, whatever it is given: it rejects", async () => {
  const { guard } = shim();
  const stack = guard({ retry: {} }, { fetch: (input) => fetch(input) });
  for (const input of ["", "nowhere", "https://", undefined, null, 7]) assert.ok((await reasonOf(stack.fetch(input as never))) instanceof TypeError, String(input));
});

test("a host that refuses its timers, as Workers do at module scope, makes calls reject and not throw", async () => {
  const { host, guard } = shim();
  const refusal = new Error("Disallowed operation called within global scope.");
  host.arm = () => {
    throw refusal;
  };
  assert.equal(await reasonOf(guard({ timeout: {} }).execute(() => 1)), refusal);
  assert.equal(await reasonOf(guard({ timeout: {} }).fetch(URL_A)), refusal);
});

test("a call that is hung in a stack without timeouts is still ended by its caller's signal", async () => {
  const { guard } = shim();
  const controller = new AbortController();
  const pending = guard({ breaker: {} }, { fetch: (_, init) => hang(init?.signal ?? undefined) }).fetch(URL_A, { signal: controller.signal });
  await quiet();
  controller.abort("gone");
  assert.equal(await reasonOf(pending), "gone");
});
