// What callers get in place of failures: fallbacks, and refusals as responses.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, forbear, RejectedError, reportOf, TimeoutError, type Failure, type GuardEvent } from "../src/entry/inline.js";
import { FakeHost, reasonOf } from "./support/host.js";
import { provoke, REFUSALS, upstreamFor } from "./support/refusals.js";
import { hang, status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/path";
const SORRY = { status: 200, headers: { "x-from": "fallback" }, body: "sorry" };
const noRetry = { timeout: { total: "1s" }, breaker: { consecutiveFailures: 1 } } as const;

for (const refusal of REFUSALS) {
  test(`${refusal.reason}: the fallback hears why, and its response is the caller's`, async () => {
    const host = new FakeHost();
    const heard: Failure[] = [];
    const guard = forbear({ name: "api", ...refusal.config }, {
      host, fetch: upstreamFor(refusal).fetch,
      fallback: (failure) => {
        heard.push(failure);
        return new Response("instead");
      },
    });
    await provoke(refusal, guard, host, URL_A);
    heard.length = 0;
    const pending = guard.fetch(URL_A, {}, refusal.call);
    await host.pass(100);
    const response = await pending;
    assert.equal(await response.text(), "instead");
    // The call that is in the way may time out meanwhile.
    const { reason, policy, retryAfterMs, stack, key } = heard.find(({ error }) => error instanceof RejectedError)!;
    assert.deepEqual({ reason, policy, retryAfterMs, stack, key }, { reason: refusal.reason, policy: refusal.policy, retryAfterMs: refusal.retryAfterMs, stack: "api", key: "https://a.example" });
    const { stopReason, fallback } = reportOf(response)!;
    assert.deepEqual({ stopReason, fallback }, { stopReason: "refused", fallback: true });
  });
}

test("a response that is given as a fallback is made anew for each call, and is no evidence", async () => {
  const host = new FakeHost();
  const guard = forbear(noRetry, { host, fetch: new Upstream(status(503)).fetch, fallback: SORRY });
  const [first, second, third] = [await guard.fetch(URL_A), await guard.fetch(URL_A), await guard.fetch(URL_A)];
  assert.deepEqual(await Promise.all([first, second, third].map((response) => response.text())), ["sorry", "sorry", "sorry"]);
  assert.equal(first.headers.get("x-from"), "fallback");
  assert.deepEqual([first, second].map((response) => reportOf(response)?.stopReason), ["attempts-exhausted", "refused"]);
  assert.equal(guard.breaker(URL_A).state, "open");
  assert.equal(guard.metrics().keys[0]!.verdicts.success, 0);
});

test("a fallback is asked when time is up and when repeats are used up, and not for what succeeded or no repeat would change", async () => {
  const host = new FakeHost();
  const responses = [status(200), status(404), status(503), status(503)];
  const upstream = new Upstream(...responses, hang);
  const heard: Failure[] = [];
  const guard = forbear({ timeout: { total: "1s" }, retry: { attempts: 2 } }, {
    host, fetch: upstream.fetch,
    fallback: (failure) => {
      heard.push(failure);
      return new Response("instead");
    },
  });
  assert.equal(await guard.fetch(URL_A), responses[0]);
  assert.equal(await guard.fetch(URL_A), responses[1]);
  assert.equal(heard.length, 0);
  const failing = guard.fetch(URL_A);
  await host.pass(900);
  assert.equal(await (await failing).text(), "instead");
  const late = guard.fetch(URL_A);
  await host.pass(1_000);
  assert.equal(await (await late).text(), "instead");
  const [exhausted, timedOut] = heard;
  assert.deepEqual([exhausted!.reason, exhausted!.response, exhausted!.error, exhausted!.attempts], ["attempts-exhausted", responses[3], undefined, 2]);
  assert.deepEqual([timedOut!.reason, timedOut!.policy, timedOut!.response], ["deadline-exceeded", "deadline", undefined]);
  assert.ok(timedOut!.error instanceof TimeoutError);
});

test("a fallback that gives nothing leaves the failure as it is, and what it throws is the caller's", async () => {
  const host = new FakeHost();
  const bad = status(503);
  const guard = forbear({ retry: false }, { host, fetch: new Upstream(bad).fetch, fallback: () => undefined });
  assert.equal(await guard.fetch(URL_A), bad);
  assert.equal(reportOf(bad)?.fallback, undefined);
  const mine = new Error("mine");
  const fallback = (): never => {
    throw mine;
  };
  assert.equal(await reasonOf(guard.fetch(URL_A, {}, { fallback })), mine);
  assert.equal(await guard.fetch(URL_A, {}, { fallback: false }), bad);
  assert.equal(await (await guard.fetch(URL_A, {}, { fallback: async () => new Response("later") })).text(), "later");
});

test("a failed response that a fallback leaves aside is cancelled, and one that it gives back can be read", async () => {
  const host = new FakeHost();
  const cancelled: string[] = [];
  const body = (name: string): Response => new Response(new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(1)), cancel: () => void cancelled.push(name) }), { status: 503 });
  const fetch = async (input: unknown): Promise<Response> => body(new URL(String(input)).pathname);
  const guard = forbear({ retry: false }, { host, fetch, fallback: ({ response }) => (response!.headers.has("never") ? undefined : new Response("instead")) });
  await guard.fetch("https://a.example/left");
  const error = new Error("mine");
  await reasonOf(guard.fetch("https://a.example/threw", {}, { fallback: () => Promise.reject(error) }));
  assert.deepEqual(cancelled, ["/left", "/threw"]);
  const kept = await guard.fetch("https://a.example/kept", {}, { fallback: ({ response }) => response });
  assert.deepEqual([kept.status, reportOf(kept)?.fallback, cancelled.length], [503, true, 2]);
});

