// What was learned outlives the instance: an instance a request, and a store that does all that a store may do.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { endless, hangUp, ok, reset, slow, stallBody, stallHeaders, startUpstream, status } from "../../../js/test/support/upstream.mjs";
import { INSTANCE_A_REQUEST, ONE_INSTANCE, serveGuarded } from "./support/serve.mjs";

const THIRD_FAILURE = "retry = off\nbreaker.consecutiveFailures = 3\nbreaker.openJitter = 0\n";

/** A store that keeps what it is given. */
function keeping() {
  const kept = new Map();
  return (response, { method, url, bytes }) => {
    if (method === "PUT") kept.set(url, bytes);
    response.writeHead(200).end(method === "PUT" ? "" : kept.get(url));
  };
}

const written = (store) => store.seen.filter(({ method }) => method === "PUT").length;

/** Asks, and waits until what that taught is written. */
async function askAndLearn(server, upstream, store) {
  const before = written(store);
  const { status } = await server.ask(upstream);
  while (written(store) === before) await wait(5);
  await store.requests(store.seen.length);
  return status;
}

test("instances that live for a request open a circuit together, for the origin that failed and for no other", async (t) => {
  const store = await startUpstream(t, keeping());
  const server = await serveGuarded(t, `${THIRD_FAILURE}breaker.openFor = 1m\nstate = shop`, { flags: INSTANCE_A_REQUEST, store });
  const [failing, fine] = [await startUpstream(t, status(500)), await startUpstream(t, ok)];
  for (let call = 0; call < 3; call++) {
    assert.equal(await askAndLearn(server, failing, store), 500);
    assert.equal(await askAndLearn(server, fine, store), 200);
  }
  const refused = await server.ask(failing);
  assert.deepEqual([refused.status, await refused.text()], [502, "ErrorCode::HttpRequestDenied"]);
  assert.equal(failing.seen.length, 3);
  assert.equal((await server.ask(fine)).status, 200);
  assert.deepEqual([...new Set(store.seen.map(({ url }) => url))], ["/shop"]);
});

test("without a store every instance begins anew", async (t) => {
  const server = await serveGuarded(t, `${THIRD_FAILURE}breaker.openFor = 1m`, { flags: INSTANCE_A_REQUEST });
  const failing = await startUpstream(t, status(500));
  for (let call = 0; call < 5; call++) assert.equal((await server.ask(failing)).status, 500);
  assert.equal(failing.seen.length, 5);
});

test("time passes while no instance runs: an open circuit probes when its time has come", async (t) => {
  const store = await startUpstream(t, keeping());
  const server = await serveGuarded(t, `${THIRD_FAILURE}breaker.openFor = 800ms\nbreaker.successesToClose = 1\nbreaker.probes = 1`, { flags: INSTANCE_A_REQUEST, store });
  const upstream = await startUpstream(t, status(500), status(500), status(500), ok);
  for (let call = 0; call < 3; call++) await askAndLearn(server, upstream, store);
  assert.equal((await server.ask(upstream)).status, 502);
  await wait(800);
  assert.equal((await server.ask(upstream)).status, 200);
});

test("an instance that lives on writes once a second at most, and what it learned last is written when it is idle", async (t) => {
  const store = await startUpstream(t, keeping());
  const settings = "retry = off\nbreaker.consecutiveFailures = 60\nbreaker.minCalls = 100\nbreaker.openFor = 1m";
  const server = await serveGuarded(t, settings, { flags: ONE_INSTANCE, store });
  const failing = await startUpstream(t, status(500));
  const began = performance.now();
  for (let call = 0; call < 60; call++) assert.equal((await server.ask(failing)).status, 500);
  await wait(1_200);
  // It was written when it was 1, 2, 4, … units old, and then every second.
  const most = 12 + (performance.now() - began) / 1_000;
  t.diagnostic(`60 calls, written ${written(store)} times`);
  assert.ok(written(store) <= most, `written ${written(store)} times`);
  assert.equal(store.seen.filter(({ method }) => method === "GET").length, 1);
  const next = await serveGuarded(t, settings, { store });
  assert.equal((await next.ask(failing)).status, 502, "the next instance knows of all sixty");
});

