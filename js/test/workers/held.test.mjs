// Slots that are held until the body ends, over real bodies that are slow, cut, cancelled, or read by a client that leaves.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { test } from "../support/test.mjs";
import { endless, ok, resetBody, stallBody, startUpstream, status, trickle } from "../support/upstream.mjs";
import { client, until } from "./support/clients.mjs";
import { idle } from "./support/story.mjs";
import { startWorker } from "./support/workerd.mjs";

/** Two beats of a held call, its grace, and a little more. */
const LEASE_MS = 2 * 10_000 + 5_000 + 1_000;

let worker;
let ask;
before(async () => {
  worker = await startWorker(new URL("waiting.worker.mjs", import.meta.url));
  ask = worker.ask;
});
after(() => worker?.stop());

let guards = 0;

/** One slot, nobody waits for it. */
function oneSlot({ url }) {
  const guard = { name: `body ${++guards}`, timeout: { total: "20s" }, bulkhead: { concurrency: 1, release: "body" } };
  return { guard, url, id: "body" };
}

test("a slow body holds its slot until it has ended, and the next gets it then", async (t) => {
  const upstream = await startUpstream(t, trickle(8, 100), ok);
  const order = oneSlot(upstream);
  const reading = ask("/call", order);
  await upstream.requests(1);
  await until(async () => (await ask("/call", order)).reason === "bulkhead-full", 500);
  assert.equal((await reading).body.split(";").length, 9);
  assert.deepEqual(await ask("/call", order), { status: 200, body: "fine" });
});

test("the same where the Worker hands the body on to its client unread", async (t) => {
  const upstream = await startUpstream(t, trickle(8, 100), ok);
  const order = oneSlot(upstream);
  const response = await fetch(`${worker.origin}/pass`, { method: "POST", body: JSON.stringify(order) });
  assert.equal((await ask("/call", order)).reason, "bulkhead-full");
  assert.equal((await response.text()).split(";").length, 9);
  assert.deepEqual(await ask("/call", order), { status: 200, body: "fine" });
});

test("a body whose upstream hangs up in the middle gives its slot back, and so does one that is cancelled", async (t) => {
  const cut = await startUpstream(t, resetBody, ok);
  const order = oneSlot(cut);
  assert.notEqual((await ask("/call", order)).error, undefined);
  assert.deepEqual(await ask("/call", order), { status: 200, body: "fine" });

  const cancelled = await startUpstream(t, endless(), ok);
  const another = oneSlot(cancelled);
  assert.equal((await ask("/call", { ...another, body: "cancel" })).status, 200);
  assert.deepEqual(await ask("/call", another), { status: 200, body: "fine" });
  await cancelled.seen[0].left;
});

test("a caller that leaves gives the slot back at once, though nobody reads the body", async (t) => {
  for (const timeout of [{}, { timeout: false }]) {
    const upstream = await startUpstream(t, stallBody(), ok);
    const order = oneSlot(upstream);
    Object.assign(order.guard, timeout);
    assert.equal((await ask("/call", { ...order, body: "leave" })).status, 200);
    assert.deepEqual(await ask("/call", order), { status: 200, body: "fine" });
  }
});

test("the last failure's body holds the slot too, and what has no body does not", async (t) => {
  const failing = await startUpstream(t, trickle(8, 100, 503), status(204), ok);
  const order = oneSlot(failing);
  const reading = ask("/call", order);
  await failing.requests(1);
  await until(async () => (await ask("/call", order)).reason === "bulkhead-full", 500);
  assert.equal((await reading).status, 503);
  for (const expected of [{ status: 204, body: "" }, { status: 200, body: "fine" }]) assert.deepEqual(await ask("/call", order), expected);
});

test("a body can be read into one's own buffers", async (t) => {
  const order = oneSlot(await startUpstream(t, ok));
  for (let i = 0; i < 2; i++) assert.deepEqual(await ask("/call", { ...order, body: "buffers" }), { status: 200, body: "fine" });
});

for (const path of ["/call", "/pass"]) {
  test(`a client that leaves in the middle of a body (${path}) holds its slot no longer than its lease`, async (t) => {
    const upstream = await startUpstream(t, stallBody(), ok);
    const order = oneSlot(upstream);
    const leaving = client(worker.origin, path, order);
    await upstream.requests(1);
    await until(async () => (await ask("/call", order)).reason === "bulkhead-full");
    await new Promise((resolve) => setTimeout(resolve, 200)); // headers have come
    leaving.leave();
    await upstream.seen[0].left;
    await ask("/ahead", { ms: LEASE_MS });
    assert.deepEqual(await ask("/call", order), { status: 200, body: "fine" });
    await idle(ask);
  });
}
