// What callers see: results, errors and reports.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, RejectedError, reportOf, TimeoutError } from "../src/index.js";
import { FakeHost, reasonOf, standOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { status, Upstream, watched } from "./support/upstream.js";

const URL_A = "https://a.example/path?x=1";

test("the ten lines of the README: a fetch that is repeated, with a report beside its response", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream(status(503), status(200));
  const payments = guard({ name: "payments", timeout: { total: "10s", attempt: "2s" }, retry: { attempts: 3 } }, { fetch: upstream.fetch });

  const pending = payments.fetch(URL_A, { method: "POST", body: "{}" }, { idempotent: true });
  await host.pass(100);
  const response = await pending;

  assert.equal(response.status, 200);
  assert.equal(await response.text(), "status 200");
  const { elapsedMs, ...report } = reportOf(response)!;
  assert.deepEqual(report, { attempts: 2, stopReason: "completed", stack: "payments", key: "https://a.example" });
  assert.ok(elapsedMs > 0 && elapsedMs <= 100);
});

test("a call that succeeds is handed over as it is, whatever its value", async () => {
  const { guard } = shim();
  const plain = guard({ retry: {} });
  const racing = guard({ retry: {}, timeout: {} });
  for (const value of [42, undefined, null, "", { ok: false }, new Error("a value"), [503]]) {
    assert.equal(await plain.execute(() => value), value);
    assert.equal(await racing.execute(async () => value), value);
  }
});

test("plain values never count against anything: a thousand of them in every shape stay successes", async () => {
  const { guard } = shim();
  const stack = guard({ retry: {}, timeout: { attempt: "1s" } });
  for (let i = 0; i < 1_000; i++) await stack.execute(() => ({ ok: true }));
  assert.deepEqual(stack.metrics().keys[0]?.verdicts.success, 1_000);
});

test("a returned 503 is as retryable as a thrown error", async () => {
  const { host, guard } = shim();
  const operations = [
    () => Promise.resolve(status(503)),
    () => Promise.reject(new Error("lost")),
    () => {
      throw new Error("lost at once");
    },
  ];
  for (const operation of operations) {
    let attempts = 0;
    const pending = guard({ name: `of ${attempts}`, retry: { attempts: 2 } }).execute<unknown>(({ attempt }) => {
      attempts = attempt;
      return attempt === 1 ? operation() : "fine";
    });
    await host.pass(1_000);
    assert.equal(await pending, "fine");
    assert.equal(attempts, 2);
  }
});

test("when no retry is decided the last response itself is handed over, its body untouched, and the report says why", async () => {
  for (const { config, init, stopReason, attempts } of [
    { config: { retry: { attempts: 2 } }, init: undefined, stopReason: "attempts-exhausted", attempts: 2 },
    { config: { retry: {} }, init: { method: "POST", body: "x" }, stopReason: "not-repeatable", attempts: 1 },
    { config: { retry: {} }, init: { method: "PUT", body: new Blob(["x"]).stream(), duplex: "half" }, stopReason: "body-not-replayable", attempts: 1 },
    { config: { timeout: {} }, init: undefined, stopReason: "attempts-exhausted", attempts: 1 },
  ] as const) {
    const { host, guard } = shim();
    const last = watched(500);
    const upstream = new Upstream(...(attempts === 2 ? [status(500), last.response] : [last.response]));
    const pending = guard(config, { fetch: upstream.fetch }).fetch(URL_A, init as RequestInit);
    await host.pass(10_000);
    const response = await pending;
    assert.equal(response, last.response);
    assert.equal(response.bodyUsed, false);
    assert.equal(last.cancelled(), false);
    const report = reportOf(response);
    assert.equal(report?.attempts, attempts);
    assert.equal(report?.stopReason, stopReason);
  }
});

test("the last error itself is thrown, even when it is no Error", async () => {
  const { guard } = shim();
  for (const thrown of [new TypeError("fetch failed"), "a string", undefined, null, 7]) {
    assert.equal(await reasonOf(guard({ retry: { attempts: 1 } }).execute(() => Promise.reject(thrown))), thrown);
    assert.equal(await reasonOf(guard({ timeout: {} }).execute(() => Promise.reject(thrown))), thrown);
  }
});

