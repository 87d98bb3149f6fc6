// Events: what is told, to whom, and that whoever listens changes nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENTS } from "../src/generated/vocabulary.js";
import type { EventType, GuardEvent } from "../src/index.js";
import { quiet, reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";

test("a call's story, in order, with names in place of numbers", async () => {
  const { host, guard } = shim();
  const stack = guard({ name: "api", retry: { backoff: { jitter: "none" } } }, { fetch: new Upstream(status(503), status(200)).fetch });
  const heard: GuardEvent[] = [];
  stack.on("*", (event) => heard.push(event));
  const pending = stack.fetch(URL_A);
  await host.pass(1_000);
  await pending;
  assert.deepEqual(heard.map(({ type }) => type), ["sent", "settled", "retry", "sent", "settled", "done"]);
  for (const event of heard) assert.deepEqual([event.stack, event.key], ["api", "https://a.example"]);
  assert.deepEqual(heard[1], { type: "settled", at: 1_000, stack: "api", key: "https://a.example", policy: undefined, attempt: 1, verdict: "overload", latencyMs: 0 });
  assert.deepEqual([heard[2]?.policy, heard[2]?.["delayMs"]], ["retry", 100]);
  assert.deepEqual([heard[5]?.["reason"], heard[5]?.["attempts"], heard[5]?.["elapsedMs"]], ["completed", 2, 100]);
});

test("a listener hears of its own stack and its own kind of event only, until it stops", async () => {
  const { guard } = shim();
  const one = guard({ name: "one", breaker: {} });
  const two = guard({ name: "two", breaker: {} });
  const heard: string[] = [];
  const stop = one.on("done", ({ type, stack }) => heard.push(`${type} ${stack}`));
  await one.execute(() => 1);
  await two.execute(() => 1);
  await quiet();
  assert.deepEqual(heard, ["done one"]);
  stop();
  stop();
  await one.execute(() => 1);
  await quiet();
  assert.equal(heard.length, 1);
});

test("while nobody listens nothing is kept, and a late listener hears nothing old", async () => {
  const { guard } = shim();
  const stack = guard({ breaker: {} });
  await stack.execute(() => 1);
  const heard: string[] = [];
  stack.on("*", ({ type }) => heard.push(type));
  await quiet();
  assert.deepEqual(heard, []);
  await stack.execute(() => 1);
  await quiet();
  assert.deepEqual(heard, ["sent", "recorded", "settled", "done"]);
});

test("a listener that throws changes nothing, for the call or for other listeners", async () => {
  const { host, guard } = shim();
  const stack = guard({ retry: {}, breaker: {} }, { fetch: new Upstream(status(503), status(200)).fetch });
  let heard = 0;
  stack.on("*", () => {
    throw new Error("a bug in a listener");
  });
  stack.on("*", () => heard++);
  const pending = stack.fetch(URL_A);
  await host.pass(1_000);
  assert.equal((await pending).status, 200);
  assert.ok(heard >= 6);
});

test("a listener may call a guard: its decisions do not disturb the one that is being told", async () => {
  const { guard } = shim();
  const stack = guard({ retry: { attempts: 1 }, timeout: {} });
  let nested: Promise<unknown> | undefined;
  stack.on("sent", () => (nested ??= stack.execute(() => "nested")));
  assert.equal(await stack.execute(() => "outer"), "outer");
  await quiet();
  assert.equal(await nested, "nested");
});

test("what an operator does is told to the operator's own guard", async () => {
  const { guard } = shim();
  const breaker = { breaker: {} };
  const one = guard({ name: "one", ...breaker });
  const two = guard({ name: "two", ...breaker });
  const heard: string[] = [];
  for (const stack of [one, two]) stack.on("*", (event) => heard.push(`${event.stack} ${event.type} ${event["trigger"] ?? event["reason"] ?? ""}`));
  one.breaker("k").forceOpen();
  await reasonOf(one.execute(() => 1, { key: "k" }));
  one.breaker("k").forceClosed();
  one.breaker("k").reset();
  await quiet();
  assert.deepEqual(heard, ["one opened forced", "one rejected circuit-open", "one closed forced", "one reset "]);
});

test("every kind of event the engine has is one a listener can ask for", () => {
  const known: Record<EventType, true> = {
    sent: true, settled: true, retry: true, done: true, rejected: true, stale: true, leaseEnded: true, callsFull: true, keysFull: true,
    restoredFresh: true, opened: true, halfOpen: true, closed: true, reset: true, recorded: true, ignored: true, exhausted: true,
    waited: true, oversized: true, trap: true, keyFailed: true,
  };
  assert.deepEqual(EVENTS.map(([name]) => name).sort(), Object.keys(known).filter((name) => name !== "trap" && name !== "keyFailed").sort());
});
