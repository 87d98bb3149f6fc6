// Bugs of others, where nothing else here shows that we have not got them. docs/others-bugs.md lists all of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf, type RejectedError, TimeoutError } from "../src/index.js";
import { quiet, reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { countingSignal, hang, status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";

// cockatiel#113: what the state's getter gave was the live object.
test("a snapshot, metrics and a breaker's reading stay as they were when they were taken", async () => {
  const { guard } = shim();
  const stack = guard({ breaker: { consecutiveFailures: 3 } }, { fetch: new Upstream(status(200), status(500)).fetch });
  await stack.fetch(URL_A);
  const taken = [stack.snapshot(), stack.metrics(), { ...stack.breaker(URL_A) }];
  const copies = structuredClone(taken);
  for (let call = 0; call < 5; call++) await stack.fetch(URL_A).catch(() => {});
  assert.deepEqual(taken, copies);
  assert.notDeepEqual(stack.snapshot(), taken[0]);
});

// opossum#780, #861: one controller per breaker, so that one timeout aborted all calls, and every call after.
test("one call's timeout aborts no other call, and none that comes after", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream("hang");
  const stack = guard({ timeout: { attempt: "1s" } }, { fetch: upstream.fetch });
  const first = reasonOf(stack.fetch(URL_A));
  await host.pass(500);
  const second = reasonOf(stack.fetch(URL_A));
  await host.pass(500);
  assert.ok((await first) instanceof TimeoutError);
  void stack.fetch(URL_A).catch(() => {});
  await quiet();
  assert.deepEqual(upstream.sent.map(({ signal }) => signal?.aborted), [true, false, false]);
  await host.pass(500);
  assert.ok((await second) instanceof TimeoutError);
  assert.equal(upstream.sent[2]?.signal?.aborted, false);
});

// unjs/ofetch, PR 621: after one timeout every retry had the aborted signal, and was over at once.
test("each attempt after a timeout has its own time and a signal that has not aborted", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream("hang", "hang", status(200));
  const stack = guard({ timeout: { attempt: "1s" }, retry: { budget: false, backoff: { jitter: "none" } } }, { fetch: upstream.fetch });
  const pending = stack.fetch(URL_A);
  await host.pass(5_000);
  const response = await pending;
  assert.deepEqual([response.status, reportOf(response)?.attempts, reportOf(response)?.elapsedMs], [200, 3, 2_300]);
  assert.deepEqual(upstream.sent.map(({ signal }) => signal?.aborted), [true, true, false]);
});

// cockatiel#27, #98: a caller that left was told as a timeout too.
test("a call that its caller ends is told once, and never as a timeout", async () => {
  const { host, guard } = shim();
  const stack = guard({ timeout: { attempt: "1s", total: "2s" }, retry: {} }, { fetch: new Upstream("hang").fetch });
  const told: string[] = [];
  stack.on("*", (event) => told.push(event.type === "settled" ? event.verdict : event.type));
  const controller = new AbortController();
  const reason = reasonOf(stack.fetch(URL_A, { signal: controller.signal }));
  await host.pass(900);
  controller.abort("gone");
  assert.equal(await reason, "gone");
  await host.pass(60_000);
  assert.deepEqual(told, ["sent", "cancelled", "done"]);
});

// @git-stunts/alfred, read in source: a timer of the rate limiter's line could not be called off. cockatiel#112: callers
// that left starved the line.
for (const [where, config] of Object.entries({
  "a rate limiter": { rateLimiter: { rate: 1, interval: "10s", wait: "60s" } },
  "a bulkhead": { bulkhead: { concurrency: 1, queue: 9, queueTimeout: "60s" } },
} as const)) {
  test(`whoever leaves the line of ${where} leaves at once, with its own reason, no timer and no listener`, async () => {
    const { host, guard } = shim();
    let answer!: (response: Response) => void;
    const stack = guard(config, { fetch: () => new Promise<Response>((resolve) => (answer = resolve)) });
    const first = stack.fetch(URL_A);
    const { controller, signal, listeners } = countingSignal();
    const leaving = reasonOf(stack.fetch(URL_A, { signal }));
    const staying = stack.fetch(URL_A);
    await quiet();
    controller.abort("gone");
    assert.equal(await leaving, "gone");
    assert.equal(listeners(), 0);
    assert.equal(host.timers.length, 1, "one waits on");
    answer(status(200));
    await first;
    await host.pass(10_000);
    answer(status(202));
    assert.deepEqual([(await staying).status, host.timers.length], [202, 0]);
  });
}

