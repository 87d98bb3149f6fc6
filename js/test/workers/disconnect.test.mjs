// Clients that leave. What their calls held comes back when its lease ends, whoever asks next, and by nothing else: the
// first test makes sure that the runtime really drops the requests.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { test } from "../support/test.mjs";
import { ok, reset, stallHeaders, startUpstream, status } from "../support/upstream.mjs";
import { client, until } from "./support/clients.mjs";
import { startWorker } from "./support/workerd.mjs";

const LEASE_MS = 15_300;
const LATE_EVIDENCE_MS = 601_000;
const WAYS = { "by a reset of its connection": byReset, "by an abort of its service binding's fetch": byBinding };

let worker;
let ask;
before(async () => {
  worker = await startWorker(new URL("disconnect.worker.mjs", import.meta.url));
  ask = worker.ask;
});
after(() => worker?.stop());

// This one stands first, on purpose: the very first requests of the isolate are among those that are dropped.
test("a burst of clients that leave in flight: nothing is held once their leases have ended", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  await byReset({ guard: "limited", url: upstream.url, count: 40 }, upstream);
  const dropped = await ask("/state", { url: upstream.url });
  assert.equal(dropped.inFlight, 40, "the runtime dropped the requests: nobody has said that the calls are over");

  upstream.behave(ok);
  assert.equal((await callTo(upstream)).status, 200, "others are not in their way");
  await ask("/ahead", { ms: LEASE_MS });
  await ask("/refuse"); // before anybody is refused, leases are looked into
  const { events, breakers } = await ask("/state", { url: upstream.url });
  assert.equal(count(events, "leaseEnded", "limited"), 40);
  assert.deepEqual(breakers.limited, { state: "closed", calls: 1, failures: 0, trips: 0 }, "and their leaving was no evidence");

  await ask("/ahead", { ms: LATE_EVIDENCE_MS });
  await ask("/refuse");
  assert.equal((await ask("/state")).inFlight, 0, "nor is anything kept for their late results");
});

test("the same through a service binding", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  await byBinding({ guard: "unlimited", url: upstream.url, count: 20 }, upstream);
  assert.equal((await ask("/state")).inFlight, 20);
  await ask("/ahead", { ms: 61_000 });
  await ask("/refuse");
  assert.equal(count((await ask("/state")).events, "leaseEnded", "unlimited"), 20);
  await ask("/ahead", { ms: LATE_EVIDENCE_MS });
  await ask("/refuse");
  assert.equal((await ask("/state")).inFlight, 0);
});

for (const [way, drop] of Object.entries(WAYS)) {
  for (const [guard, leaseMs] of [["limited", LEASE_MS], ["unlimited", 61_000]]) {
    test(`a probe whose request is dropped (${guard}, ${way}) gives its permit back at the end of its lease; the next one closes the circuit`, async (t) => {
      const upstream = await startUpstream(t, reset, reset, stallHeaders);
      await trip(upstream, guard);
      await drop({ guard, url: upstream.url }, upstream);
      upstream.behave(ok);

      assert.equal((await callTo(upstream, guard)).reason, "circuit-open", "the permit is still out");
      assert.equal(await stateOf(upstream, guard), "half-open");
      await ask("/ahead", { ms: leaseMs });
      assert.equal((await callTo(upstream, guard)).status, 200);
      assert.equal(await stateOf(upstream, guard), "closed");
      assert.equal(upstream.seen.length, 4, "two failures and two probes");
    });
  }
}

test("a probe whose request is dropped has failed at halfOpenTimeout, where that comes first; the circuit recovers after its next trip", async (t) => {
  const upstream = await startUpstream(t, reset, reset, stallHeaders);
  await trip(upstream, "impatient");
  await byReset({ guard: "impatient", url: upstream.url }, upstream);
  upstream.behave(ok);
  await ask("/ahead", { ms: 2_500 });
  assert.equal((await callTo(upstream, "impatient")).reason, "circuit-open");
  await ask("/ahead", { ms: 1_000 });
  assert.equal((await callTo(upstream, "impatient")).status, 200);
  assert.equal(await stateOf(upstream, "impatient"), "closed");
  const triggers = (await ask("/state")).events.filter(({ type, stack }) => type === "opened" && stack === "impatient").map(({ trigger }) => trigger);
  assert.deepEqual(triggers, ["consecutive-failures", "probe-timeout"]);
});

