// The request's own signal, where the Worker hands it on: a hint that gives back at once what a lease would give back.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { test } from "../support/test.mjs";
import { ok, stallBody, stallHeaders, startUpstream, status } from "../support/upstream.mjs";
import { client, until } from "./support/clients.mjs";
import { startWorker } from "./support/workerd.mjs";

let worker;
before(async () => {
  worker = await startWorker(new URL("request-signal.worker.mjs", import.meta.url), { flags: ["enable_request_signal"] });
});
after(() => worker?.stop());

test("a client that leaves in flight ends its call at once, without evidence", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  const leaving = client(worker.origin, "/", { url: upstream.url });
  const [hit] = await upstream.requests(1);
  assert.equal((await worker.ask("/")).inFlight, 1);
  leaving.leave();
  await hit.left;
  const { events } = await until(async () => {
    const state = await worker.ask("/");
    return state.inFlight === 0 && state;
  });
  assert.deepEqual(events.filter(({ type }) => type === "settled" || type === "recorded").map(({ verdict }) => verdict), ["cancelled"]);
  assert.deepEqual(events.filter(({ type }) => type === "left").map(({ reason }) => reason), ["The client has disconnected"]);
});

test("a client that leaves in the backoff ends it at once, and nothing more is sent", async (t) => {
  const upstream = await startUpstream(t, status(503, { "retry-after": "15" }));
  const leaving = client(worker.origin, "/", { url: upstream.url });
  await upstream.requests(1);
  await until(async () => (await worker.ask("/")).events.some(({ type }) => type === "retry"));
  leaving.leave();
  await until(async () => (await worker.ask("/")).inFlight === 0, 5_000);
  assert.equal(upstream.seen.length, 1);
});

test("a client that stays gets its answer", async (t) => {
  const upstream = await startUpstream(t, ok);
  assert.equal(await worker.ask("/", { url: upstream.url, body: true }), 200);
});

test("a client that leaves while the body is on its way ends that too", async (t) => {
  const upstream = await startUpstream(t, stallBody());
  const leaving = client(worker.origin, "/", { url: upstream.url, body: true });
  const [hit] = await upstream.requests(1);
  await until(async () => (await worker.ask("/")).inFlight === 0);
  leaving.leave();
  await hit.left;
});
