// Events: what is told, to whom, and that whoever listens changes nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENTS } from "../src/generated/vocabulary.js";
import { RejectedError, type EventType, type GuardEvent } from "../src/index.js";
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
  const [, , retry, , , done] = heard;
  assert.ok(retry?.type === "retry" && done?.type === "done");
  assert.deepEqual([retry.policy, retry.delayMs], ["retry", 100]);
  assert.deepEqual([done.reason, done.attempts, done.elapsedMs], ["completed", 2, 100]);
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

test("who has stopped hears nothing more, also of what has happened already", async () => {
  const { guard } = shim();
  const stack = guard({ retry: {} });
  const heard: string[] = [];
  const stops = [
    stack.on("sent", () => {
      heard.push("first");
      for (const stop of stops) stop();
    }),
    stack.on("sent", () => heard.push("second")),
    stack.on("*", ({ type }) => heard.push(type)),
  ];
  await stack.execute(() => 1);
  await quiet();
  assert.deepEqual(heard, ["first"]);
  const stop = stack.on("sent", () => heard.push("late"));
  const pending = stack.execute(() => 1);
  stop();
  await pending;
  await quiet();
  assert.deepEqual(heard, ["first"]);
});

test("no listener can change what another one hears", async () => {
  const { guard } = shim();
  const stack = guard({ retry: {} });
  const heard: unknown[] = [];
  stack.on("sent", (event) => Object.assign(event, { type: "changed", attempt: 99 }));
  stack.on("sent", ({ type, attempt }) => heard.push(type, attempt));
  await stack.execute(() => 1);
  await quiet();
  assert.deepEqual(heard, ["sent", 1]);
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
  for (const stack of [one, two]) stack.on("*", (event) => heard.push(`${event.stack} ${event.type} ${"trigger" in event ? event.trigger : "reason" in event ? event.reason : ""}`));
  one.breaker("k").forceOpen();
  await reasonOf(one.execute(() => 1, { key: "k" }));
  one.breaker("k").forceClosed();
  one.breaker("k").reset();
  await quiet();
  assert.deepEqual(heard, ["one opened forced", "one rejected circuit-open", "one closed forced", "one reset "]);
});

test("times are whole milliseconds, in events as in errors; what is yes or no is so", async () => {
  const { host, guard } = shim();
  const stack = guard({ retry: { backoff: { base: 101, jitter: "full" } }, breaker: { consecutiveFailures: 2, slowCall: 5 } }, { fetch: new Upstream(status(503)).fetch });
  host.share = 0.333;
  const delays: number[] = [];
  stack.on("retry", ({ delayMs }) => delays.push(delayMs));
  const slow: boolean[] = [];
  stack.on("recorded", (event) => slow.push(event.slow));
  const opened: (number | undefined)[] = [];
  stack.on("opened", ({ trigger, openForMs }) => opened.push(trigger === "consecutive-failures" ? openForMs : undefined));
  const [error] = await Promise.all([reasonOf(stack.fetch(URL_A)), host.pass(5_000)]);
  assert.ok(error instanceof RejectedError);
  assert.deepEqual(slow, [false, false]);
  for (const millis of [...delays, ...opened, error.retryAfterMs]) assert.ok(Number.isInteger(millis) && millis! > 0, String(millis));
  assert.ok(delays.length > 0 && opened.length === 1);
});

test("every kind of event the engine has is one a listener can ask for", () => {
  const known: Record<EventType, true> = {
    sent: true, settled: true, retry: true, done: true, rejected: true, stale: true, leaseEnded: true, callsFull: true, keysFull: true,
    restoredFresh: true, opened: true, halfOpen: true, closed: true, reset: true, recorded: true, ignored: true, exhausted: true, hedge: true,
    waited: true, oversized: true, rateChanged: true, limitChanged: true, trap: true, unavailable: true, keyFailed: true, classifyFailed: true, fallback: true,
  };
  assert.deepEqual(EVENTS.map(([name]) => name).sort(), Object.keys(known).filter((name) => !["trap", "unavailable", "keyFailed", "classifyFailed", "fallback"].includes(name)).sort());
});
