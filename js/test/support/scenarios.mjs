// What a guarded call does when its upstream fails: the same on every runtime but where it says otherwise. What counts is
// what the upstream itself has seen.

import assert from "node:assert/strict";
import { test } from "./test.mjs";
import {
  echo, endless, hangUp, ok, onceOthersLeft, refusingUpstream, reset, resetBody, slow, stallBody, stallHeaders, startUpstream, status, trickle,
  unavailableUntil,
} from "./upstream.mjs";

/** Repeats follow at once and cost nothing. */
const RETRY = { attempts: 3, backoff: { base: 1, cap: 1 }, budget: false };
/** Counts, and never opens: it tells what was evidence. */
const WATCHING = { minCalls: 1000, windowCalls: 1000, consecutiveFailures: false };

let guards = 0;

/** Makes a call through a guard of its own, and tells what became of it. */
/** Bodies that can be read only once are not kept, as in Rust. */
const ONCE = { replay: false };

export function caller(runtime) {
  return async function call(upstream, { guard = {}, ...order } = {}) {
    const answer = await runtime.perform({ url: upstream.url, guard: { name: `guard ${++guards}`, retry: RETRY, breaker: WATCHING, ...guard }, ...order });
    // The Rust Worker joins signals by AbortSignal.any: where a signal lives no longer than its request, that leaks nothing.
    if (runtime.name !== "rust") assert.deepEqual(answer.shortcuts, [], "neither AbortSignal.any nor Response.clone() is used");
    const told = (type) => answer.events.filter((event) => event.type === type);
    return {
      ...answer,
      verdicts: told("settled").map(({ verdict }) => verdict),
      sent: told("sent").length,
      stop: answer.report?.stopReason,
      evidence: told("recorded").map(({ counted }) => counted),
    };
  };
}

