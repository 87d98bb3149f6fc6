// How results and errors are read, on every runtime we know the words of.

import assert from "node:assert/strict";
import { test } from "node:test";
import { OUTCOMES } from "../src/generated/vocabulary.js";
import { FULFILLED, type Attempt } from "../src/call/call.js";
import { Operation } from "../src/call/operation.js";
import { classified, outcomeOfError } from "../src/http/outcome.js";
import { ConfigError, RejectedError, TimeoutError } from "../src/index.js";
import { reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";

const read = (error: unknown): string => OUTCOMES[outcomeOfError(error)]!;
const caused = (code: string): Error => Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(code), { code }) });

test("connections that were never made: nothing was sent", () => {
  for (const code of ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]) assert.equal(read(caused(code)), "never-sent", code);
  assert.equal(read(Object.assign(new Error("Unable to connect"), { code: "ConnectionRefused" })), "never-sent", "Bun");
  const happyEyeballs = Object.assign(new AggregateError([caused("ECONNREFUSED")]), { code: "ECONNREFUSED" });
  assert.equal(read(new TypeError("fetch failed", { cause: happyEyeballs })), "never-sent");
});

test("connections that the system could not make, and streams that were refused: nothing was sent", () => {
  const connect = (code: string): Error => Object.assign(new Error(`connect ${code} 10.0.0.1:443`), { code, syscall: "connect", address: "10.0.0.1", port: 443 });
  for (const code of ["ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT", "EADDRNOTAVAIL", "ENOENT"]) {
    assert.equal(read(new TypeError("fetch failed", { cause: connect(code) })), "never-sent", code);
  }
  const all = Object.assign(new AggregateError([connect("ETIMEDOUT"), connect("ENETUNREACH")]), { code: "ETIMEDOUT" });
  assert.equal(read(new TypeError("fetch failed", { cause: all })), "never-sent");
  const some = Object.assign(new AggregateError([connect("ECONNREFUSED"), caused("ECONNRESET")]), { code: "ECONNREFUSED" });
  assert.equal(read(new TypeError("fetch failed", { cause: some })), "transient", "one of them was sent");
  assert.equal(read(caused("EAI_FAIL")), "transient");
  assert.equal(read(Object.assign(new Error("getaddrinfo EAI_FAIL"), { code: "EAI_FAIL", syscall: "getaddrinfo" })), "never-sent");
  const cut = Object.assign(new Error("Client network socket disconnected before secure TLS connection was established"), { code: "ECONNRESET" });
  assert.equal(read(new TypeError("fetch failed", { cause: cut })), "never-sent", "a TLS handshake that never ended");
  const refused = Object.assign(new Error("Stream closed with error code NGHTTP2_REFUSED_STREAM"), { code: "ERR_HTTP2_STREAM_ERROR" });
  assert.equal(read(new TypeError("fetch failed", { cause: refused })), "never-sent");
  const cancelled = Object.assign(new Error("Stream closed with error code NGHTTP2_CANCEL"), { code: "ERR_HTTP2_STREAM_ERROR" });
  assert.equal(read(new TypeError("fetch failed", { cause: cancelled })), "transient");
  const deno = new Error("error sending request for url (http://a.example/): client error (Connect): tcp connect error: Connection refused (os error 111)");
  assert.equal(read(new TypeError("fetch failed", { cause: deno })), "never-sent", "Deno");
});

test("certificates that are not accepted and sides that share no TLS are what no repeat mends, as 525 and 526 are", () => {
  for (const code of [
    "CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID", "CERT_REVOKED", "DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "HOSTNAME_MISMATCH",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "INVALID_CA", "CRL_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID",
    "ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE", "EPROTO",
  ]) assert.equal(read(caused(code)), "defect", code);
  for (const code of ["ERR_SSL_UNEXPECTED_EOF_WHILE_READING", "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC", "CONCERT_SOLD_OUT"]) {
    assert.equal(read(caused(code)), "transient", code);
  }
  for (const words of [
    "client error (Connect): invalid peer certificate: UnknownIssuer", "client error (Connect): received fatal alert: ProtocolVersion",
    "client error (Connect): received corrupt message of type InvalidContentType", "The certificate for this server is invalid.",
  ]) assert.equal(read(new TypeError("fetch failed", { cause: new Error(words) })), "defect", words);
});

