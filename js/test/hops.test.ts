// Errors while redirects are followed: what they prove about the server that was called.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf } from "../src/index.js";
import { reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { status, Upstream } from "./support/upstream.js";

const NAMED = "https://a.example/";
const ADDRESSED = "http://10.0.0.1:8080/";

const failed = (cause: object, words = "what the cause says"): Error => new TypeError("fetch failed", { cause: Object.assign(new Error(words), cause) });
const refused = (address: string, port: number) => failed({ code: "ECONNREFUSED", syscall: "connect", address, port });
const nameless = (hostname: string) => failed({ code: "ENOTFOUND", syscall: "getaddrinfo", hostname });
const several = (...errors: Error[]) => new TypeError("fetch failed", { cause: Object.assign(new AggregateError(errors), { code: "ECONNREFUSED" }) });
const timedOut = (tried: string) => failed({ code: "UND_ERR_CONNECT_TIMEOUT" }, `Connect Timeout Error (attempted address: ${tried}, timeout: 10000ms)`);
const deno = (url: string) => new TypeError("fetch failed", { cause: new Error(`error sending request for url (${url}): client error (Connect): dns error`) });

/** How often a POST is sent that fails so, and what its failures were. */
async function post(url: string, error: Error, init: RequestInit = {}) {
  const { host, guard } = shim();
  const upstream = new Upstream(error, status(200));
  const stack = guard({ retry: {}, breaker: {} }, { fetch: upstream.fetch });
  const counted: string[] = [];
  stack.on("settled", ({ verdict }) => counted.push(verdict));
  const pending = stack.fetch(url, { method: "POST", body: "x", ...init });
  await Promise.all([pending.catch(() => {}), host.pass(10_000)]);
  return { sent: upstream.sent.length, first: counted[0] };
}

test("an error that names the server that was called proves that nothing was sent: any method is repeated", async () => {
  for (const [url, error] of [
    [NAMED, nameless("a.example")], [NAMED, nameless("A.EXAMPLE")], [NAMED, timedOut("a.example:443")], [NAMED, deno(NAMED)],
    [ADDRESSED, refused("10.0.0.1", 8080)], [ADDRESSED, several(refused("10.0.0.1", 8080), refused("10.0.0.1", 8080))],
    ["http://[::1]:8080/", refused("::1", 8080)], ["http://localhost:8080/", several(refused("::1", 8080), refused("127.0.0.1", 8080))],
    [NAMED, failed({ code: "ECONNRESET", host: "a.example", port: 443 }, "Client network socket disconnected before secure TLS connection was established")],
  ] as const) assert.deepEqual(await post(url, error), { sent: 2, first: "transient" }, (error as Error).cause as string);
});

test("an error that names another server says nothing about the one that was called: no evidence, and a POST is not repeated", async () => {
  for (const [url, error] of [
    [NAMED, nameless("b.example")], [NAMED, refused("10.0.0.1", 8443)], [NAMED, timedOut("b.example:443")], [NAMED, deno("https://b.example/")],
    [ADDRESSED, refused("10.0.0.2", 8080)], [ADDRESSED, nameless("a.example")], ["http://localhost:8080/", refused("10.0.0.1", 8080)],
    [ADDRESSED, several(refused("10.0.0.1", 8080), refused("10.0.0.1", 8081))],
    [ADDRESSED, failed({ code: "UND_ERR_SOCKET", socket: { remoteAddress: "10.0.0.1", remotePort: 80 } }, "other side closed")],
  ] as const) assert.deepEqual(await post(url, error), { sent: 1, first: "inconclusive" }, String((error as Error).cause));
});

test("an error that may be about either is evidence, and no proof: a POST is not repeated", async () => {
  for (const [url, error] of [
    [NAMED, refused("10.0.0.1", 443)], [NAMED, failed({ code: "ECONNREFUSED" })], [NAMED, timedOut("10.0.0.1:443")],
    [NAMED, failed({ code: "ERR_HTTP2_STREAM_ERROR" }, "Stream closed with error code NGHTTP2_REFUSED_STREAM")],
  ] as const) assert.deepEqual(await post(url, error), { sent: 1, first: "transient" }, String((error as Error).cause));
});

test("where no redirect is followed every error is about the server that was called", async () => {
  for (const redirect of ["manual", "error"] as const) {
    for (const error of [refused("10.0.0.1", 443), failed({ code: "ECONNREFUSED" }), nameless("proxy.example")]) {
      assert.deepEqual(await post(NAMED, error, { redirect }), { sent: 2, first: "transient" });
    }
  }
  const { host, guard } = shim();
  const upstream = new Upstream(refused("10.0.0.1", 443), status(200));
  const pending = guard({ retry: {} }, { fetch: upstream.fetch }).fetch(new Request(NAMED, { method: "POST", redirect: "manual" }));
  await host.pass(10_000);
  assert.equal((await pending).status, 200);
});

test("what prepare gives in a request's place is the request that an error is about", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream(nameless("b.example"), status(200));
  const pending = guard({ retry: {} }, { fetch: upstream.fetch }).fetch(NAMED, { method: "POST", body: "x" }, {
    prepare: () => new Request("https://b.example/", { method: "POST", body: "x" }),
  });
  await host.pass(10_000);
  assert.equal((await pending).status, 200);
});