test("in real time, with nobody's help: the permit of a dropped probe is back some five seconds after its attempt's time was up", async (t) => {
  const upstream = await startUpstream(t, reset, reset, stallHeaders);
  await callTo(upstream, "realTime");
  await callTo(upstream, "realTime");
  await until(async () => (await stateOf(upstream, "realTime")) === "half-open");
  await byReset({ guard: "realTime", url: upstream.url }, upstream);
  upstream.behave(ok);
  const since = Date.now();
  await until(async () => (await callTo(upstream, "realTime")).status === 200);
  const took = Date.now() - since;
  assert.ok(took > 4_000 && took < 8_000, `${took} ms`);
  assert.equal(await stateOf(upstream, "realTime"), "closed");
});

test("of a burst that arrives when an open circuit's time is over, as many get through as there are probes", async (t) => {
  const upstream = await startUpstream(t, reset, reset, ok);
  await trip(upstream, "twoProbes");
  const held = [];
  upstream.behave((response) => held.push(response));
  let refused = 0;
  const calls = Array.from({ length: 17 }, async () => {
    const answer = await callTo(upstream, "twoProbes");
    if (answer.reason === "circuit-open") refused++;
    return answer;
  });
  await until(() => refused === 15);
  assert.equal(held.length, 2);
  for (const response of held) response.end("fine");
  const answers = await Promise.all(calls);
  assert.equal(answers.filter(({ status }) => status === 200).length, 2);
  assert.equal(await stateOf(upstream, "twoProbes"), "closed");
});

test("a call given to waitUntil is brought to its end though its client has gone", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  const { inFlight } = await ask("/state");
  const leaving = client(worker.origin, "/call", { guard: "short", url: upstream.url, waitUntil: true });
  const [hit] = await upstream.requests(1);
  leaving.leave();
  await hit.left;
  await until(async () => (await ask("/state")).inFlight === inFlight);
  assert.equal(count((await ask("/state")).events, "done", "short"), 1);
});

test("a call whose request is dropped in its backoff is never heard of again, and stands in nobody's way", async (t) => {
  const upstream = await startUpstream(t, status(503));
  await byBinding({ guard: "repeating", url: upstream.url }, upstream);
  const other = await startUpstream(t, status(503), status(503), ok);
  assert.deepEqual(await callTo(other, "repeating"), { status: 200, body: "fine", attempts: 3 });
  assert.equal(upstream.seen.length, 1, "its timer was dropped with it");
});

// ——— helpers ———

function callTo({ url }, guard = "limited") {
  return ask("/call", { guard, url });
}

/** Two failures open the circuit; then its time is over. */
async function trip(upstream, guard) {
  await callTo(upstream, guard);
  await callTo(upstream, guard);
  assert.equal(await stateOf(upstream, guard), "open");
  await ask("/ahead", { ms: 1_100 });
  assert.equal(await stateOf(upstream, guard), "half-open");
}

async function stateOf({ url }, guard) {
  return (await ask("/state", { url })).breakers[guard].state;
}

/** Clients whose calls hang at the upstream, and that leave together. */
async function byReset({ count: howMany = 1, ...order }, upstream) {
  const before = upstream.seen.length;
  const clients = Array.from({ length: howMany }, () => client(worker.origin, "/call", order));
  const seen = await upstream.requests(before + howMany);
  for (const { leave } of clients) leave();
  await Promise.all(seen.slice(before).map(({ left }) => left));
}

async function byBinding(order, upstream) {
  const before = upstream.seen.length;
  await ask("/abandon", order);
  if (order.guard === "repeating") return;
  await Promise.all(upstream.seen.slice(before).map(({ left }) => left));
}

function count(events, type, stack) {
  return events.filter((event) => event.type === type && event.stack === stack).length;
}
