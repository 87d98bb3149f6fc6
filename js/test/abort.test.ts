// The caller leaves: at once, without evidence, and without leaving anything behind.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { reportOf, TimeoutError, type RejectedError } from "../src/index.js";
import { quiet, reasonOf, standOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { countingSignal, hang, status, Upstream, watched } from "./support/upstream.js";

const URL_A = "https://a.example/";
const SHAPES = [
  { shape: "plain", config: { retry: { attempts: 5 }, breaker: {} } },
  { shape: "racing", config: { retry: { attempts: 5 }, breaker: {}, timeout: { attempt: "2s", total: "20s" } } },
] as const;

for (const { shape, config } of SHAPES) {
  test(`${shape}: a signal that has aborted before: nothing is sent, and the reason comes back`, async () => {
    const { host, guard } = shim();
    const upstream = new Upstream(status(200));
    host.fetch = upstream.fetch as never; // the runtime's own, which heeds its signal
    const stack = guard(config);
    const reason = { bare: "object" };
    assert.equal(await reasonOf(stack.fetch(URL_A, { signal: AbortSignal.abort(reason) })), reason);
    assert.equal(await reasonOf(stack.execute(() => 1, { signal: AbortSignal.abort(reason) })), reason);
    assert.equal(upstream.sent.length, 0);
    assert.equal(stack.metrics().keys.length, 0);
  });

  test(`${shape}: leaving in flight ends the call with the signal's reason, aborts fetch, and is no evidence`, async () => {
    const { host, guard } = shim();
    const upstream = new Upstream("hang");
    host.fetch = upstream.fetch as never; // the runtime's own, which heeds its signal
    const stack = guard(config);
    const { controller, signal, listeners } = countingSignal();
    const pending = stack.fetch(URL_A, { signal });
    await quiet();
    controller.abort("gone");
    assert.deepEqual(await standOf(pending), { state: "rejected", reason: "gone" });
    assert.equal(upstream.sent[0]?.signal?.aborted, true);
    assert.equal(upstream.sent[0]?.signal?.reason, "gone");
    assert.equal(upstream.sent.length, 1);
    const { verdicts } = stack.metrics().keys[0]!;
    assert.deepEqual(Object.entries(verdicts).filter(([, count]) => count > 0).map(([word]) => word), ["cancelled"]);
    assert.equal(stack.breaker(URL_A).calls, 0);
    assert.equal(listeners(), 0);
    assert.equal(host.timers.length, 0);
  });

  test(`${shape}: whatever the reason is, it comes back as it was given`, async () => {
    for (const reason of [null, 0, "", false]) {
      const { guard } = shim();
      const controller = new AbortController();
      const pending = guard(config).execute(({ signal }) => hang(signal), { signal: controller.signal });
      controller.abort(reason);
      assert.equal(await reasonOf(pending), reason);
      assert.equal(await reasonOf(guard(config).execute(() => 1, { signal: controller.signal })), reason);
    }
  });

  test(`${shape}: an operation that does not heed its signal is left behind at once`, async () => {
    const { host, guard } = shim();
    const controller = new AbortController();
    const late = watched(200);
    let answer!: (response: Response) => void;
    const pending = guard(config).execute(() => new Promise<Response>((resolve) => (answer = resolve)), { signal: controller.signal });
    await quiet();
    controller.abort("gone");
    assert.deepEqual(await standOf(pending), { state: "rejected", reason: "gone" });
    answer(late.response);
    await quiet();
    assert.equal(late.cancelled(), true, "what it brings later is discarded");
    assert.equal(host.timers.length, 0);
  });

  test(`${shape}: leaving in the backoff interrupts the sleep at once`, async () => {
    const { host, guard } = shim();
    const upstream = new Upstream(status(503, { "retry-after": "15" }));
    const { controller, signal, listeners } = countingSignal();
    host.fetch = upstream.fetch as never; // the runtime's own, which heeds its signal
    const pending = guard(config).fetch(URL_A, { signal });
    await host.pass(1_000);
    assert.equal((await standOf(pending)).state, "pending");
    assert.equal(host.timers.length, 1);
    controller.abort("gone");
    assert.deepEqual(await standOf(pending), { state: "rejected", reason: "gone" });
    assert.equal(host.timers.length, 0);
    assert.equal(listeners(), 0);
    await host.pass(60_000);
    assert.equal(upstream.sent.length, 1);
  });

  test(`${shape}: a caller's AbortSignal.timeout that fires is the caller leaving, and never retried`, async () => {
    const { host, guard } = shim();
    const controller = new AbortController();
    const upstream = new Upstream((signal) => hang(signal));
    host.fetch = upstream.fetch as never; // the runtime's own, which heeds its signal
    const pending = guard(config).fetch(URL_A, { signal: controller.signal });
    await quiet();
    const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
    controller.abort(reason);
    assert.deepEqual(await standOf(pending), { state: "rejected", reason });
    await host.pass(60_000);
    assert.equal(upstream.sent.length, 1);
  });

  test(`${shape}: a thousand calls on one long-lived signal add as many listeners as they remove, and leave no timer`, async () => {
    const { host, guard } = shim();
    const { signal, listeners, added } = countingSignal();
    const upstream = new Upstream(async () => new Response(null, { status: upstream.sent.length % 3 === 0 ? 503 : 204 }));
    host.fetch = upstream.fetch as never; // the runtime's own, which heeds its signal
    const stack = guard({ ...config, breaker: false, retry: { attempts: 3, budget: false, backoff: { base: 1 } } });
    for (let round = 0; round < 10; round++) {
      const pending = Array.from({ length: 100 }, () => stack.fetch(URL_A, { signal }));
      assert.ok(listeners() <= 1, "however many calls hang on it");
      await Promise.all([...pending, host.pass(1_000)]);
    }
    assert.equal(listeners(), 0);
    assert.ok(added() >= 1);
    assert.equal(host.timers.length, 0);
    assert.ok(upstream.sent.length > 1_000);
  });
}

test("racing: the caller can still abort the body after the response was handed over", async () => {
  const { guard } = shim();
  const { controller, signal, listeners } = countingSignal();
  let seen: AbortSignal | undefined;
  const { response } = watched(200);
  const upstream = new Upstream(async (signal) => ((seen = signal), response));
  const handed = await guard({ timeout: {} }, { fetch: upstream.fetch }).fetch(URL_A, { signal });
  assert.equal(handed, response);
  assert.equal(seen?.aborted, false);
  assert.equal(listeners(), 1, "linked until the body ends");
  controller.abort("gone");
  assert.equal(seen?.aborted, true);
  assert.equal(seen?.reason, "gone");
});

test("racing: a success never aborts its own signal, so that its body can be read to the end", async () => {
  const { host, guard } = shim();
  let seen: AbortSignal | undefined;
  const upstream = new Upstream(async (signal) => ((seen = signal), status(200)));
  const response = await guard({ timeout: { attempt: 100, total: 200 } }, { fetch: upstream.fetch }).fetch(URL_A);
  await host.pass(10_000);
  assert.equal(seen?.aborted, false);
  assert.equal(await response.text(), "status 200");
});

test("racing: a body nobody reads does not hold on to the caller's signal for ever", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const { guard } = shim();
  const { signal, listeners } = countingSignal();
  const upstream = new Upstream(async () => status(200));
  const stack = guard({ timeout: {} }, { fetch: upstream.fetch });
  for (let i = 0; i < 100; i++) await stack.fetch(URL_A, { signal });
  for (let i = 0; i < 20 && listeners() > 0; i++) {
    gc();
    await quiet();
  }
  assert.equal(listeners(), 0);
});