test("execute: calling it allows retry, idempotent: false withdraws that", async () => {
  for (const [idempotent, expected] of [[undefined, 2], [true, 2], [false, 1]] as const) {
    const { host, guard } = shim();
    let attempts = 0;
    const options = idempotent === undefined ? undefined : { idempotent };
    const pending = guard({ retry: { attempts: 2 } }).execute(() => Promise.reject(new Error(`lost ${++attempts}`)), options);
    await Promise.all([reasonOf(pending), host.pass(10_000)]);
    assert.equal(attempts, expected);
  }
});

test("execute: nothing that an operation throws says that it has done nothing, at whatever depth", async () => {
  const refused = (): Error => Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:25"), { code: "ECONNREFUSED", syscall: "connect" });
  const thrown = [refused(), new Error("charged, but the mail failed", { cause: refused() }), Object.assign(new AggregateError([refused()]), { code: "ECONNREFUSED" })];
  for (const error of thrown) {
    const { host, guard } = shim();
    let attempts = 0;
    const pending = guard({ retry: {} }).execute(() => (attempts++, Promise.reject(error)), { idempotent: false });
    await Promise.all([reasonOf(pending), host.pass(10_000)]);
    assert.equal(attempts, 1);
    assert.equal(reportOf(error)?.stopReason, "not-repeatable");
  }
});

test("execute: a response that says that it never reached its server is the operation's failure all the same", async () => {
  for (const code of [521, 523]) {
    const { host, guard } = shim();
    let attempts = 0;
    const stack = guard({ retry: {}, breaker: {} });
    const pending = stack.execute(() => (attempts++, status(code)), { idempotent: false });
    await Promise.all([pending, host.pass(10_000)]);
    assert.deepEqual([attempts, stack.breaker().failures], [1, 1]);
  }
});

test("execute: a fresh signal for each attempt, which tells when its attempt is given up", async () => {
  const { host, guard } = shim();
  const signals: AbortSignal[] = [];
  const pending = guard({ retry: { attempts: 2 }, timeout: { attempt: 100 } }).execute(({ attempt, signal }) => {
    signals.push(signal);
    return attempt === 1 ? new Promise(() => {}) : "second";
  });
  await host.pass(1_000);
  assert.equal(await pending, "second");
  assert.equal(signals.length, 2);
  assert.notEqual(signals[0], signals[1]);
  assert.equal(signals[0]?.aborted, true);
  assert.ok(signals[0]?.reason instanceof TimeoutError);
  assert.equal(signals[1]?.aborted, false);
});

test("an attempt's signal that is first read after the attempt was given up is aborted already", async () => {
  const { host, guard } = shim();
  let late: AbortSignal | undefined;
  const pending = guard({ timeout: { attempt: 100 } }).execute(async (attempt) => {
    await new Promise((resolve) => host.arm(150, () => resolve(undefined)));
    late = attempt.signal;
  });
  await Promise.all([reasonOf(pending), host.pass(1_000)]);
  assert.equal(late?.aborted, true);
  assert.ok(late?.reason instanceof TimeoutError);
});

test("an attempt timeout is a TimeoutError that names the attempt; a deadline is one that names the call", async () => {
  const { host, guard } = shim();
  const never = () => new Promise<never>(() => {});
  const attempt = guard({ name: "slow", timeout: { attempt: 100 } }).execute(never, { key: "k" });
  const total = guard({ timeout: { total: 250 } }).execute(never);
  await Promise.all([reasonOf(attempt), reasonOf(total), host.pass(1_000)]);

  const error = (await reasonOf(attempt)) as TimeoutError;
  assert.ok(error instanceof TimeoutError && error instanceof Error && !(error instanceof RejectedError));
  assert.deepEqual({ ...error }, { name: "TimeoutError", policy: "attemptTimeout", stackName: "slow", key: "k", attempt: 1, elapsedMs: 100 });
  assert.equal(reportOf(error)?.attempts, 1);
  const late = (await reasonOf(total)) as TimeoutError;
  assert.equal(late.policy, "deadline");
  assert.equal(late.elapsedMs, 250);
  assert.equal(reportOf(late)?.stopReason, "deadline-exceeded");
});

test("a TimeoutError says that its time is the whole call's, also where one attempt's limit ended it", async () => {
  const { host, guard } = shim();
  const retry = { attempts: 2, backoff: { base: 50, jitter: "none" } } as const;
  const pending = guard({ name: "rates", timeout: { attempt: 500 }, retry }).execute(() => new Promise<never>(() => {}));
  await Promise.all([reasonOf(pending), host.pass(5_000)]);
  assert.equal(((await reasonOf(pending)) as TimeoutError).message, "attempt 2 took too long in rates, ended 1050 ms after the call began");
});