test("connections that were lost are transient, and may have been processed", () => {
  for (const code of ["ECONNRESET", "EPIPE", "ETIMEDOUT", "ENETUNREACH", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]) {
    assert.equal(read(caused(code)), "transient", code);
  }
});

test("network failures are recognised in the words of every runtime, and in words nobody knows yet", () => {
  for (const error of [
    Object.assign(new Error("Network connection lost."), { retryable: true }),
    new Error("Network connection lost."),
    new Error("internal error; reference = 0a1b2c"),
    new TypeError("fetch failed"),
    new TypeError("terminated"),
    new TypeError("error sending request for url (https://a.example/)"),
    new TypeError("Failed to fetch"),
    new TypeError("Failed to fetch (a.example)"),
    new TypeError("network error"),
    new TypeError("NetworkError when attempting to fetch resource."),
    new TypeError("Load failed (a.example)"),
    new TypeError("The Internet connection appears to be offline."),
    new TypeError("words of an engine yet to come"),
  ]) assert.equal(read(error), "transient", error.message);
});

test("marks that Workers set on errors win over their words", () => {
  assert.equal(read(Object.assign(new Error("Durable Object is overloaded."), { overloaded: true, retryable: true })), "shedding");
  assert.equal(read(Object.assign(new Error("Durable Object reset because its code was updated."), { durableObjectReset: true })), "transient");
  assert.equal(read(new Error("call failed", { cause: Object.assign(new Error(), { code: "ECONNRESET" }) })), "transient");
});