/** `runtime`: its name, and how it performs an order (perform.mjs). */
export function scenarios(runtime) {
  const call = caller(runtime);

  // ——— connections ———

  test("a refused connection is a network error that is repeated; the last error is handed over as it is", async (t) => {
    const answer = await call(await refusingUpstream(t));
    assert.equal(answer.sent, 3);
    assert.deepEqual(answer.verdicts, ["transient", "transient", "transient"]);
    assert.deepEqual(answer.evidence, ["failure", "failure", "failure"]);
    assert.equal(answer.stop, "attempts-exhausted");
    assert.match(answer.error.name, /^(Type)?Error$/);
    if (runtime.name === "node") assert.equal(answer.error.cause.code, "ECONNREFUSED");
  });

  test("a refused POST is repeated only where the runtime says that nothing was sent", async (t) => {
    const answer = await call(await refusingUpstream(t), { request: { method: "POST", body: "x" } });
    if (runtime.name === "node") assert.deepEqual([answer.sent, answer.stop], [3, "attempts-exhausted"]);
    else assert.deepEqual([answer.sent, answer.stop], [1, "not-repeatable"]);
  });

  for (const [what, fault] of [["reset", reset], ["closed without an answer", hangUp]]) {
    test(`a connection that is ${what} is a network error, and a repeat mends it`, async (t) => {
      const upstream = await startUpstream(t, fault, fault, ok);
      const answer = await call(upstream);
      assert.equal(answer.status, 200);
      assert.equal(answer.body, "fine");
      assert.equal(upstream.seen.length, 3);
      assert.deepEqual(answer.verdicts, ["transient", "transient", "success"]);
      assert.deepEqual(answer.evidence, ["failure", "failure", "success"]);
      assert.deepEqual(answer.report, { ...answer.report, attempts: 3, stopReason: "completed" });
    });

    test(`a POST whose connection is ${what} may have been processed: it is not repeated, and its error is handed over`, async (t) => {
      const upstream = await startUpstream(t, fault);
      const answer = await call(upstream, { request: { method: "POST", body: "x" } });
      assert.equal(upstream.seen.length, 1);
      assert.deepEqual(answer.verdicts, ["transient"]);
      assert.equal(answer.stop, "not-repeatable");
      assert.notEqual(answer.error.name, "RejectedError");
    });
  }

  test("when every connection is reset the last error is handed over, after as many attempts as allowed", async (t) => {
    const upstream = await startUpstream(t, reset);
    const answer = await call(upstream);
    assert.equal(upstream.seen.length, 3);
    assert.equal(answer.stop, "attempts-exhausted");
    assert.notEqual(answer.error.name, "RejectedError");
  });

  test("enough resets open the circuit, and the refusal names the origin and says when to come again", async (t) => {
    const upstream = await startUpstream(t, reset);
    const answer = await call(upstream, { guard: { retry: { ...RETRY, attempts: 9 }, breaker: { consecutiveFailures: 2 } } });
    assert.equal(upstream.seen.length, 2);
    assert.equal(answer.error.name, "RejectedError");
    assert.deepEqual([answer.error.reason, answer.error.policy], ["circuit-open", "breaker"]);
    assert.ok(answer.error.retryAfterMs > 20_000 && answer.error.retryAfterMs <= 30_000);
    assert.notEqual(answer.error.cause, undefined, "its cause is what the last attempt brought");
    assert.equal(answer.report.key, upstream.url.slice(0, -1));
  });

  // ——— stalls ———

  test("headers that never come are cut at the attempt timeout, attempt by attempt, and the upstream sees its clients go", async (t) => {
    const upstream = await startUpstream(t, stallHeaders);
    const answer = await call(upstream, { guard: { timeout: { attempt: 100 }, retry: { ...RETRY, attempts: 2 } } });
    assert.equal(upstream.seen.length, 2);
    assert.deepEqual(answer.verdicts, ["timeout", "timeout"]);
    assert.deepEqual(answer.evidence, ["failure", "failure"]);
    assert.deepEqual([answer.error.name, answer.error.policy, answer.error.attempt], ["TimeoutError", "attemptTimeout", 2]);
    assert.equal(answer.error.cause?.name, "TimeoutError", "its cause is the attempt before");
    await Promise.all(upstream.seen.map(({ left }) => left));
  });

  test("headers that never come end the call at its deadline, where attempts have no limit of their own", async (t) => {
    const upstream = await startUpstream(t, stallHeaders);
    const answer = await call(upstream, { guard: { timeout: { total: 150 } } });
    assert.equal(upstream.seen.length, 1);
    assert.deepEqual([answer.error.name, answer.error.policy], ["TimeoutError", "deadline"]);
    assert.equal(answer.stop, "deadline-exceeded");
    assert.ok(answer.tookMs >= 145 && answer.tookMs < 3_000, `${answer.tookMs} ms`);
    await upstream.seen[0].left;
  });

  test("one attempt that stalls is aborted, and mended by the next one", async (t) => {
    const upstream = await startUpstream(t, stallHeaders, onceOthersLeft(ok));
    const answer = await call(upstream, { guard: { timeout: { attempt: 500 } } });
    assert.equal(answer.body, "fine");
    assert.deepEqual(answer.verdicts, ["timeout", "success"]);
  });

  test("a POST that stalled may have been processed: it is not repeated", async (t) => {
    const upstream = await startUpstream(t, stallHeaders);
    const answer = await call(upstream, { guard: { timeout: { attempt: 100 } }, request: { method: "POST", body: "x" } });
    assert.equal(upstream.seen.length, 1);
    assert.deepEqual([answer.error.name, answer.stop], ["TimeoutError", "not-repeatable"]);
  });

  test("a slow answer within the limit is a success, one slower than slowCall counts as slow", async (t) => {
    const upstream = await startUpstream(t, slow(150));
    const answer = await call(upstream, { guard: { timeout: { attempt: "10s" }, breaker: { ...WATCHING, slowCall: 100 } } });
    assert.equal(answer.status, 200);
    assert.ok(answer.tookMs >= 145);
    assert.equal(answer.metrics.breaker.slow, 1);
  });

  // ——— bodies of answers ———

  test("a body that stalls after its headers is the caller's: the attempt was a success, and no timeout cuts it", async (t) => {
    const upstream = await startUpstream(t, stallBody());
    const answer = await call(upstream, { guard: { timeout: { attempt: 50, total: 100 } }, abort: { afterMs: 500 } });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.verdicts, ["success"]);
    assert.ok(answer.endedAfterMs >= 450, "it was still open when the caller left");
    assert.notEqual(answer.bodyError, undefined, "the caller's signal reaches the body");
    assert.notEqual(answer.bodyError.name, "TimeoutError");
    assert.equal(upstream.seen.length, 1);
    await upstream.seen[0].left;
  });

  test("without timeouts the caller's signal reaches a stalled body too", async (t) => {
    const upstream = await startUpstream(t, stallBody());
    const answer = await call(upstream, { abort: { atHeaders: true } });
    assert.equal(answer.status, 200);
    assert.notEqual(answer.bodyError, undefined);
    await upstream.seen[0].left;
  });

  test("a body that breaks off is the caller's to see: nothing is repeated or resumed after headers", async (t) => {
    const upstream = await startUpstream(t, resetBody, ok);
    const answer = await call(upstream, { guard: { timeout: {} } });
    assert.equal(answer.status, 200);
    assert.notEqual(answer.bodyError, undefined);
    assert.equal(answer.body, undefined);
    assert.equal(upstream.seen.length, 1);
    assert.deepEqual(answer.verdicts, ["success"]);
  });

  test("a body that takes longer than every timeout is readable to its end", async (t) => {
    const upstream = await startUpstream(t, status(503), trickle(10, 40));
    const answer = await call(upstream, { guard: { timeout: { attempt: 150, total: 250 } } });
    assert.equal(answer.body, Array.from({ length: 10 }, (_, i) => `piece ${i + 1};`).join(""));
    assert.ok(answer.endedAfterMs >= 350);
  });

  for (const [shape, timeout] of [["without timeouts", false], ["with timeouts", { attempt: "10s", total: "20s" }]]) {
    test(`bodies of discarded answers are cancelled, ${shape}: the upstream sees its clients go`, async (t) => {
      const upstream = await startUpstream(t, endless(503), stallBody(500), onceOthersLeft(ok));
      const answer = await call(upstream, { guard: { timeout } });
      assert.equal(answer.body, "fine");
      assert.ok(answer.tookMs < 5_000, `at once, and not when garbage is collected: ${answer.tookMs} ms`);
    });
  }

  test("a dozen calls at once whose first answers are all discarded unread do not starve each other", async (t) => {
    const upstream = await startUpstream(t, ...Array(12).fill(endless(503)), ok);
    const answers = await Promise.all(Array.from({ length: 12 }, () => call(upstream, { guard: { timeout: { total: "20s" } } })));
    assert.deepEqual(answers.map(({ body }) => body), Array(12).fill("fine"));
    assert.equal(upstream.seen.length, 24);
  });

  test("an unread 401 is the caller's own, and the next call goes out all the same", async (t) => {
    const upstream = await startUpstream(t, endless(401), ok);
    const first = await call(upstream, { read: false });
    assert.deepEqual([first.status, first.verdicts, first.stop, first.evidence], [401, ["answered"], "not-retryable", ["success"]]);
    assert.equal((await call(upstream)).body, "fine");
  });

  // ——— statuses and what they say about time ———

  test("5xx are repeated; the last one is handed over with its body", async (t) => {
    const upstream = await startUpstream(t, status(500), status(502), status(504, {}, "the last word"));
    const answer = await call(upstream);
    assert.deepEqual([answer.status, answer.body, answer.stop], [504, "the last word", "attempts-exhausted"]);
    assert.deepEqual(answer.verdicts, ["transient", "transient", "transient"]);
  });

  test("statuses that no repeat can mend are handed over at once", async (t) => {
    for (const [code, verdict] of [[404, "answered"], [501, "defect"]]) {
      const upstream = await startUpstream(t, status(code));
      const answer = await call(upstream);
      assert.deepEqual([answer.status, answer.verdicts], [code, [verdict]]);
      assert.equal(upstream.seen.length, 1);
    }
  });

  for (const [how, fault] of [["in seconds", status(503, { "retry-after": "1" })], ["as a date", unavailableUntil(1)]]) {
    for (const method of ["GET", "POST"]) {
      test(`503 with Retry-After ${how}: ${method} is repeated, and not before`, async (t) => {
        const upstream = await startUpstream(t, fault, echo);
        const answer = await call(upstream, { request: method === "POST" ? { method, body: "x" } : {} });
        assert.equal(answer.status, 200);
        assert.deepEqual(JSON.parse(answer.body), { method, body: method === "POST" ? "x" : "", count: 2 });
        const waited = upstream.seen[1].at - upstream.seen[0].at;
        assert.ok(waited >= 995 && waited < 5_000, `came again after ${waited} ms`);
        assert.deepEqual(answer.verdicts, ["overload", "success"]);
      });
    }

    test(`503 with a Retry-After ${how} beyond the deadline: its own answer comes back at once`, async (t) => {
      const upstream = await startUpstream(t, fault);
      const answer = await call(upstream, { guard: { timeout: { total: 700 } } });
      assert.deepEqual([answer.status, answer.stop], [503, "retry-after-exceeds-deadline"]);
      assert.ok(answer.tookMs < 600, `${answer.tookMs} ms`);
      assert.equal(upstream.seen.length, 1);
    });
  }

  test("503 without Retry-After is repeated for GET and not for POST", async (t) => {
    const [get, post] = [await startUpstream(t, status(503), ok), await startUpstream(t, status(503), ok)];
    assert.equal((await call(get)).status, 200);
    const answer = await call(post, { request: { method: "POST", body: "x" } });
    assert.deepEqual([answer.status, answer.stop, post.seen.length], [503, "not-repeatable", 1]);
  });

  test("a Retry-After that is neither whole seconds nor a date is as good as none: no endless wait, no hot loop", async (t) => {
    for (const field of ["-3", "1.5", "soon", "120 s", "2026-01-01T00:00:00Z", "0x10", "1e3"]) {
      const upstream = await startUpstream(t, status(503, { "retry-after": field }));
      const answer = await call(upstream, { guard: { retry: { ...RETRY, backoff: { base: 30, cap: 30, jitter: "none" } } } });
      assert.equal(answer.stop, "attempts-exhausted", field);
      assert.equal(upstream.seen.length, 3);
      assert.ok(answer.tookMs >= 55 && answer.tookMs < 5_000, `${field}: ${answer.tookMs} ms`);
    }
  });

  test("a Retry-After that looks like a year is seconds; one in the past asks for nothing", async (t) => {
    const far = await startUpstream(t, status(503, { "retry-after": "2030" }));
    const answer = await call(far);
    assert.deepEqual([answer.status, answer.stop, far.seen.length], [503, "retry-after-too-long", 1]);
    const past = await startUpstream(t, unavailableUntil(-3_600), ok);
    assert.equal((await call(past)).body, "fine");
  });

  // ——— bodies of requests ———

  test("a POST with a stream that is not kept goes out once, with its bytes, and its answer comes back at once", async (t) => {
    const upstream = await startUpstream(t, status(503, { "retry-after": "1" }));
    const answer = await call(upstream, { options: ONCE, request: { method: "POST", body: "streamed", stream: true, headers: { "idempotency-key": "k" } } });
    assert.deepEqual([answer.status, answer.stop], [503, "body-not-replayable"]);
    assert.ok(answer.tookMs < 900, "no backoff was slept through");
    assert.deepEqual(upstream.seen.map(({ body }) => body), ["streamed"]);
  });

  test("a Request with a body that is not kept goes out once, and the first answer is what comes back", async (t) => {
    const upstream = await startUpstream(t, status(429, { "retry-after": "1" }));
    const answer = await call(upstream, { options: ONCE, request: { method: "PUT", body: "whole", whole: true } });
    assert.deepEqual([answer.status, answer.stop, answer.body], [429, "body-not-replayable", "status 429"]);
    assert.ok(answer.tookMs < 900);
    assert.deepEqual(upstream.seen.map(({ body }) => body), ["whole"]);
  });

  test("a Request with a body that is not kept meets a reset: the network's own error comes back, not one about a used body", async (t) => {
    const upstream = await startUpstream(t, reset);
    const answer = await call(upstream, { options: ONCE, request: { method: "PUT", body: "whole", whole: true } });
    assert.deepEqual([answer.sent, answer.stop], [1, "body-not-replayable"]);
    assert.doesNotMatch(answer.error.message, /body|used|disturbed/i);
  });

  test("a POST with a string and an Idempotency-Key is repeated: the same bytes under the same key", async (t) => {
    const upstream = await startUpstream(t, reset, status(500), echo);
    const body = JSON.stringify({ amount: 12, for: "crème brûlée ✓" });
    const answer = await call(upstream, { request: { method: "POST", body, headers: { "Idempotency-Key": "pay-7" } } });
    assert.deepEqual(JSON.parse(answer.body), { method: "POST", body, count: 3 });
    assert.deepEqual(upstream.seen.map((hit) => hit.body), [body, body, body]);
    assert.deepEqual(new Set(upstream.seen.map(({ headers }) => headers["idempotency-key"])), new Set(["pay-7"]));
    assert.deepEqual(new Set(upstream.seen.map(({ headers }) => headers["content-length"])), new Set([String(Buffer.byteLength(body))]));
  });

  test("getBody makes a stream anew for each attempt: every one arrives whole", async (t) => {
    const upstream = await startUpstream(t, status(503), status(500), ok);
    const answer = await call(upstream, { request: { method: "PUT" }, call: { getBody: "made anew" } });
    assert.equal(answer.status, 200);
    assert.deepEqual(upstream.seen.map(({ body }) => body), ["made anew", "made anew", "made anew"]);
  });

  test("a redirect that needs a stream once more is the caller's mistake: it is sent once", async (t) => {
    const upstream = await startUpstream(t, (response) => response.writeHead(307, { location: "/" }).end());
    const answer = await call(upstream, { options: ONCE, request: { method: "PUT", body: "once", stream: true } });
    assert.notEqual(answer.error, undefined);
    assert.equal(upstream.seen.length, 1);
    // undici says nothing but "fetch failed" here, so Node cannot tell it from a fault on the way.
    if (runtime.name !== "node") assert.deepEqual([answer.verdicts, answer.evidence, answer.stop], [["defect"], [], "not-retryable"]);
  });

  test("redirects that never end are nobody's fault on the way: the call is not repeated, and they are no evidence", async (t) => {
    const upstream = await startUpstream(t, (response) => response.writeHead(302, { location: "/" }).end());
    const answer = await call(upstream);
    assert.deepEqual([answer.sent, answer.verdicts, answer.evidence, answer.stop], [1, ["defect"], [], "not-retryable"]);
  });

  test("a stream that was read before is the caller's mistake: it is sent to nobody, and is no evidence", async (t) => {
    const upstream = await startUpstream(t, ok);
    const answer = await call(upstream, { request: { method: "PUT", body: "used", stream: true, used: true } });
    assert.deepEqual([answer.verdicts, answer.evidence, answer.stop], [["defect"], [], "not-retryable"]);
    assert.equal(upstream.seen.length, 0);
  });

  // ——— the caller leaves ———

  for (const [shape, timeout] of [["without timeouts", false], ["with timeouts", { attempt: "10s", total: "20s" }]]) {
    test(`a caller that leaves in flight, ${shape}: rejected with its reason at once, no evidence, the upstream sees it go`, async (t) => {
      const upstream = await startUpstream(t, stallHeaders);
      const answer = await call(upstream, { guard: { timeout }, abort: { afterMs: 200, reason: "closed the tab" } });
      assert.equal(answer.error, "closed the tab");
      assert.ok(answer.tookMs < 2_000);
      assert.deepEqual([answer.verdicts, answer.evidence], [["cancelled"], []]);
      assert.deepEqual([answer.metrics.breaker.calls, answer.metrics.breaker.state], [0, "closed"]);
      await upstream.seen[0].left;
      assert.equal(upstream.seen.length, 1);
    });

    test(`a caller that leaves in the backoff, ${shape}: rejected with its reason at once, and nothing more is sent`, async (t) => {
      const upstream = await startUpstream(t, status(503, { "retry-after": "15" }));
      const answer = await call(upstream, { guard: { timeout }, abort: { on: "retry", reason: "closed the tab" } });
      assert.equal(answer.error, "closed the tab");
      assert.ok(answer.tookMs < 2_000, `${answer.tookMs} ms`);
      assert.equal(upstream.seen.length, 1);
    });
  }
}
