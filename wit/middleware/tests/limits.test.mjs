// Limits hold whatever becomes of the guard: also when the engine no longer knows the call.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ok, stallHeaders, startUpstream } from "../../../js/test/support/upstream.mjs";
import { ONE_INSTANCE, serveGuarded } from "./support/serve.mjs";

const BULKHEAD = "bulkhead.concurrency = 1\nretry = off\n";
/** Longer than a lease of an attempt of one second: so long nobody hears of the first call, and its place goes to the next. */
const BUSY_MS = 6_500;

test("a call that outlived its lease, since another one computed, still ends when its time is up", async (t) => {
  const server = await serveGuarded(t, `${BULKHEAD}attemptTimeout = off\ndeadline.total = 1s`, { flags: ONE_INSTANCE });
  const upstream = await startUpstream(t, stallHeaders, ok);
  const began = performance.now();
  const stalled = server.ask(upstream, { signal: AbortSignal.timeout(BUSY_MS + 8_000) });
  await upstream.requests(1);
  const busy = await server.ask(upstream, { headers: { "x-compute": `${BUSY_MS}` } });
  assert.equal(busy.status, 200, "the place of the first call was taken back");
  assert.match(await (await stalled).text(), /HttpResponseTimeout/);
  const took = performance.now() - began;
  assert.ok(took < BUSY_MS + 1_500, `took ${took} ms`);
  await upstream.seen[0].left;
});

test("a call that waits in line for one that outlived its lease is sent, and ends by its own limits", async (t) => {
  const settings = `${BULKHEAD}bulkhead.queue = 5\nbulkhead.queueTimeout = off\nattemptTimeout.attempt = 1s\ndeadline.total = 9s`;
  const server = await serveGuarded(t, settings, { flags: ONE_INSTANCE });
  const upstream = await startUpstream(t, stallHeaders, ok, stallHeaders);
  const began = performance.now();
  const signal = AbortSignal.timeout(BUSY_MS + 8_000);
  const first = server.ask(upstream, { signal });
  await upstream.requests(1);
  const second = server.ask(upstream, { signal });
  const busy = server.ask(upstream, { headers: { "x-compute": `${BUSY_MS}` } });
  const texts = await Promise.all([first, second, busy].map(async (asked) => (await asked).text()));
  assert.equal(texts.filter((text) => /HttpResponseTimeout/.test(text)).length, 2);
  const took = performance.now() - began;
  assert.ok(took < BUSY_MS + 3_000, `took ${took} ms`);
});