test("an outer stack's timeout reads as a timeout inside, so that the inner breaker is not blind to a stalled upstream", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream("hang");
  const inner = guard({ name: "inner", breaker: {}, retry: {} }, { fetch: upstream.fetch });
  const outer = guard({ name: "outer", timeout: { attempt: 100 } }, { fetch: inner.fetch });
  const pending = outer.fetch(URL_A);
  await Promise.all([reasonOf(pending), host.pass(1_000)]);
  const error = await reasonOf(pending);
  assert.ok(error instanceof TimeoutError);
  assert.equal(error.stackName, "outer");
  assert.equal(upstream.sent.length, 1, "nobody repeats for a caller that has gone");
  const { verdicts, breaker } = inner.metrics().keys.find(({ key }) => key === "https://a.example")!;
  assert.equal(verdicts.timeout, 1);
  assert.equal(breaker?.failures, 1);
  assert.equal(reportOf(error)?.stack, "outer");
});

test("with abortIsTimeoutAfter a caller that leaves a stalled upstream is a timeout from then on, and none before", async () => {
  for (const timeout of [false, { total: "1m" }] as const) {
    const { host, guard } = shim();
    const stack = guard({ timeout, breaker: { consecutiveFailures: 2 } }, { fetch: new Upstream("hang").fetch, abortIsTimeoutAfter: "20s" });
    const leaveAfter = async (ms: number): Promise<unknown> => {
      const caller = new AbortController();
      const left = reasonOf(stack.fetch(URL_A, { signal: caller.signal }));
      await host.pass(ms);
      caller.abort("the SDK's time is up");
      return left;
    };
    assert.equal(await leaveAfter(19_999), "the SDK's time is up");
    assert.equal(stack.breaker(URL_A).failures, 0);
    assert.deepEqual([await leaveAfter(20_000), await leaveAfter(30_000)], ["the SDK's time is up", "the SDK's time is up"]);
    assert.equal(stack.breaker(URL_A).state, "open");
    assert.equal(((await reasonOf(stack.fetch(URL_A))) as RejectedError).reason, "circuit-open");
  }
});

test("abortIsTimeoutAfter is a duration from 1 ms to 24 h, or false", () => {
  const { guard } = shim();
  for (const abortIsTimeoutAfter of [false, 1, "20s", "24h"] as const) guard({}, { abortIsTimeoutAfter });
  for (const abortIsTimeoutAfter of [0, -1, NaN, "25h", "soon", true, null, {}]) {
    const message = /^options\.abortIsTimeoutAfter: .+ is not allowed; expected 1ms to 24h \(.+\), or false$/;
    assert.throws(() => guard({}, { abortIsTimeoutAfter } as never), { name: "ConfigError", message });
  }
});

test("an abort that is neither ours nor the caller's is cancelled: not repeated, no evidence", async () => {
  const { guard } = shim();
  const stack = guard({ retry: {}, breaker: {} });
  const reason = new DOMException("by someone else", "AbortError");
  assert.equal(await reasonOf(stack.execute(() => Promise.reject(reason))), reason);
  assert.equal(stack.metrics().keys[0]?.verdicts.cancelled, 1);
  assert.equal(stack.breaker().calls, 0);
});

test("aborting from within an abort listener ends the call once", async () => {
  const { host, guard } = shim();
  const controller = new AbortController();
  let attempts = 0;
  const pending = guard({ retry: {}, timeout: { attempt: 100 } }).execute(({ signal }) => {
    attempts++;
    signal.addEventListener("abort", () => controller.abort("both"));
    return new Promise(() => {});
  }, { signal: controller.signal });
  await Promise.all([reasonOf(pending), host.pass(1_000)]);
  assert.equal(await reasonOf(pending), "both");
  assert.equal(attempts, 1);
  assert.equal(host.timers.length, 0);
});
