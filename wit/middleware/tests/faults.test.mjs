// An application that knows nothing of forbear, behind the middleware, under `wasmtime serve`: what becomes of its requests
// when its upstream fails.

import assert from "node:assert/strict";
import { test } from "node:test";
import { echo, ok, onceOthersLeft, refusingUpstream, reset, slow, stallHeaders, startUpstream, status } from "../../../js/test/support/upstream.mjs";
import { ONE_INSTANCE, serveGuarded } from "./support/serve.mjs";

const QUICK = "retry.backoff.base = 1ms\nretry.backoff.cap = 5ms\nretry.budget = off\n";
const post = { method: "POST", body: "the whole body", headers: { "idempotency-key": "7" } };

test("an upstream that fails twice answers the application at last, with the body it sent", async (t) => {
  const server = await serveGuarded(t, QUICK);
  for (const headers of [{}, { "x-streamed": "1" }, { "x-keep": "1" }]) {
    const upstream = await startUpstream(t, status(503), reset, echo);
    const response = await server.ask(upstream, { ...post, headers: { ...post.headers, ...headers } });
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { method: "POST", body: "the whole body", count: 3 });
    assert.deepEqual(upstream.seen.map(({ body }) => body), Array(3).fill("the whole body"));
  }
});

test("a POST that nobody called repeatable is sent once", async (t) => {
  const server = await serveGuarded(t, QUICK);
  const upstream = await startUpstream(t, status(500), ok);
  assert.equal((await server.ask(upstream, { method: "POST", body: "once" })).status, 500);
  assert.equal(upstream.seen.length, 1);
});

test("a request with the header that the settings name is sent once, whatever it is and whatever comes back", async (t) => {
  const server = await serveGuarded(t, `${QUICK}hedge.after = 50ms\nonce = x-once`);
  const headers = { "X-Once": "", "idempotency-key": "7" };
  for (const [method, answer, expected] of [["GET", status(503), 503], ["POST", status(429), 429], ["PUT", reset, 502], ["GET", slow(200), 200]]) {
    const upstream = await startUpstream(t, answer, ok);
    assert.equal((await server.ask(upstream, { method, headers })).status, expected, method);
    assert.deepEqual(upstream.seen.map(({ headers }) => headers["x-once"]), [""], method);
  }
  const upstream = await startUpstream(t, status(503), ok);
  assert.equal((await server.ask(upstream)).status, 200);
  assert.equal(upstream.seen.length, 2, "without the header it is repeated");
});

test("an attempt that takes too long ends, its connection closes, and the next one answers", async (t) => {
  const server = await serveGuarded(t, `${QUICK}attemptTimeout.attempt = 300ms`);
  const upstream = await startUpstream(t, slow(2_000), onceOthersLeft(ok));
  const began = performance.now();
  const response = await server.ask(upstream, { method: "PUT", body: "put" });
  assert.equal(await response.text(), "fine");
  assert.ok(performance.now() - began < 1_500, `took ${performance.now() - began} ms`);
  assert.equal(upstream.seen.length, 2);
});

test("a call that runs out of time ends as a timeout, and its connection closes", async (t) => {
  const server = await serveGuarded(t, `${QUICK}deadline.total = 400ms\nattemptTimeout = off`);
  const upstream = await startUpstream(t, stallHeaders);
  const response = await server.ask(upstream);
  assert.equal(response.status, 502);
  assert.match(await response.text(), /HttpResponseTimeout/);
  await upstream.seen[0].left;
});

test("a request whose connection was refused is sent again, whatever its method", async (t) => {
  const server = await serveGuarded(t, "retry.backoff.base = 300ms\nretry.backoff.jitter = none");
  const upstream = await refusingUpstream(t, echo);
  const asked = server.ask(upstream, { method: "POST", body: "at last" });
  await new Promise((resolve) => setTimeout(resolve, 100));
  await upstream.listen();
  assert.equal((await (await asked).json()).body, "at last");
});

test("an open circuit refuses at once, for the origin that failed and for no other", async (t) => {
  const server = await serveGuarded(t, "retry = off\nbreaker.consecutiveFailures = 3\nbreaker.openFor = 1m");
  const [failing, fine] = [await startUpstream(t, status(500)), await startUpstream(t, ok)];
  for (let call = 0; call < 3; call++) assert.equal((await server.ask(failing)).status, 500);
  const refused = await server.ask(failing);
  assert.deepEqual([refused.status, await refused.text()], [502, "ErrorCode::HttpRequestDenied"]);
  assert.equal(failing.seen.length, 3);
  assert.equal((await server.ask(fine)).status, 200);
});