test("a caller that leaves, and a caller's mistake, ask no fallback", async () => {
  const host = new FakeHost();
  let asked = 0;
  const fallback = (): Response => {
    asked++;
    return new Response("instead");
  };
  const guard = forbear({ timeout: {} }, { host, fetch: new Upstream(hang).fetch, fallback });
  const controller = new AbortController();
  const left = reasonOf(guard.fetch(URL_A, { signal: controller.signal }));
  controller.abort("gone");
  assert.equal(await left, "gone");
  assert.ok((await reasonOf(guard.fetch(URL_A, {}, { timeout: "never" as "1s" }))) instanceof ConfigError);
  const prepare = (): never => {
    throw new TypeError("no such header");
  };
  assert.ok((await reasonOf(guard.fetch(URL_A, {}, { prepare }))) instanceof TypeError);
  assert.equal(asked, 0);
});

test("execute has a fallback of its own: a value, or a function of what happened", async () => {
  const host = new FakeHost();
  const guard = forbear({ retry: { attempts: 1 } }, { host, fallback: SORRY });
  const fail = (): Promise<number> => Promise.reject(new Error("no"));
  assert.equal(await guard.execute(fail, { fallback: 7 }), 7);
  assert.equal(await guard.execute(fail, { fallback: ({ attempts, error }) => attempts! + (error as Error).message.length }), 3);
  assert.equal(await guard.execute(() => 1, { fallback: 7 }), 1);
  assert.equal(await guard.execute(() => Promise.reject("text"), { fallback: ({ reason, error }) => `${reason} ${error as string}` }), "undefined text");
  assert.equal(String(await reasonOf(guard.execute(fail))), "Error: no", "the guard's is of fetch alone");
});