test("out of time after a result was discarded: the TimeoutError's cause is that result's status and headers, or error", async () => {
  for (const first of [status(503, { "x-why": "busy" }), new TypeError("fetch failed")]) {
    const { host, guard } = shim();
    const upstream = new Upstream(first, "hang");
    const pending = guard({ retry: {}, timeout: { total: 500 } }, { fetch: upstream.fetch }).fetch(URL_A);
    await Promise.all([reasonOf(pending), host.pass(1_000)]);
    const { cause, attempt } = (await reasonOf(pending)) as TimeoutError;
    assert.equal(attempt, 2);
    if (first instanceof Error) return assert.equal(cause, first);
    const { status: code, headers } = cause as Response;
    assert.equal(code, 503);
    assert.equal(headers.get("x-why"), "busy");
  }
});

test("a call's own timeout only shortens the stack's", async () => {
  for (const [timeout, ended] of [["100ms", 100], [5_000, 300]] as const) {
    const { host, guard } = shim();
    const pending = guard({ timeout: { total: 300 } }).execute(() => new Promise(() => {}), { timeout });
    await Promise.all([reasonOf(pending), host.pass(10_000)]);
    assert.equal(((await reasonOf(pending)) as TimeoutError).elapsedMs, ended);
  }
  const { guard } = shim();
  for (const timeout of ["soon", -1, NaN, null] as never[]) {
    assert.ok((await reasonOf(guard({ retry: {} }).execute(() => 1, { timeout }))) instanceof ConfigError, String(timeout));
  }
  assert.equal(await guard({ retry: {} }).execute(() => 1, { timeout: Infinity }), 1);
  const late = (await reasonOf(guard({ retry: {} }).execute(() => 1, { timeout: 0 }))) as RejectedError;
  assert.equal(late.reason, "deadline-exceeded", "no time at all is a refusal");
});

test("a result in hand beats the clock: a timer that fires late does not undo a success", async () => {
  const { host, guard } = shim();
  let answer!: (value: string) => void;
  const pending = guard({ timeout: { attempt: 100, total: 200 } }).execute(() => new Promise<string>((resolve) => (answer = resolve)));
  host.time += 10_000; // the host was busy
  answer("late but here");
  assert.deepEqual(await standOf(pending), { state: "fulfilled", value: "late but here" });
  assert.equal(host.timers.length, 0);
});

test("a timer's word counts, also where the clock has not moved: limits hold under a clock that stands still", async () => {
  const { host, guard } = shim();
  const pending = guard({ timeout: { attempt: 100 } }).execute(() => new Promise(() => {}));
  await host.pass(0);
  host.fire(host.timers[0]!);
  assert.ok((await reasonOf(pending)) instanceof TimeoutError);
  assert.equal(host.timers.length, 0);
});

test("mark() freezes the latency that an attempt is judged by", async () => {
  const { host, guard } = shim();
  const stack = guard({ timeout: { attempt: "10s" } });
  const pending = stack.execute(async ({ mark }) => { // on its own, as the rest of the context is mostly taken
    await new Promise((resolve) => host.arm(3, () => resolve(undefined)));
    mark();
    await new Promise((resolve) => host.arm(900, () => resolve(undefined)));
    mark();
  });
  await Promise.all([pending, host.pass(2_000)]);
  const { latencies } = stack.metrics().keys[0]!;
  assert.deepEqual(latencies.filter(({ count }) => count > 0), [{ belowMs: 4, count: 1 }]);
});

test("interleaved calls whose clock stands still or steps back all end, and each with its own result", async () => {
  const host = new FakeHost();
  const { guard } = shim(host);
  const stack = guard({ retry: { attempts: 2, budget: false }, timeout: { attempt: "1s", total: "5s" } });
  const pending = Array.from({ length: 50 }, (_, i) => {
    host.time += i % 3 === 0 ? -40 : i % 2;
    return stack.execute(({ attempt }) => (attempt === 1 && i % 2 ? Promise.reject(new Error("lost")) : i));
  });
  await host.pass(5_000);
  assert.deepEqual(await Promise.all(pending), Array.from({ length: 50 }, (_, i) => i));
  assert.equal(host.timers.length, 0);
});
