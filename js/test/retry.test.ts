// Repeating through the shim: what a response asks for, what lies between attempts, and what two limits do together.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf, TimeoutError } from "../src/index.js";
import { quiet, reasonOf, standOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { countingSignal, status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";
/** 1994-11-06 08:49:37 UTC, the date that RFC 9110 uses. */
const WALL = 784_111_777_000;

/** When the second attempt was sent, after a first answer with these headers; undefined when it was not sent. */
async function secondAt(headers: HeadersInit, config: object = {}, field?: string): Promise<number | undefined> {
  const { host, guard } = shim();
  host.time = WALL;
  let at: number | undefined;
  const first = status(503, headers);
  if (field !== undefined) first.headers.get = (name) => (name === "retry-after" ? field : null); // what not every runtime would let through
  const upstream = new Upstream(first, async () => ((at = host.time - WALL), status(200)));
  const pending = guard({ retry: { backoff: { base: 100, jitter: "none" }, ...config } }, { fetch: upstream.fetch }).fetch(URL_A);
  await host.pass(86_400_000);
  await pending;
  return at;
}

test("Retry-After in seconds is a floor under the backoff, and never shortens it", async () => {
  const asked = (await secondAt({ "retry-after": "5" }))!;
  assert.ok(asked >= 5_000 && asked <= 5_100, String(asked));
  assert.equal(await secondAt({ "retry-after": "0" }), 100, "0 is no floor, and no word to stop");
  assert.equal(await secondAt({}), 100);
});

test("Retry-After as a date is read against the wall clock, in all three of its forms", async () => {
  for (const date of ["Sun, 06 Nov 1994 08:49:47 GMT", "Sunday, 06-Nov-94 08:49:47 GMT", "Sun Nov  6 08:49:47 1994"]) {
    const at = (await secondAt({ "retry-after": date }))!;
    assert.ok(at >= 10_000 && at <= 10_100, `${date}: ${at}`);
  }
  assert.equal(await secondAt({ "retry-after": "Sun, 06 Nov 1994 08:49:30 GMT" }), 100, "a date that has passed");
});

test("a date is read against the response's own Date, where the clocks differ", async () => {
  const at = (await secondAt({ "retry-after": "Mon, 07 Nov 1994 00:00:20 GMT", date: "Mon, 07 Nov 1994 00:00:00 GMT" }))!;
  assert.ok(at >= 20_000 && at <= 20_100, String(at));
});

test("a host may have a wall clock beside its own", async () => {
  const { host, guard } = shim(Object.assign(shim().host, { wallNow: () => WALL }));
  let at: number | undefined;
  const upstream = new Upstream(status(503, { "retry-after": "Sun, 06 Nov 1994 08:49:47 GMT" }), async () => ((at = host.time), status(200)));
  const started = host.time;
  const pending = guard({ retry: { backoff: { base: 1 } } }, { fetch: upstream.fetch }).fetch(URL_A);
  await host.pass(60_000);
  await pending;
  assert.ok(at! - started >= 10_000 && at! - started <= 10_002);
});

test("a Retry-After that is no number and no date is ignored: the backoff stays, and nothing is sent at once", async () => {
  for (const field of ["-3", "+3", "1.5", "3 s", "120abc", "NaN", "Infinity", "0x10", "tomorrow", "1e3", "5, 10", "６", "x".repeat(10_000), "Sun, 06 Nov 1994", ""]) {
    assert.equal(await secondAt({}, {}, field), 100, field.slice(0, 20));
  }
});

test("a Retry-After beyond any reason stops the call, with the response itself", async () => {
  for (const field of ["9999999", "99999999999999999999"]) {
    const { host, guard } = shim();
    const asked = status(503, { "retry-after": field });
    const upstream = new Upstream(asked, status(200));
    const pending = guard({ retry: {} }, { fetch: upstream.fetch }).fetch(URL_A);
    assert.deepEqual(await standOf(pending), { state: "fulfilled", value: asked });
    assert.equal(reportOf(asked)?.stopReason, "retry-after-too-long");
    assert.equal(asked.bodyUsed, false);
    assert.equal(host.timers.length, 0);
  }
  const clamped = (await secondAt({ "retry-after": "9999999" }, { clampRetryAfter: true, maxRetryAfter: "10s" }))!;
  assert.ok(clamped >= 9_900 && clamped <= 10_000, String(clamped));
});

test("a Retry-After may have as many digits as a field has room for, and blanks around them", async () => {
  for (const field of [`${"0".repeat(64)}5`, `${"0".repeat(3_999)}5`, `${" ".repeat(3_999)}5`]) {
    const at = (await secondAt({}, {}, field))!;
    assert.ok(at >= 5_000 && at <= 5_100, `${field.length}: ${at}`);
  }
  for (const field of ["9".repeat(65), "9".repeat(4_000)]) assert.equal(await secondAt({}, {}, field), undefined, "it stops the call");
  for (const field of [`${"0".repeat(4_000)}5`, "9".repeat(4_001)]) assert.equal(await secondAt({}, {}, field), 100, "longer than any field: ignored");
});

test("of two Retry-After fields nobody knows which one counts: both are ignored", async () => {
  assert.equal(await secondAt([["retry-after", "2"], ["retry-after", "60"]]), 100);
  assert.equal(await secondAt([["retry-after", "2"], ["Retry-After", "2"]]), 100);
});

test("a 403 that says when to come again is a 429, and a 529 is a 503", async () => {
  const sentAgain = async (code: number, headers: HeadersInit, method: string): Promise<boolean> => {
    const { host, guard } = shim();
    const upstream = new Upstream(status(code, headers), status(200));
    const pending = guard({ retry: { backoff: { base: 1 } } }, { fetch: upstream.fetch }).fetch(URL_A, { method });
    await host.pass(60_000);
    await pending;
    return upstream.sent.length === 2;
  };
  const asked = { "retry-after": "1" };
  assert.deepEqual(
    await Promise.all([sentAgain(403, asked, "GET"), sentAgain(403, asked, "POST"), sentAgain(403, {}, "GET")]), [true, true, false]);
  assert.deepEqual(
    await Promise.all([sentAgain(529, asked, "POST"), sentAgain(529, {}, "POST"), sentAgain(529, {}, "GET")]), [true, false, true]);
});

test("a call says for itself whether it is repeated: false for never, idempotent: false for what was surely not sent", async () => {
  const sends = async (first: Response, options: object): Promise<[number, unknown]> => {
    const { host, guard } = shim();
    const upstream = new Upstream(first, status(200));
    const pending = guard({ retry: { backoff: { base: 1 } } }, { fetch: upstream.fetch }).fetch(URL_A, { method: "POST" }, options);
    await host.pass(10_000);
    return [upstream.sent.length, reportOf(await pending)?.stopReason];
  };
  for (const first of [() => status(429), () => status(425), () => status(421), () => status(503, { "retry-after": "1" }), () => status(403, { "retry-after": "1" })]) {
    assert.deepEqual(await sends(first(), {}), [2, "completed"]);
    assert.deepEqual(await sends(first(), { idempotent: false }), [1, "not-repeatable"], String(first().status));
    assert.deepEqual(await sends(first(), { retry: false, idempotent: true }), [1, "attempts-exhausted"]);
  }
  assert.deepEqual(await sends(status(521), { idempotent: false }), [2, "completed"]);
  assert.deepEqual(await sends(status(521), { retry: false }), [1, "attempts-exhausted"]);
  assert.deepEqual(await sends(status(413, { "retry-after": "1" }), {}), [1, "not-repeatable"]);
  assert.deepEqual(await sends(status(413, { "retry-after": "1" }), { idempotent: true }), [2, "completed"]);
  assert.deepEqual(await sends(status(413), { idempotent: true }), [1, "not-retryable"]);
  const { guard } = shim();
  assert.match(String(await guard({ retry: {} }).fetch(URL_A, {}, { retry: 3 as never }).catch(String)), /retry: 3 is not allowed/);
});

test("a call that is to be one attempt is not hedged", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream("hang");
  const pending = guard({ timeout: { total: "1s" }, hedge: { after: "100ms" } }, { fetch: upstream.fetch }).fetch(URL_A, {}, { retry: false }).catch(() => {});
  await host.pass(1_000);
  await pending;
  assert.equal(upstream.sent.length, 1);
});

test("where the budget does not pay, report and event say after how long it would", async () => {
  for (const timeout of [false, { total: "10s" }] as const) {
    const { host, guard } = shim();
    const stack = guard({ timeout, retry: { backoff: { base: 1 }, budget: { ratio: 0, reserve: 1, window: "60s" } } }, { fetch: async () => status(500) });
    const waits: unknown[] = [];
    stack.on("exhausted", ({ retryAfterMs }) => waits.push(retryAfterMs));
    const spent = stack.fetch(URL_A);
    await host.pass(20_000);
    await spent;
    const response = await stack.fetch(URL_A);
    const { stopReason, retryAfterMs = assert.fail() } = reportOf(response)!;
    assert.ok(stopReason === "budget-exceeded" && retryAfterMs > 39_000 && retryAfterMs <= 40_000, String(retryAfterMs));
    await quiet();
    assert.equal(waits.at(-1), retryAfterMs);
    // It keeps its word.
    await host.pass(retryAfterMs);
    const again = stack.fetch(URL_A);
    await host.pass(1_000);
    assert.equal(reportOf(await again)?.attempts, 2);
  }
  const { guard } = shim();
  const tokens = guard({ retry: { budget: { kind: "tokenBucket", initial: 0 } } }, { fetch: async () => status(500) });
  const report = reportOf(await tokens.fetch(URL_A))!;
  assert.deepEqual([report.stopReason, report.retryAfterMs], ["budget-exceeded", undefined], "successes fill it, and nobody knows when");
});

test("with less than a millisecond left, nothing is begun and the result in hand is returned at once", async () => {
  for (const [leftMs, sent] of [[1.9, 1], [2, 2]] as const) {
    const { host, guard } = shim();
    const failed = status(503);
    const upstream = new Upstream(async () => ((host.time += 1_000 - leftMs), failed), status(200));
    const pending = guard({ timeout: { total: "1s" }, retry: { backoff: { base: 1, jitter: "none" } } }, { fetch: upstream.fetch }).fetch(URL_A);
    if (sent === 1) assert.equal((await standOf(pending)).state, "fulfilled");
    await host.pass(1);
    await pending;
    assert.equal(upstream.sent.length, sent);
    if (sent === 1) assert.deepEqual([await pending, reportOf(failed)?.stopReason], [failed, "deadline-exceeded"]);
  }
});

test("a Retry-After longer than what is left stops the call now", async () => {
  const { host, guard } = shim();
  const asked = status(429, { "retry-after": "30" });
  const pending = guard({ retry: {}, timeout: { total: "10s" } }, { fetch: new Upstream(asked, status(200)).fetch }).fetch(URL_A);
  assert.deepEqual(await standOf(pending), { state: "fulfilled", value: asked });
  assert.equal(reportOf(asked)?.stopReason, "retry-after-exceeds-deadline");
  assert.equal(host.timers.length, 0);
});

test("a Retry-After belongs to the attempt that returned it: another key's success does not clear it, nor does it reach there", async () => {
  const { host, guard } = shim();
  const sent: string[] = [];
  const stack = guard({ retry: { attempts: 2, budget: false, backoff: { base: 10, jitter: "none" } } }, {
    fetch: async (input) => {
      const url = String(input);
      sent.push(`${url} ${host.time}`);
      if (sent.filter((line) => line.startsWith(url)).length > 1) return status(200);
      return status(503, url.includes("a.") ? { "retry-after": "1" } : {});
    },
  });
  const both = Promise.all([stack.fetch("https://a.example"), stack.fetch("https://b.example")]);
  await host.pass(5_000);
  await both;
  assert.deepEqual(sent.slice(0, 3), ["https://a.example 1000", "https://b.example 1000", "https://b.example 1010"]);
  assert.match(sent[3]!, /^https:\/\/a\.example 20[01]\d$/);
});

test("429 and 503 that say when may be repeated whatever the method; a bare 503 after a POST may not", async () => {
  for (const [first, expected] of [[status(429), 2], [status(503, { "retry-after": "1" }), 2], [status(503), 1], [status(500), 1]] as const) {
    const { host, guard } = shim();
    const upstream = new Upstream(first, status(200));
    const pending = guard({ retry: {} }, { fetch: upstream.fetch }).fetch(URL_A, { method: "POST", body: "x" });
    await host.pass(60_000);
    await pending;
    assert.equal(upstream.sent.length, expected, String(first.status));
  }
});

test("both limits at once: each attempt has its own time, and the total ends whatever runs then", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream("hang");
  const stack = guard({ retry: { attempts: 10, budget: false, backoff: { base: 50, jitter: "none", factor: 1 } }, timeout: { attempt: 300, total: 900 } }, { fetch: upstream.fetch });
  const settled: unknown[] = [];
  stack.on("settled", ({ verdict }) => settled.push(verdict));
  const pending = stack.fetch(URL_A);
  await Promise.all([reasonOf(pending), host.pass(5_000)]);
  const error = (await reasonOf(pending)) as TimeoutError;
  assert.equal(error.elapsedMs, 900);
  assert.equal(error.policy, "deadline");
  assert.equal(upstream.sent.length, 3, "at 0, 350 and 700 ms");
  assert.ok(upstream.sent.every(({ signal }) => signal?.aborted));
  assert.ok(error.cause instanceof TimeoutError, "what the attempt before had come to");
  await quiet();
  assert.deepEqual(settled, ["timeout", "timeout", "timeout"], "one event for each");
  assert.equal(host.timers.length, 0);
});