/** A response as it comes after redirects. */
function redirected(code: number, url: string, headers: HeadersInit = {}): Response {
  return Object.defineProperties(status(code, headers), { redirected: { value: true }, url: { value: url } });
}

test("a status after redirects proves nothing about the first server: no POST is repeated for it", async () => {
  for (const [target, verdict] of [[`${NAMED}there`, "transient"], ["https://b.example/", "inconclusive"]] as const) {
    for (const answer of [redirected(429, target), redirected(425, target), redirected(521, target), redirected(503, target, { "retry-after": "0" })]) {
      const { host, guard } = shim();
      const upstream = new Upstream(answer, status(200));
      const stack = guard({ retry: {}, breaker: {} }, { fetch: upstream.fetch });
      const verdicts: string[] = [];
      stack.on("settled", ({ verdict }) => verdicts.push(verdict));
      const pending = stack.fetch(NAMED, { method: "POST", body: "x" });
      await host.pass(10_000);
      assert.equal(await pending, answer);
      assert.deepEqual([upstream.sent.length, reportOf(answer)?.stopReason, verdicts], [1, "not-repeatable", [verdict]]);
      assert.equal(stack.breaker(NAMED).failures, verdict === "transient" ? 1 : 0);
    }
  }
});

test("a GET is repeated after redirects, and not before the Retry-After", async () => {
  for (const target of [`${NAMED}there`, "https://b.example/"]) {
    const { host, guard } = shim();
    const at: number[] = [];
    const answers = [redirected(503, target, { "retry-after": "5" }), status(200)];
    const pending = guard({ retry: {} }, { fetch: async () => (at.push(host.time), answers[at.length - 1]!) }).fetch(NAMED);
    await host.pass(10_000);
    assert.equal((await pending).status, 200);
    assert.ok(at[1]! - at[0]! >= 5_000);
  }
});

test("answers and successes after redirects are what they are", async () => {
  for (const [code, verdict] of [[200, "success"], [404, "answered"], [501, "defect"]] as const) {
    const { guard } = shim();
    const stack = guard({ retry: {} }, { fetch: new Upstream(redirected(code, "https://b.example/")).fetch });
    await stack.fetch(NAMED);
    assert.equal(stack.metrics().keys[0]!.verdicts[verdict], 1);
  }
});

test("an operation's response after redirects is the operation's failure, and proves nothing", async () => {
  const { host, guard } = shim();
  const stack = guard({ retry: {}, breaker: {} });
  const answer = redirected(429, "https://b.example/");
  const pending = stack.execute(() => answer, { idempotent: false });
  await Promise.all([pending, host.pass(10_000)]);
  assert.equal(reportOf(answer)?.attempts, 1);
  assert.equal(stack.breaker().failures, 1);
});

test("an error that a hostile hand made changes nothing but itself", async () => {
  for (const cause of [{ hostname: 5, port: "x", code: "ECONNREFUSED" }, { socket: 7, code: "ECONNREFUSED" }, { port: -1, address: Symbol("a").description, code: "ECONNREFUSED" }]) {
    const error = failed(cause);
    const { host, guard } = shim();
    const pending = guard({ retry: { attempts: 2 } }, { fetch: new Upstream(error).fetch }).fetch(NAMED);
    const [reason] = await Promise.all([reasonOf(pending), host.pass(10_000)]);
    assert.equal(reason, error);
  }
});
