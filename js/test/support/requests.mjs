// What a request's own mistakes and its redirects come to: the same on every runtime but where it says otherwise. What counts
// is what the upstreams themselves have seen.

import assert from "node:assert/strict";
import { caller } from "./scenarios.mjs";
import { test } from "./test.mjs";
import { ok, refusingUpstream, reset, startUpstream, status } from "./upstream.mjs";

const POST = { method: "POST", body: "order" };

/** In Rust the types let nobody make these. */
export function mistakeScenarios(runtime) {
  const call = caller(runtime);

  for (const [what, request] of Object.entries({
    "a line break in a header's value": { headers: { "x-user": "a\nb" } },
    "a header's name with a space": { headers: { "x user": "a" } },
    "a header of one part": { headers: [["a"]] },
    "headers that are a number": { headers: 5 },
    "a method with a space": { method: "GE T" },
    "a method that is not supported": { method: "CONNECT" },
    "a redirect that nobody knows": { redirect: "none" },
    "a cache that nobody knows": { cache: "none" },
    "a body on GET": { body: "x" },
    "a stream on GET": { body: "x", stream: true },
    "wrong headers of a POST": { ...POST, headers: [["a", "b", "c"]] },
  })) {
    test(`${what} is the caller's mistake: one attempt, no evidence, and a good call goes on`, async (t) => {
      const upstream = await startUpstream(t, ok);
      const guard = { name: what, breaker: { consecutiveFailures: 1 } };
      const answer = await call(upstream, { guard, request });
      assert.deepEqual([answer.sent, answer.verdicts, answer.evidence, answer.stop], [1, ["defect"], [], "not-retryable"]);
      assert.notEqual(answer.error.name, "RejectedError");
      assert.equal((await call(upstream, { guard })).body, "fine");
      assert.equal(upstream.seen.length, 1);
    });
  }

  for (const url of ["ftp://127.0.0.1/", "data:nothing", "mailto:a@b.example", "http://127.0.0.1:99999/"]) {
    test(`${url} has no upstream that could be to blame`, async () => {
      const answer = await call({ url });
      assert.deepEqual([answer.sent, answer.verdicts, answer.evidence, answer.stop], [1, ["defect"], [], "not-retryable"]);
    });
  }
}

export function redirectScenarios(runtime) {
  const call = caller(runtime);

  for (const code of [301, 302, 303, 307, 308]) {
    for (const [where, evidence, verdict] of [["the same origin", ["failure"], "transient"], ["another origin", [], "inconclusive"]]) {
      for (const [what, end] of [["429", status(429)], ["425", status(425)], ["521", status(521)], ["503 with Retry-After", status(503, { "retry-after": "0" })]]) {
        test(`a POST that is redirected (${code}) to ${where}, which answers ${what}, is sent once`, async (t) => {
          const target = await startUpstream(t, end);
          const upstream = await startUpstream(t, ...(where === "another origin" ? [redirect(code, target.url)] : [redirect(code, "/there"), end]));
          const answer = await call(upstream, { request: POST });
          assert.deepEqual([answer.sent, answer.verdicts, answer.evidence, answer.stop], [1, [verdict], evidence, "not-repeatable"]);
          assert.equal(upstream.seen.filter(({ url }) => url === "/").length, 1);
        });
      }
    }
  }

  test("a GET is repeated after redirects, and not before their Retry-After; another origin's failures open no circuit", async (t) => {
    const target = await startUpstream(t, status(503, { "retry-after": "1" }), status(500), ok);
    const upstream = await startUpstream(t, redirect(302, target.url));
    const answer = await call(upstream, { guard: { breaker: { consecutiveFailures: 1 } } });
    assert.deepEqual([answer.body, answer.verdicts, answer.evidence], ["fine", ["inconclusive", "inconclusive", "success"], ["success"]]);
    assert.ok(target.seen[1].at - target.seen[0].at >= 995);
    assert.equal(upstream.seen.length, 3);
  });

  for (const [what, there] of [["refuses connections", async (t) => (await refusingUpstream(t)).url], ["has no name", () => "http://nowhere.invalid/"]]) {
    test(`a POST that is redirected to a server that ${what} is sent once`, async (t) => {
      const upstream = await startUpstream(t, redirect(303, await there(t)));
      const answer = await call(upstream, { request: POST });
      assert.deepEqual([answer.sent, answer.stop, upstream.seen.length], [1, "not-repeatable", 1]);
      // Only Node tells at which server it failed.
      assert.deepEqual([answer.verdicts, answer.evidence], runtime.name === "node" ? [["inconclusive"], []] : [["transient"], ["failure"]]);
    });
  }

  test("a POST that is redirected to a server that resets the connection is sent once", async (t) => {
    const target = await startUpstream(t, reset);
    const upstream = await startUpstream(t, redirect(303, target.url));
    const answer = await call(upstream, { request: POST });
    assert.deepEqual([answer.sent, answer.stop, upstream.seen.length], [1, "not-repeatable", 1]);
  });

  test("where redirects are the caller's to follow, the first server's answer is the answer", async (t) => {
    const target = await startUpstream(t, status(429));
    const upstream = await startUpstream(t, redirect(303, target.url));
    const answer = await call(upstream, { request: { ...POST, redirect: "manual" } });
    const shown = runtime.name === "browser" ? 0 : 303; // pages are not told
    assert.deepEqual([answer.status, answer.verdicts, answer.sent, target.seen.length], [shown, ["success"], 1, 0]);
  });
}

const redirect = (code, location) => status(code, { location });