test("the caller's own bugs are nobody's evidence and never repeated", () => {
  for (const error of [
    new TypeError("Body has already been used. It can only be used once. Use tee() first if you need to read it twice."),
    new TypeError("Body is unusable: Body has already been read"),
    new TypeError("Cannot construct a Request with a Request object that has already been used."),
    new TypeError("A request with a one-time-use body (it was initialized from a stream, not a buffer) encountered a redirect requiring the body to be retransmitted."),
    new TypeError("Too many redirects."),
    new TypeError("Invalid URL: nowhere"),
    new TypeError("Fetch failed: Requests to port 1 are blocked"),
    Object.assign(new TypeError("Failed to parse URL from nowhere"), { cause: Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL" }) }),
    new Error("Too many subrequests by single Worker invocation."),
    new Error("Disallowed operation called within global scope. Asynchronous I/O (ex: fetch() or connect()), …"),
    new Error("Cannot perform I/O on behalf of a different request. I/O objects (such as streams, …"),
    new TypeError("Illegal invocation: function called with incorrect `this` reference."),
    new TypeError("RequestInit: duplex option is required when sending a body."),
    new ReferenceError("x is not defined"),
    Object.assign(new Error('Requires net access to "a.example:443", run again with the --allow-net flag'), { name: "NotCapable" }),
    new TypeError("Cannot reconstruct a Request with a used body."),
    new TypeError("Input request's body is unusable"),
    Object.assign(new TypeError("Request body already used"), { code: "ERR_BODY_ALREADY_USED" }),
    new TypeError("Fetch API cannot load: ftp://a.example/"),
    new TypeError("Url scheme 'ftp' not supported"),
    new TypeError("fetch failed", { cause: new Error("integrity mismatch") }),
    new TypeError("fetch failed", { cause: new Error("redirect count exceeded") }),
    new TypeError("Fetch failed: Maximum number of redirects (20) reached"),
    Object.assign(new TypeError("The response redirected too many times."), { code: "TooManyRedirects" }),
    new TypeError("fetch failed", { cause: new Error("unexpected redirect") }),
    new TypeError("Fetch failed: Encountered redirect while redirect mode is set to 'error'"),
    Object.assign(new TypeError("UnexpectedRedirect fetching \"http://a.example/\"."), { code: "UnexpectedRedirect" }),
    caused("UND_ERR_INVALID_ARG"),
    new ConfigError("timeout: not a duration"),
  ]) assert.equal(read(error), "defect", error.message);
});

test("a real invalid URL and a really used body are defects on this runtime too", async () => {
  assert.equal(read(await reasonOf(fetch("nowhere"))), "defect");
  const request = new Request("https://a.example/", { method: "POST", body: "x" });
  await request.text();
  assert.equal(read(await reasonOf(fetch(request))), "defect");
});

test("aborts and timeouts are told apart by name, our own errors by brand", () => {
  assert.equal(read(new DOMException("The operation was aborted", "AbortError")), "cancelled");
  assert.equal(read(caused("UND_ERR_ABORTED")), "cancelled");
  assert.equal(read(new DOMException("The operation was aborted due to timeout", "TimeoutError")), "timeout");
  const details = { stackName: undefined, key: null };
  assert.equal(read(new TimeoutError({ ...details, policy: "deadline", attempt: 1, elapsedMs: 1 })), "timeout");
  assert.equal(read(new RejectedError({ ...details, reason: "circuit-open", policy: "breaker", retryAfterMs: 5 })), "rejected");
});

test("errors of another copy of the package are recognised by their brand", async () => {
  const copy = "?copy"; // the same file under another name is another module
  const other = (await import(`../src/errors.js${copy}`)) as typeof import("../src/errors.js");
  const error = new other.RejectedError({ stackName: undefined, key: null, reason: "circuit-open", policy: "breaker", retryAfterMs: undefined });
  assert.notEqual(other.RejectedError, RejectedError);
  assert.ok(error instanceof RejectedError);
  assert.ok(!(error instanceof TimeoutError));
  assert.ok(!(new Error("circuit-open") instanceof RejectedError));
  assert.equal(read(error), "rejected");
});

test("what is thrown need not be an error", () => {
  for (const thrown of [undefined, null, "words", 7, Symbol("s"), {}, [], () => {}]) assert.equal(read(thrown), "transient");
});

test("of an operation only a response is read as HTTP: any other value is a success", () => {
  const of = (result: unknown): number => new Operation<unknown>(() => 1).outcomeOf({ state: FULFILLED, result } as Attempt<unknown>);
  for (const value of [undefined, null, 503, "503", { status: 503 }, { ok: false, statusCode: 500 }, []]) assert.equal(of(value), 0);
  assert.equal(of(new Response(null, { status: 503 })), 503);
  assert.equal(of(Response.error()), 0, "opaque ones say nothing");
});

test("a classifier reads results its own way: a verdict, a status, or nothing", () => {
  const settled = { ok: true, value: 1 } as const;
  assert.equal(classified(() => undefined, settled, 1), undefined);
  assert.equal(classified(() => "defect", settled, 1), OUTCOMES.indexOf("defect"));
  assert.equal(classified(() => "overload", settled, 1), OUTCOMES.indexOf("unavailable"));
  assert.equal(classified(() => 429, settled, 1), 429);
  for (const said of [99, 1000, NaN, 2.5e9, "nonsense", {}]) assert.throws(() => classified(() => said as never, settled, 1), ConfigError);
});

test("a classifier that throws changes nothing", async () => {
  const { guard } = shim();
  const classify = () => {
    throw new Error("a bug in the classifier");
  };
  const stack = guard({ retry: {} }, { classify });
  assert.equal(await stack.execute(() => 5), 5);
  const error = new TypeError("Invalid URL");
  assert.equal(await reasonOf(stack.execute(() => Promise.reject(error))), error);
  assert.equal(stack.metrics().keys[0]?.verdicts.success, 1);
  assert.equal(stack.metrics().keys[0]?.verdicts.defect, 1);
});

test("a classifier decides whether a plain value is a failure", async () => {
  const { host, guard } = shim();
  const stack = guard({ retry: {} }, { classify: (settled, { attempt }) => (settled.ok && settled.value === "busy" && attempt < 3 ? "transient" : undefined) });
  let calls = 0;
  const pending = stack.execute(() => (++calls, "busy"));
  await host.pass(10_000);
  assert.equal(await pending, "busy");
  assert.equal(calls, 3);
});

test("an error of ours is no instance of a class that is derived from ours, and one of that class is of both", () => {
  class Mine extends RejectedError {}
  const facts = { reason: "circuit-open", policy: "breaker", stackName: undefined, key: null, retryAfterMs: undefined } as const;
  const [theirs, mine] = [new RejectedError(facts), new Mine(facts)];
  assert.deepEqual([theirs instanceof Mine, mine instanceof Mine, mine instanceof RejectedError, mine instanceof TimeoutError], [false, true, true, false]);
});

test("a message is one line, whatever stands in names", () => {
  const facts = { reason: "circuit-open", policy: "breaker", stackName: "a\r\nlevel=info", key: "b\u2028c\u0000", retryAfterMs: undefined } as const;
  assert.equal(new RejectedError(facts).message, "circuit-open in a  level=info for b c ");
  assert.equal(new RejectedError(facts).key, facts.key);
});