test("timeouts: false repeats no attempt whose time was up, and everything else as before", async () => {
  for (const [answer, sent, stopReason] of [["hang", 1, "not-retryable"], [new Error("lost"), 3, "attempts-exhausted"]] as const) {
    const { host, guard } = shim();
    const upstream = new Upstream(answer);
    const pending = guard({ timeout: { attempt: 300 }, retry: { timeouts: false, backoff: { base: 1 } } }, { fetch: upstream.fetch }).fetch(URL_A);
    const [error] = await Promise.all([reasonOf(pending), host.pass(5_000)]);
    assert.deepEqual([upstream.sent.length, reportOf(error as Error)?.stopReason], [sent, stopReason]);
    if (answer === "hang") assert.ok(error instanceof TimeoutError && error.policy === "attemptTimeout");
  }
});

test("every attempt meets the upstream anew: the operation is called again, not its promise awaited again", async () => {
  const { host, guard } = shim();
  const stubs: object[] = [];
  const pending = guard({ retry: {} }).execute(({ attempt }) => {
    stubs.push({});
    return attempt < 3 ? Promise.reject(Object.assign(new Error("Durable Object reset because its code was updated."), { durableObjectReset: true })) : "fine";
  });
  await host.pass(10_000);
  assert.equal(await pending, "fine");
  assert.equal(new Set(stubs).size, 3);
});