test("whatever the store does, requests go through, and wait for it for a tenth of a second at most", async (t) => {
  const store = await startUpstream(t, keeping());
  const server = await serveGuarded(t, "retry = off", { flags: INSTANCE_A_REQUEST, store });
  const upstream = await startUpstream(t, ok);
  const ask = async () => {
    const began = performance.now();
    assert.equal(await (await server.ask(upstream)).text(), "fine");
    return performance.now() - began;
  };
  await ask();
  const behaviours = {
    "unavailable": reset, "gone without a word": hangUp, "failing": status(503), "denying": status(403), "too small": status(413),
    "full of garbage": status(200, {}, Buffer.alloc(100_000, 0xa5)), "of another version": status(200, {}, "fbm0".padEnd(500, "x")),
    "full of far too much": status(200, {}, Buffer.alloc(8 << 20, "fbm1")),
    "slow": slow(90), "silent": stallHeaders, "stuck": stallBody(), "without end": endless(),
  };
  for (const [name, behaviour] of Object.entries(behaviours)) {
    store.behave(behaviour);
    const times = await Promise.all(Array.from({ length: 4 }, ask));
    t.diagnostic(`${name}: ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
    // Twenty times the limit: a new instance is made for each, on a machine that may be busy.
    assert.ok(Math.max(...times) < 2_000, `${name}: ${times} ms`);
  }
  assert.doesNotMatch(server.said(), /trap|panic/);
});

test("callers that leave while the store is asked or written take nobody along", async (t) => {
  let turn = 0;
  const keeps = keeping();
  const moods = [keeps, stallHeaders, slow(30), reset, stallBody(), keeps];
  const store = await startUpstream(t, (...all) => moods[turn++ % moods.length](...all));
  const server = await serveGuarded(t, "retry.backoff.base = 1ms", { flags: ["--max-instance-reuse-count=3"], store });
  const upstream = await startUpstream(t, slow(20), ok, status(503), ok);
  const patience = [5, 20, 60, 130, 1_000];
  for (let round = 0; round < 3; round++) {
    await Promise.all(Array.from({ length: 30 }, async (_, place) => {
      const headers = { "x-patience": String(patience[place % patience.length]) };
      const client = AbortSignal.timeout(place % 7 === 0 ? 40 : 10_000);
      await server.ask(upstream, { headers, signal: client }).then((response) => response.text()).catch(() => {}); // some leave in the middle of a body
    }));
  }
  assert.equal(await (await server.ask(upstream)).text(), "fine");
  assert.doesNotMatch(server.said(), /trap|panic|failed/);
});

test("a store that denies is asked once, and not written to", async (t) => {
  const store = await startUpstream(t, status(403));
  const server = await serveGuarded(t, "retry = off", { flags: ONE_INSTANCE, store });
  const upstream = await startUpstream(t, ok);
  for (let call = 0; call < 5; call++) assert.equal((await server.ask(upstream)).status, 200);
  assert.deepEqual(store.seen.map(({ method }) => method), ["GET"]);
});

test("an application in wasmtime's key-value store goes through; that store forgets what it was given", async (t) => {
  const server = await serveGuarded(t, `${THIRD_FAILURE}breaker.openFor = 1m`, { flags: [...INSTANCE_A_REQUEST, "-Skeyvalue"], state: "keyvalue" });
  const failing = await startUpstream(t, status(500));
  for (let call = 0; call < 5; call++) assert.equal((await server.ask(failing)).status, 500);
  assert.equal(failing.seen.length, 5);
  assert.doesNotMatch(server.said(), /trap|panic/);
});
