// A guarded fetch is a fetch: stacks around stacks, and what a guard takes from the request it works in.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RejectedError, reportOf } from "../src/index.js";
import { quiet, reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { hang, status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";

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