test("a rejection that the caller handles is never unhandled, however its attempts ended", async () => {
  const unhandled: unknown[] = [];
  const listen = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", listen);
  const { host, guard } = shim();
  for (const config of [{ retry: { budget: false } }, { retry: { budget: false }, timeout: { attempt: 50 } }] as const) {
    for (const operation of [() => Promise.reject(new Error("lost")), () => new Promise((_, reject) => host.arm(60, () => reject(new Error("late"))))]) {
      const pending = guard(config).execute(operation).catch(() => {});
      await Promise.all([pending, host.pass(10_000)]);
    }
  }
  await quiet();
  process.off("unhandledRejection", listen);
  assert.deepEqual(unhandled, []);
});

test("no AbortSignal.any and no AbortSignal.timeout, which leak or are lost on some runtimes", async (t) => {
  t.mock.method(AbortSignal, "any", () => assert.fail("AbortSignal.any"));
  t.mock.method(AbortSignal, "timeout", () => assert.fail("AbortSignal.timeout"));
  const { host, guard } = shim();
  const { signal } = countingSignal();
  const pending = guard({ retry: {}, timeout: {} }, { fetch: new Upstream(status(503), status(200)).fetch }).fetch(URL_A, { signal });
  await host.pass(10_000);
  assert.equal((await pending).status, 200);
});
