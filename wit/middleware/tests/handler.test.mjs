// The middleware before a handler, where it is the server's side; and an application that is built as anybody's is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { echo, ok, slow, startUpstream, status } from "../../../js/test/support/upstream.mjs";
import { example, ONE_INSTANCE, serveGuarded } from "./support/serve.mjs";

const QUICK = "retry.backoff.base = 1ms\nretry.backoff.cap = 5ms\nretry.budget = off\n";

test("before a handler the middleware repeats what the handler could not answer", async (t) => {
  const server = await serveGuarded(t, QUICK, { form: "handler" });
  const upstream = await startUpstream(t, status(500), ok);
  assert.equal(await (await server.ask(upstream, { method: "PUT", body: "again" })).text(), "fine");
  assert.deepEqual(upstream.seen.map(({ body }) => body), ["again", "again"]);
});

test("an ordinary application has its requests repeated, and nothing else is different", async (t) => {
  const upstream = await startUpstream(t, status(503), echo);
  const server = await serveExample(t, upstream, QUICK, "client");
  const response = await server.ask(upstream, { method: "PUT", body: "put" });
  assert.deepEqual(await response.json(), { method: "PUT", body: "put", count: 2 });
});

test("a handler that takes too long is answered for, left to itself, and takes nobody along", async (t) => {
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  const late = slow(1_500, (response) => response.on("finish", finish).end("late"));
  const upstream = await startUpstream(t, late, late, ok);
  const server = await serveExample(t, upstream, `${QUICK}retry.attempts = 2\nattemptTimeout.attempt = 300ms`, "handler");
  const began = performance.now();
  const answer = await server.ask(upstream);
  assert.deepEqual([answer.status, await answer.text()], [504, ""]);
  assert.ok(performance.now() - began < 1_400, `took ${performance.now() - began} ms`);
  assert.equal((await server.ask(upstream)).status, 200);
  assert.equal(upstream.seen.length, 3);
  const end = await Promise.race([finished.then(() => "answered"), upstream.seen[0].left.then(() => "left")]);
  assert.equal(end, "answered", "what was given up goes on to its end");
  assert.equal((await server.ask(upstream)).status, 200);
  assert.doesNotMatch(server.said(), /trap|panic|error/);
});

test("where a slot is held until a handler has really ended, no more handlers run than there are slots", async (t) => {
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  const upstream = await startUpstream(t, slow(1_500, (response) => response.on("finish", finish).end("late")), ok);
  const settings = "retry = off\nattemptTimeout.attempt = 300ms\nrefusals = response\nbulkhead.concurrency = 1\nbulkhead.release = settled";
  const server = await serveExample(t, upstream, settings, "handler");
  assert.equal((await server.ask(upstream)).status, 504);
  const refused = await server.ask(upstream);
  assert.deepEqual([refused.status, refused.headers.get("forbear-refused")], [503, "bulkhead-full;policy=bulkhead"]);
  assert.equal(upstream.seen.length, 1);
  await finished;
  let status;
  for (let tries = 0; tries < 50 && status !== 200; tries++) ({ status } = await server.ask(upstream));
  assert.deepEqual([status, upstream.seen.length], [200, 2]);
});

test("a handler whose retry waits for the slot of its own first attempt is repeated when that has ended", async (t) => {
  const upstream = await startUpstream(t, slow(900), ok);
  const settings = `${QUICK}attemptTimeout.attempt = 300ms\nbulkhead.concurrency = 1\nbulkhead.queue = 1\nbulkhead.release = settled`;
  const server = await serveExample(t, upstream, settings, "handler");
  const began = performance.now();
  assert.equal(await (await server.ask(upstream)).text(), "fine");
  assert.ok(performance.now() - began > 800, `took ${performance.now() - began} ms`);
  assert.equal(upstream.seen.length, 2);
});

test("a handler that is not called is answered for, with the time from which it will be", async (t) => {
  const upstream = await startUpstream(t, status(500), ok);
  const server = await serveExample(t, upstream, "retry = off\nbreaker.consecutiveFailures = 1\nbreaker.openFor = 1m\nbreaker.openJitter = 0", "handler");
  assert.equal((await server.ask(upstream)).status, 500);
  const refused = await server.ask(upstream);
  assert.deepEqual([refused.status, await refused.text()], [503, ""]);
  const seconds = Number(refused.headers.get("retry-after"));
  assert.ok(seconds > 50 && seconds <= 60, `${seconds}`);
  assert.equal(upstream.seen.length, 1);
});

const serveExample = (t, upstream, settings, form) =>
  serveGuarded(t, settings, { form, baked: true, app: example, flags: [...ONE_INSTANCE, `--env=UPSTREAM=127.0.0.1:${upstream.port}`] });
