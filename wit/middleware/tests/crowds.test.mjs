// Fifty at a time, while clients leave, connections break and bodies stall: nobody's slot stays taken.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { hangUp, meeting, ok, reset, resetBody, slow, stallBody, stallHeaders, startUpstream, status, trickle } from "../../../js/test/support/upstream.mjs";
import { ONE_INSTANCE, serveGuarded } from "./support/serve.mjs";

const SLOTS = 4;
const CROWD = 50;

for (const release of ["headers", "body"]) {
  test(`a crowd whose clients leave and whose upstream fails in every way leaves no call held (until the ${release})`, async (t) => {
    const settings = `
      deadline.total = 2s
      attemptTimeout.attempt = 150ms
      retry.backoff.base = 1ms
      retry.backoff.cap = 10ms
      retry.budget = off
      breaker = off
      bulkhead.concurrency = ${SLOTS}
      bulkhead.queue = 1000
      bulkhead.queueTimeout = off
      bulkhead.release = ${release}
    `;
    const server = await serveGuarded(t, settings, { flags: ONE_INSTANCE });
    const random = words(release.length);
    const behaviours = [ok, status(503), reset, hangUp, slow(100), stallHeaders, stallBody(), resetBody, trickle(5, 10)];
    const upstream = await startUpstream(t, (...all) => behaviours[random(behaviours.length)](...all));
    for (let round = 0; round < 3; round++) {
      const ends = await Promise.all(Array.from({ length: CROWD }, () => visit(server, upstream, random)));
      t.diagnostic(`${ends.filter((end) => end === 200).length} of ${CROWD} answered, ${ends.filter((end) => end === "left").length} left`);
    }
    // Every call is over when its time is up, and nobody reads a body any more.
    await wait(2_100);
    upstream.behave(meeting(SLOTS));
    const met = await Promise.all(Array.from({ length: SLOTS }, async () => (await server.ask(upstream)).status));
    assert.deepEqual(met, Array(SLOTS).fill(200), "somebody's slot is still taken");
    assert.doesNotMatch(server.said(), /trap|panic/);
  });
}

test("fifty requests side by side are one instance's", async (t) => {
  const server = await serveGuarded(t, "retry = off", { flags: ONE_INSTANCE });
  const upstream = await startUpstream(t, ok);
  const before = await server.requests();
  await Promise.all(Array.from({ length: CROWD }, async () => (await server.ask(upstream)).arrayBuffer()));
  assert.equal(await server.requests(), before + CROWD + 1);
});

test("a call that the application drops is cancelled: its connection closes, and its place goes to the next", async (t) => {
  const settings = "deadline = off\nattemptTimeout = off\nbulkhead.concurrency = 1\nbulkhead.queue = 2\nbulkhead.queueTimeout = off";
  const server = await serveGuarded(t, settings, { flags: ONE_INSTANCE });
  for (const headers of [{}, { "x-streamed": "1" }]) {
    const upstream = await startUpstream(t, stallHeaders, ok);
    const dropped = server.ask(upstream, { method: "PUT", body: "put", headers: { ...headers, "x-patience": "1500" } });
    await upstream.requests(1);
    // Both wait in line behind that one, and nothing but its end lets the next one go.
    const next = server.ask(upstream);
    const impatient = server.ask(upstream, { headers: { "x-patience": "50" } });
    assert.equal(await (await impatient).text(), "gave up");
    assert.equal(await (await dropped).text(), "gave up");
    assert.equal((await next).status, 200);
    await upstream.seen[0].left;
  }
});

test("a client that leaves while a body stalls, an answer's or a failure's, gives its slot back", async (t) => {
  const settings = "retry = off\nbulkhead.concurrency = 1\nbulkhead.release = body\nbulkhead.queue = 1\nbulkhead.queueTimeout = 5s";
  const server = await serveGuarded(t, settings, { flags: ONE_INSTANCE });
  for (const code of [200, 503, 429]) {
    const upstream = await startUpstream(t, stallBody(code), ok);
    const client = new AbortController();
    const response = await server.ask(upstream, { signal: client.signal });
    await response.body.getReader().read();
    const next = server.ask(upstream);
    await wait(50);
    assert.equal(upstream.seen.length, 1, "the slot is held");
    client.abort();
    assert.equal((await next).status, 200);
    await upstream.seen[0].left;
  }
});

test("a body that pauses while its slot is held arrives as it was sent", async (t) => {
  const server = await serveGuarded(t, "bulkhead.concurrency = 1\nbulkhead.release = body", { flags: ONE_INSTANCE });
  const upstream = await startUpstream(t, trickle(3, 1_300));
  assert.equal(await (await server.ask(upstream)).text(), "piece 1;piece 2;piece 3;");
});

/** One client: it asks, and leaves after a while unless it was answered by then. */
async function visit(server, upstream, random) {
  const body = random(2) ? { method: "PUT", body: "x".repeat(random(2_000)) } : {};
  const headers = random(2) ? { "x-streamed": "1" } : {};
  try {
    const response = await server.ask(upstream, { ...body, headers, signal: AbortSignal.timeout(50 + random(600)) });
    await response.arrayBuffer();
    return response.status;
  } catch (error) {
    return error.name === "TimeoutError" ? "left" : error.name;
  }
}

/** Numbers below a bound, the same in every run. */
function words(seed) {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}