test("refusals may be responses: 503 or 504, with the reason and when to come again", async () => {
  for (const refusal of REFUSALS) {
    const host = new FakeHost();
    const guard = forbear(refusal.config, { host, fetch: upstreamFor(refusal).fetch, refusals: { as: "response", shouldRetry: false } });
    await provoke(refusal, guard, host, URL_A);
    const pending = guard.fetch(URL_A, {}, refusal.call);
    await host.pass(100);
    const { status, headers } = await pending;
    const isLate = refusal.reason === "deadline-exceeded";
    assert.deepEqual([status, headers.get("forbear-refused"), headers.get("x-should-retry")], [isLate ? 504 : 503, `${refusal.reason};policy=${refusal.policy}`, "false"]);
    assert.equal(headers.get("retry-after"), refusal.retryAfterMs === undefined ? null : String(Math.ceil(refusal.retryAfterMs / 1_000)));
    assert.equal(reportOf(await pending)?.stopReason, "refused");
  }
});

test("with refusals as responses a timeout is a 504, and what else fails is as it was", async () => {
  const host = new FakeHost();
  const error = new TypeError("no connection");
  const guard = forbear({ timeout: { total: "1s" } }, { host, fetch: new Upstream(hang, error).fetch, refusals: "response" });
  const late = guard.fetch(URL_A);
  await host.pass(1_000);
  assert.deepEqual([(await late).status, (await late).headers.get("x-should-retry"), reportOf(await late)?.stopReason], [504, null, "deadline-exceeded"]);
  assert.equal(await reasonOf(guard.fetch(URL_A)), error);
});

test("an inner guard's refusal is one for the outer guard too, when it comes as a response", async () => {
  const host = new FakeHost();
  const upstream = new Upstream(status(200));
  const inner = forbear({ name: "inner", breaker: {} }, { host, fetch: upstream.fetch, refusals: "response" });
  const outer = forbear({ name: "outer", retry: {}, breaker: {} }, { host, fetch: inner.fetch });
  inner.breaker(URL_A).forceOpen();
  const response = await outer.fetch(URL_A);
  assert.deepEqual([response.status, reportOf(response)?.stopReason, reportOf(response)?.attempts], [503, "refused", 1]);
  assert.equal(outer.breaker(URL_A).calls, 0);
});

test("an event tells of a fallback", async () => {
  const host = new FakeHost();
  const guard = forbear({ name: "api", breaker: {} }, { host, fetch: new Upstream(status(200)).fetch, fallback: SORRY });
  const heard: GuardEvent[] = [];
  guard.on("fallback", (event) => heard.push(event));
  guard.breaker(URL_A).forceOpen();
  await guard.fetch(URL_A);
  await host.pass(0);
  assert.deepEqual(heard.map(({ type, key, policy, stack }) => ({ type, key, policy, stack })), [{ type: "fallback", key: "https://a.example", policy: "breaker", stack: "api" }]);
  assert.deepEqual((heard[0] as { reason?: string }).reason, "circuit-open");
});

test("a fallback or a form of refusals that cannot be is refused where the guard is made", () => {
  for (const [options, message] of [
    [{ fallback: "sorry" }, 'options.fallback: "sorry" is not allowed; expected a function, or { status, headers, body } of a response'],
    [{ fallback: new Response("once") }, "options.fallback: an object is not allowed; expected a function, or { status, headers, body } of a response"],
    [{ fallback: { stauts: 200 } }, 'options.fallback.stauts: unknown; did you mean "status"?'],
    [{ fallback: { status: 99 } }, /^options\.fallback: an object is not allowed \(.+\); expected a function/],
    [{ fallback: { status: 204, body: "x" } }, /^options\.fallback: an object is not allowed \(.+\); expected a function/],
    [{ fallback: { body: new ReadableStream() } }, "options.fallback.body: an object is not allowed; expected text or bytes: a stream could be read only once"],
    [{ refusals: "503" }, 'options.refusals: "503" is not allowed; expected "error", "response", or { as: "response", shouldRetry: false }'],
    [{ refusals: { as: "response", retry: false } }, 'options.refusals.retry: unknown; known are as, shouldRetry'],
    [{ refusals: { as: "response", shouldRetry: "no" } }, 'options.refusals.shouldRetry: "no" is not allowed; expected true or false'],
  ] as const) {
    assert.throws(() => forbear({}, options as object), { name: "ConfigError", message });
  }
});