test("however an address is written, its circuit is one", async (t) => {
  const server = await serveGuarded(t, "retry = off\nbreaker.consecutiveFailures = 1\nbreaker.openFor = 1m", { flags: ONE_INSTANCE });
  const failing = await startUpstream(t, status(500));
  assert.equal((await server.ask(failing)).status, 500);
  for (const host of ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.1.", "me@127.0.0.1"]) {
    const refused = await server.ask(failing, { headers: { "x-upstream": `${host}:${failing.port}` } });
    assert.match(await refused.text(), /HttpRequestDenied/, host);
  }
  assert.equal(failing.seen.length, 1);
});

test("a 403 that says when to come again is repeated then, and two Retry-After fields say nothing", async (t) => {
  const server = await serveGuarded(t, QUICK);
  const upstream = await startUpstream(t, status(403, { "retry-after": "0" }), ok);
  assert.equal((await server.ask(upstream)).status, 200);
  const ambiguous = await startUpstream(t, status(503, { "retry-after": ["2", "60"] }), ok);
  const began = performance.now();
  assert.equal((await server.ask(ambiguous)).status, 200);
  assert.ok(performance.now() - began < 1_500, `took ${performance.now() - began} ms`);
  const posted = await startUpstream(t, status(503, { "retry-after": ["0", "1"] }), ok);
  assert.equal((await server.ask(posted, { method: "POST", body: "once" })).status, 503);
  assert.equal(posted.seen.length, 1, "nobody said when to come again");
});

test("an Idempotency-Key that is empty is none", async (t) => {
  const server = await serveGuarded(t, QUICK);
  for (const [key, attempts] of [["", 1], ['""', 1], [" ", 1], ["7", 2]]) {
    const upstream = await startUpstream(t, status(500), ok);
    await server.ask(upstream, { method: "POST", body: "once", headers: { "idempotency-key": key } });
    assert.equal(upstream.seen.length, attempts, `"${key}"`);
  }
});

test("where refusals are responses, they say why, by which policy, and when to come again", async (t) => {
  const settings = "retry = off\nrefusals = response\nbreaker.consecutiveFailures = 1\nbreaker.openFor = 1m\nbreaker.openJitter = 0";
  const server = await serveGuarded(t, settings, { flags: ONE_INSTANCE });
  const failing = await startUpstream(t, status(500));
  assert.equal((await server.ask(failing)).status, 500);
  const { status: refused, headers } = await server.ask(failing);
  assert.deepEqual([refused, headers.get("forbear-refused")], [503, "circuit-open;policy=breaker"]);
  const seconds = Number(headers.get("retry-after"));
  assert.ok(seconds > 50 && seconds <= 60, `${seconds} s`);
});

test("a second attempt beside one that is slow answers, and the slow one is given up", async (t) => {
  const server = await serveGuarded(t, "hedge.after = 100ms");
  const upstream = await startUpstream(t, stallHeaders, ok);
  assert.equal(await (await server.ask(upstream)).text(), "fine");
  await upstream.seen[0].left;
  const streamed = await startUpstream(t, slow(400, echo), ok);
  const response = await server.ask(streamed, { method: "PUT", body: "twice", headers: { "x-streamed": "1" } });
  assert.equal((await response.json()).count, 1, "a body of unknown length is sent by one attempt at a time");
});

test("a wrong configuration fails every request, and says what is wrong", async (t) => {
  const server = await serveGuarded(t, "retry.attempts = 99", { flags: ["-Sconfig-var=app.color=red"] });
  const upstream = await startUpstream(t, ok);
  for (let call = 0; call < 2; call++) {
    const response = await server.ask(upstream);
    assert.equal(response.status, 502);
    assert.match(await response.text(), /forbear: retry\.attempts = 99: give a whole number from 1 to 15/);
  }
  assert.equal(upstream.seen.length, 0);
});

test("settings are heeded, whether the host brings them or the component has them in it", async (t) => {
  for (const baked of [false, true]) {
    const server = await serveGuarded(t, "retry = off", { baked });
    const upstream = await startUpstream(t, status(503), ok);
    assert.equal((await server.ask(upstream)).status, 503);
  }
});

test("settings that are wrong are not composed", async (t) => {
  await assert.rejects(serveGuarded(t, "retry.attempts = 99", { baked: true }), {
    message: /settings\.txt: forbear: retry\.attempts = 99: give a whole number from 1 to 15$/,
  });
});
