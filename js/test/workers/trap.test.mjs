// The engine dies in the middle of everything. Calls in hand come to their ends, and the next ones are guarded again.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { test } from "../support/test.mjs";
import { ok, reset, slow, stallHeaders, startUpstream, status } from "../support/upstream.mjs";
import { startWorker } from "./support/workerd.mjs";

let worker;
before(async () => {
  worker = await startWorker(new URL("trap.worker.mjs", import.meta.url));
});
after(() => worker?.stop());

const ask = (order) => worker.ask("/", order);

for (const guard of ["plain", "racing"]) {
  test(`${guard}: one call's trap does not stop the others: all in flight get their own answers, and the next call is guarded`, async (t) => {
    const upstream = await startUpstream(t, (response) => held.push(response));
    const held = [];
    const before = await ask();
    const calls = Array.from({ length: 50 }, () => ask({ guard, url: upstream.url }));
    await upstream.requests(50);
    assert.equal((await ask({ deadly: "settle" })).inFlight, before.inFlight + 50);
    // No connection is kept: on one that it finds reset the runtime sends a GET again by itself, which would be counted.
    held.forEach((response, i) => response.writeHead(i % 5 === 0 ? 503 : 200, { connection: "close" }).end(`answer ${i}`));

    const answers = await Promise.all(calls);
    assert.deepEqual(answers.map(({ body }) => body).sort(), held.map((_, i) => `answer ${i}`).sort());
    for (const { status, report } of answers) assert.deepEqual([report.attempts, report.stopReason], [1, "unguarded"], `status ${status}`);
    assert.equal(upstream.seen.length, 50, "nothing was sent twice");

    const after = await ask();
    assert.equal(after.engines, before.engines + 1);
    assert.equal(after.inFlight, 0, "the new engine knows nothing of the old one's calls");
    const traps = after.events.slice(before.events.length).filter(({ type }) => type === "trap");
    assert.deepEqual(traps.map(({ stack, error }) => [stack, error]), [["plain", true], ["racing", true], ["budgeted", true]]);

    upstream.behave(reset, reset);
    const guarded = await ask({ guard, url: upstream.url });
    assert.equal(guarded.reason, "circuit-open");
    assert.equal(upstream.seen.length, 52);
  });

  for (const [verb, what] of [["admit", "before it is sent"], ["due", "in its backoff"]]) {
    test(`${guard}: a call whose engine dies ${what} goes out all the same`, async (t) => {
      const upstream = await startUpstream(t, ...(verb === "due" ? [status(503)] : []), ok);
      const answer = await ask({ guard, url: upstream.url, deadly: verb });
      assert.deepEqual([answer.status, answer.body, answer.report.stopReason, answer.breaker], [200, "fine", "unguarded", "closed"]);
      assert.equal(upstream.seen.length, verb === "due" ? 2 : 1);
      const next = await ask({ guard, url: upstream.url });
      assert.deepEqual([next.status, next.report.stopReason], [200, "completed"]);
    });
  }
}

test("a timeout that was set before the trap still cuts a stalled upstream", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  const other = await startUpstream(t, ok);
  const stalled = ask({ guard: "racing", url: upstream.url });
  await upstream.requests(1);
  assert.equal((await ask({ guard: "plain", url: other.url, deadly: "settle" })).report.stopReason, "unguarded");
  const answer = await stalled;
  assert.equal(answer.error, "TimeoutError");
  assert.ok(answer.tookMs >= 900 && answer.tookMs < 4_000, `${answer.tookMs} ms`);
  assert.equal(upstream.seen.length, 1);
  await upstream.seen[0].left;
});

test("a caller that leaves is heard, even if the engine dies of just that", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  const answer = await ask({ guard: "racing", url: upstream.url, abortAfterMs: 200, deadly: "cancel" });
  assert.equal(answer.error, "TimeoutError"); // the caller's own reason, an AbortSignal.timeout
  assert.equal(answer.reason, undefined);
  assert.ok(answer.tookMs < 900, `${answer.tookMs} ms`);
  await upstream.seen[0].left;
});

test("engine after engine may die, under load, and every call comes to its end", async (t) => {
  const upstream = await startUpstream(t, slow(5));
  const { engines } = await ask();
  const answers = [];
  for (let round = 0; round < 10; round++) {
    const verb = ["admit", "settle"][round % 2];
    answers.push(...(await Promise.all(Array.from({ length: 20 }, (_, i) => ask({ guard: i % 2 ? "plain" : "racing", url: upstream.url, deadly: i === 10 ? verb : undefined })))));
  }
  assert.deepEqual(answers.map(({ body }) => body), Array(200).fill("fine"));
  assert.equal((await ask()).engines, engines + 10);
  assert.equal((await ask()).inFlight, 0);
});

test("a shared object is there in the new engine too, with its settings, and what was spent is forgotten", async (t) => {
  const spend = async () => {
    const upstream = await startUpstream(t, status(500));
    for (let i = 0; i < 4; i++) await ask({ guard: "budgeted", url: upstream.url });
    return upstream.seen.length;
  };
  const before = await spend();
  assert.ok(before > 4 && before <= 7, `${before} attempts`);
  const upstream = await startUpstream(t, ok);
  await ask({ guard: "budgeted", url: upstream.url, deadly: "settle" });
  assert.equal(await spend(), before);
});
