// Requests that nobody could have sent: the caller's own mistakes, which say nothing about the upstream.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf } from "../src/index.js";
import { FakeHost, reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";

const URL_A = "https://a.example/";
const BROKEN = { retry: { backoff: { base: 1 } }, breaker: { consecutiveFailures: 1 } };

type Given = [input: unknown, init?: unknown];

/** Everything that an init can hold, wrong. Nothing of it ever leaves this process. */
const MISTAKES: Record<string, Given> = {
  "a line break in a header's value": [URL_A, { headers: { "x-user": "a\nb" } }],
  "a NUL in a header's value": [URL_A, { headers: { "x-user": "a\0b" } }],
  "a header's value beyond Latin-1": [URL_A, { headers: { "x-user": "日本" } }],
  "a header's name with a space": [URL_A, { headers: { "x user": "a" } }],
  "a header without a name": [URL_A, { headers: { "": "a" } }],
  "a header of one part": [URL_A, { headers: [["a"]] }],
  "a header of three parts": [URL_A, { headers: [["a", "b", "c"]] }],
  "headers that are a number": [URL_A, { headers: 5 }],
  "headers that are a string": [URL_A, { headers: "a: b" }],
  "headers that are null": [URL_A, { headers: null }],
  "a header whose value is a symbol": [URL_A, { headers: { a: Symbol("a") } }],
  "wrong headers of a POST": [URL_A, { method: "POST", headers: [["a"]] }],
  "a method with a space": [URL_A, { method: "GE T" }],
  "a method without a letter": [URL_A, { method: "" }],
  "a method that is not supported": [URL_A, { method: "CONNECT" }],
  "a method that is a symbol": [URL_A, { method: Symbol("a") }],
  "a method that is not ASCII": [URL_A, { method: "É" }],
  "an unknown mode": [URL_A, { mode: "none" }],
  "a mode that is not for scripts": [URL_A, { mode: "navigate" }],
  "unknown credentials": [URL_A, { credentials: "none" }],
  "an unknown cache": [URL_A, { cache: "none" }],
  "a cache that wants another mode": [URL_A, { cache: "only-if-cached" }],
  "an unknown redirect": [URL_A, { redirect: "none" }],
  "a referrer that is no URL": [URL_A, { referrer: "http://[" }],
  "an unknown referrerPolicy": [URL_A, { referrerPolicy: "none" }],
  "a window": [URL_A, { window: {} }],
  "an unknown duplex": [URL_A, { method: "POST", body: "x", duplex: "full" }],
  "a dispatcher that dispatches nothing": [URL_A, { dispatcher: {} }],
  "a body on GET": [URL_A, { body: "x" }],
  "an empty body on GET": [URL_A, { body: "" }],
  "a body on HEAD": [URL_A, { method: "HEAD", body: "x" }],
  "a stream on GET": [URL_A, { body: new Blob(["x"]).stream(), duplex: "half" }],
  "a stream without duplex": [URL_A, { method: "POST", body: new Blob(["x"]).stream() }],
  "a body that is a symbol": [URL_A, { method: "POST", body: Symbol("a") }],
  "a body on a Request's GET": [new Request(URL_A), { body: "x" }],
  "headers beside a Request": [new Request(URL_A, { method: "POST", body: "x" }), { headers: { a: "a\nb" } }],
  "a Request that is used up": [usedUp()],
  "a scheme that nobody knows": ["ftp://a.example/"],
  "a scheme without an upstream": ["data:nothing"],
  "a URL that is relative to nothing": ["/path"],
  "an empty URL": [""],
  "a URL with a password": ["https://user:secret@a.example/"],
  "a port that is out of range": ["https://a.example:99999/"],
  "a port that is blocked": ["http://a.example:25/"],
  "no host": ["https://[::1/"],
};

function usedUp(): Request {
  const request = new Request(URL_A, { method: "POST", body: "x" });
  void request.text();
  return request;
}

function onRealFetch(): ReturnType<typeof shim> {
  return shim(Object.assign(new FakeHost(), { fetch: (...call: Parameters<typeof fetch>) => fetch(...call) }));
}

for (const [what, given] of Object.entries(MISTAKES)) {
  for (const [shape, timeout] of [["without timeouts", false], ["with timeouts", {}]] as const) {
    test(`${what} is the caller's mistake, ${shape}: one attempt, the error itself, no evidence`, async () => {
      const { host, guard } = onRealFetch();
      const stack = guard({ ...BROKEN, timeout });
      const [error] = await Promise.all([reasonOf(stack.fetch(...(given as Parameters<typeof fetch>))), host.pass(1_000)]);
      assert.equal((error as Error).constructor, TypeError);
      assert.deepEqual([reportOf(error as Error)?.attempts, reportOf(error as Error)?.stopReason], [1, "not-retryable"]);
      assert.equal(stack.metrics().keys.reduce((sum, { breaker }) => sum + breaker!.calls, 0), 0);
    });
  }
}

test("what a getBody or prepare makes wrong is the caller's mistake too", async () => {
  const { host, guard } = onRealFetch();
  for (const options of [{ getBody: () => "x" }, { prepare: (request: Request) => request.headers.set("a b", "c") }, { prepare: () => 5 as never }]) {
    const stack = guard(BROKEN);
    const [error] = await Promise.all([reasonOf(stack.fetch(URL_A, {}, options)), host.pass(1_000)]);
    assert.deepEqual([reportOf(error as Error)?.attempts, reportOf(error as Error)?.stopReason], [1, "not-retryable"]);
    assert.equal(stack.breaker(URL_A).state, "closed");
  }
});

test("a request that is well and fails in words nobody knows is a fault on the way", async () => {
  for (const init of [{}, { method: "POST", body: "x" }, { method: "PUT", body: new Blob(["x"]).stream(), duplex: "half" }, { headers: [["a", "b"]] as [string, string][] }]) {
    const { host, guard } = shim(Object.assign(new FakeHost(), { fetch: () => Promise.reject(new TypeError("Failed to fetch")) }));
    const stack = guard(BROKEN);
    await Promise.all([reasonOf(stack.fetch(URL_A, init as RequestInit)), host.pass(1_000)]);
    assert.equal(stack.breaker(URL_A).state, "open");
  }
});

test("a fetch of the caller's own may take URLs that no Request can have; the rest is looked at all the same", async () => {
  const failing = (): Promise<Response> => Promise.reject(new TypeError("Failed to fetch"));
  for (const [input, init, expected] of [["/relative", {}, "transient"], ["binding://x/", {}, "transient"], ["/relative", { headers: { a: "a\nb" } }, "defect"]] as const) {
    const { host, guard } = shim();
    const stack = guard({ retry: { attempts: 1 } }, { fetch: failing });
    await Promise.all([reasonOf(stack.fetch(input, init)), host.pass(1_000)]);
    assert.equal(stack.metrics().keys[0]!.verdicts[expected], 1, `${input} ${JSON.stringify(init)}`);
  }
});