// axios-retry#66: whatever failed on the network was repeated, a POST too.
test("a POST whose connection was lost is sent once", async () => {
  const { host, guard } = shim();
  const lost = new TypeError("fetch failed", { cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }) });
  const upstream = new Upstream(lost);
  const stack = guard({ retry: { budget: false } }, { fetch: upstream.fetch });
  const reason = reasonOf(stack.fetch(URL_A, { method: "POST", body: "x" }));
  await host.pass(60_000);
  assert.equal(await reason, lost);
  assert.equal(upstream.sent.length, 1);
  assert.equal(reportOf(lost)?.stopReason, "not-repeatable");
});

// ky#435, #831, undici#4058: a clone before the first attempt broke other tools, and buffered uploads though nothing was
// to be repeated.
test("no request is cloned and no body is read before it is sent", async () => {
  const { host, guard } = shim();
  for (const retry of [false, {}] as const) {
    const upstream = new Upstream(status(500));
    const stack = guard({ retry, timeout: {} }, { fetch: upstream.fetch });
    let pulled = 0;
    const body = new ReadableStream({ pull: () => void pulled++ }, { highWaterMark: 0 });
    body.tee = () => assert.fail("the body was copied");
    const request = new Request(URL_A, { method: "PUT", body, duplex: "half" } as RequestInit);
    request.clone = () => assert.fail("the request was cloned");
    const pending = stack.fetch(request);
    await host.pass(60_000);
    assert.equal((await pending).status, 500);
    assert.deepEqual([upstream.sent.length, pulled], [1, 0]);
  }
});

// DataDog/dd-trace-js#9788: X-RateLimit-Reset, which is seconds for some and an epoch for others, was taken for a delay.
test("no header but Retry-After says when to come again", async () => {
  const { host, guard } = shim();
  const headers = { "x-ratelimit-reset": "1893456000", "ratelimit-reset": "3600", "x-retry-after": "3600" };
  const upstream = new Upstream(status(429, headers), status(200));
  const pending = guard({ retry: { backoff: { jitter: "none" } } }, { fetch: upstream.fetch }).fetch(URL_A);
  await host.pass(100);
  assert.equal((await pending).status, 200);
});

// opossum#824, undici#2986: a zero was taken for nothing given.
test("zero is a value: no line, no reserve, no wait, no jitter", async () => {
  const { host, guard } = shim();
  const full = guard({ bulkhead: { concurrency: 1, queue: 0 } }, { fetch: () => hang(undefined) });
  void full.fetch(URL_A);
  assert.equal(((await reasonOf(full.fetch(URL_A))) as RejectedError).reason, "bulkhead-full");

  const poor = guard({ retry: { budget: { ratio: 0, reserve: 0 } } }, { fetch: new Upstream(status(500)).fetch });
  assert.equal(reportOf(await poor.fetch(URL_A))?.stopReason, "budget-exceeded");

  const limited = guard({ rateLimiter: { rate: 1, wait: 0 } }, { fetch: new Upstream(status(200)).fetch });
  await limited.fetch(URL_A);
  assert.equal(((await reasonOf(limited.fetch(URL_A))) as RejectedError).reason, "rate-limited");

  const steady = guard({ breaker: { consecutiveFailures: 1, openFor: "1s", openJitter: 0 } }, { fetch: new Upstream(status(500)).fetch });
  await steady.fetch(URL_A);
  assert.equal(((await reasonOf(steady.fetch(URL_A))) as RejectedError).retryAfterMs, 1_000);
  assert.equal(host.timers.length, 0);
});

// opossum, tried out: an error that its filter let through counted as a success, and closed the circuit. A classifier of
// ours says what it is: an answer, which is one, or nobody's evidence.
test("what a classifier calls a defect closes no circuit and opens none", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream(status(500), status(404), status(404), status(200));
  const classify = (settled: { ok: boolean; value?: unknown }) => ((settled.value as Response | undefined)?.status === 404 ? "defect" : undefined);
  const stack = guard({ breaker: { consecutiveFailures: 1, openFor: "1s", openJitter: 0 } }, { fetch: upstream.fetch, classify });
  await stack.fetch(URL_A);
  await host.pass(1_000);
  const states = [];
  for (let call = 0; call < 3; call++) {
    await stack.fetch(URL_A);
    states.push(stack.breaker(URL_A).state);
  }
  assert.deepEqual(states, ["half-open", "half-open", "closed"]);
});
