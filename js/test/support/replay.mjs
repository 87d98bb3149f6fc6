// Bodies that can be read only once, sent again: what the upstream itself has seen.

import assert from "node:assert/strict";
import { caller } from "./scenarios.mjs";
import { test } from "./test.mjs";
import { echo, refusingUpstream, reset, startUpstream, status } from "./upstream.mjs";

const PUT = { method: "PUT", body: "crème brûlée ✓" };
const KEY = { "idempotency-key": "pay-7" };

export function replayScenarios(runtime) {
  const call = caller(runtime);

  for (const [what, fault] of [["a reset", reset], ["a 503", status(503)]]) {
    test(`a Request with a body meets ${what}: it is sent again, the same bytes, of the same length and type`, async (t) => {
      const upstream = await startUpstream(t, fault, fault, echo);
      const answer = await call(upstream, { request: { ...PUT, whole: true, headers: { "content-type": "text/x-dessert" } } });
      assert.deepEqual(JSON.parse(answer.body), { method: "PUT", body: PUT.body, count: 3 });
      const seen = upstream.seen.map(({ body, headers }) => [body, headers["content-length"], headers["content-type"]]);
      assert.deepEqual(seen, Array(3).fill([PUT.body, String(Buffer.byteLength(PUT.body)), "text/x-dessert"]));
    });
  }

  test("a stream is sent again, the same bytes", async (t) => {
    const upstream = await startUpstream(t, reset, echo);
    const answer = await call(upstream, { request: { ...PUT, stream: true } });
    assert.deepEqual([answer.sent, JSON.parse(answer.body).body], [2, PUT.body]);
  });

  test("a Request with a body that meets a refused connection is sent again", async (t) => {
    const upstream = await refusingUpstream(t, echo);
    const answer = await call(upstream, { request: { ...PUT, whole: true } });
    assert.deepEqual([answer.sent, answer.stop], [3, "attempts-exhausted"]);
  });

  test("only what may be repeated is kept: a POST with a key, and none without", async (t) => {
    const upstream = await startUpstream(t, status(500));
    const plain = await call(upstream, { request: { method: "POST", body: "order", whole: true } });
    assert.deepEqual([plain.sent, plain.stop], [1, "not-repeatable"]);
    const keyed = await call(upstream, { request: { method: "POST", body: "order", whole: true, headers: KEY } });
    assert.deepEqual([keyed.sent, keyed.stop], [3, "attempts-exhausted"]);
    assert.deepEqual(upstream.seen.map(({ body }) => body), Array(4).fill("order"));
  });

  test("a body that is longer than what is kept is sent once, whole, and with its length", async (t) => {
    const upstream = await startUpstream(t, status(500));
    const answer = await call(upstream, { options: { replay: 1000 }, request: { method: "PUT", body: "x".repeat(1001), whole: true } });
    assert.deepEqual([answer.sent, answer.status, answer.stop], [1, 500, "body-not-replayable"]);
    assert.deepEqual(upstream.seen.map(({ body, headers }) => [body.length, headers["content-length"]]), [[1001, "1001"]]);
    const exact = await call(upstream, { options: { replay: 1000 }, request: { method: "PUT", body: "x".repeat(1000), whole: true } });
    assert.equal(exact.sent, 3);
  });

  test("12 bodies of a megabyte are each sent again, though 8 MiB are the most: nothing of those before is kept", async (t) => {
    const upstream = await startUpstream(t, ...Array(12).fill([status(500), status(204)]).flat());
    const body = "x".repeat(1_000_000);
    const guard = { name: "12 bodies" };
    for (let i = 0; i < 12; i++) {
      const { status, report } = await call(upstream, { guard, options: { replay: "1MiB" }, request: { method: "PUT", body, whole: true } });
      assert.deepEqual([status, report.attempts], [204, 2]);
    }
    assert.ok(upstream.seen.every((hit) => hit.body === body));
  });
}
