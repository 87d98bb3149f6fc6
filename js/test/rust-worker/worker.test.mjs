// What only a Rust Worker has: bindings and stubs, a future that is dropped, module scope, and what it exports. And the
// golden vectors, replayed inside it.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "../support/test.mjs";
import { forbear } from "forbear";
import { ok, stallHeaders, startUpstream, status, trickle } from "../support/upstream.mjs";
import { client, until } from "../workers/support/clients.mjs";
import { startRustWorker } from "./support.mjs";

const RETRY = { attempts: 3, backoff: { base: 1, cap: 1 }, budget: false };

let worker;
before(async () => {
  worker = await startRustWorker({ services: { UPSTREAM: new URL("../workers/bound.worker.mjs", import.meta.url) } });
});
after(() => worker?.stop());

const verdicts = ({ events }) => events.filter(({ type }) => type === "settled").map(({ verdict }) => verdict);

test("the golden vectors decide as recorded", async () => {
  const replayed = await worker.ask("/vectors");
  const files = readdirSync(new URL("../../../tests/vectors/", import.meta.url)).filter((name) => name.endsWith(".json"));
  assert.deepEqual(replayed.map(([name]) => `${name}.json`).sort(), files.sort());
  for (const [name, differences] of replayed) assert.deepEqual(differences, [], name);
});

test("a guard made at module scope serves the first request", async (t) => {
  const upstream = await startUpstream(t, status(503), ok);
  const answer = await worker.ask("/", { url: upstream.url, guard: { name: "early" } });
  assert.deepEqual([answer.status, answer.body, answer.report.attempts], [200, "fine", 2]);
});

test("a call whose future is dropped leaves nothing held, counts as left, and its upstream sees it go", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  const answer = await worker.ask("/dropped", { url: upstream.url, guard: { name: "dropped", retry: RETRY, breaker: {}, bulkhead: { concurrency: 1 } } });
  assert.deepEqual([answer.before, answer.after], [1, 0]);
  assert.deepEqual(verdicts(answer), ["cancelled"]);
  await upstream.seen[0].left;
});

test("twenty thousand calls, each with a timer and a caller's signal, leave nothing behind in memory", async () => {
  assert.equal(await worker.ask("/many", { times: 20_000, guard: { name: "many", retry: RETRY, timeout: { attempt: "10s" } } }), 0);
});

test("an outer guard whose time is up is a timeout for the inner one too, whose breaker hears of it", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  const guard = { name: "outer", timeout: { attempt: 150 }, retry: { ...RETRY, attempts: 2 } };
  const answer = await worker.ask("/nested", { url: upstream.url, guard, inner: { name: "inner", breaker: {} } });
  assert.equal(answer.error.name, "TimeoutError");
  assert.deepEqual(verdicts(answer), ["timeout", "timeout"]);
  assert.deepEqual(verdicts({ events: answer.innerEvents }), ["timeout", "timeout"]);
  assert.deepEqual(answer.innerEvents.filter(({ type }) => type === "recorded").map(({ counted }) => counted), ["failure", "failure"]);
  await Promise.all(upstream.seen.map(({ left }) => left));
});

test("an inner guard that refuses is a refusal for the outer one, which passes it on and repeats nothing", async (t) => {
  const upstream = await startUpstream(t, status(500));
  const inner = { name: "refusing", retry: false, breaker: { consecutiveFailures: 1 } };
  const answer = await worker.ask("/nested", { url: upstream.url, guard: { name: "asking", retry: RETRY }, inner });
  assert.deepEqual([answer.error.name, answer.error.reason, upstream.seen.length], ["RejectedError", "circuit-open", 1]);
  assert.deepEqual(verdicts(answer), ["transient", "rejected"]);
});

test("guards that are nested and share a retry budget count each call once, and its repeats wherever they are made", async (t) => {
  const upstream = await startUpstream(t, ok, ok, ok, ok, status(500), ok);
  const guard = { timeout: false, retry: { ...RETRY, budget: { reserve: 5 } } };
  assert.deepEqual(await worker.ask("/nested", { url: upstream.url, guard, shared: true, times: 10 }), { firsts: 10, repeats: 1 });
});

test("clients that reset their connections take their requests with them; what those held comes back, and others go on", async (t) => {
  const upstream = await startUpstream(t, stallHeaders);
  const order = { url: upstream.url, guard: { name: "left", retry: RETRY, timeout: { attempt: 200 }, bulkhead: { concurrency: 3 } } };
  const clients = [1, 2, 3].map(() => client(worker.origin, "/", order));
  await until(() => upstream.seen.length === 3);
  for (const { leave } of clients) leave();
  upstream.behave(ok);
  const began = Date.now();
  const answer = await until(async () => {
    const answer = await worker.ask("/", order);
    return answer.error?.reason !== "bulkhead-full" && answer;
  });
  assert.equal(answer.body, "fine");
  assert.ok(Date.now() - began > 4_000, "they were dropped: nobody has said that the calls are over");
});

test("where the request's own signal is the caller's, what a client held that leaves is free at once", async (t) => {
  const signalling = await startRustWorker({ flags: ["enable_request_signal"] });
  t.after(() => signalling.stop());
  const upstream = await startUpstream(t, stallHeaders);
  const order = { url: upstream.url, guard: { name: "signalled", retry: RETRY, timeout: { attempt: "30s" }, bulkhead: { concurrency: 3 } } };
  const clients = [1, 2, 3].map(() => client(signalling.origin, "/signalled", order));
  await until(() => upstream.seen.length === 3);
  for (const { leave } of clients) leave();
  await Promise.all(upstream.seen.map(({ left }) => left));
  upstream.behave(ok);
  const answer = await until(async () => {
    const answer = await signalling.ask("/", order);
    return answer.error?.reason !== "bulkhead-full" && answer;
  }, 3_000);
  assert.equal(answer.body, "fine");
  const ends = answer.events.filter(({ type }) => type === "settled").map(({ verdict }) => verdict);
  assert.deepEqual(ends, ["cancelled", "cancelled", "cancelled", "success"]);
});

test("whoever stands behind others that leave a rate limiter's line goes as soon as it may, though no request wakes another", async (t) => {
  const upstream = await startUpstream(t, ok);
  const signalling = await startRustWorker({ flags: ["enable_request_signal"] });
  t.after(() => signalling.stop());
  const order = { url: upstream.url, guard: { name: "behind", rateLimiter: { rate: 1, interval: "1s", burst: 1, wait: "1m" } } };
  const began = Date.now();
  assert.equal((await signalling.ask("/", order)).body, "fine");
  const clients = Array.from({ length: 8 }, () => client(signalling.origin, "/signalled", order));
  await sleep(300);
  const last = signalling.ask("/", order);
  await sleep(300);
  for (const { leave } of clients) leave();
  assert.equal((await last).body, "fine");
  // A permit is there after a second; its turn was the ninth.
  assert.equal(upstream.seen.length, 2);
  const after = upstream.seen[1].at - began;
  assert.ok(after >= 990 && after < 4_000, `sent after ${after} ms`);
});

test("a panic takes the instance and all it had learned; the next request has a fresh engine", async (t) => {
  const upstream = await startUpstream(t, ok);
  const order = { url: upstream.url, guard: { name: "doomed" } };
  const before = await worker.ask("/", order);
  assert.equal((await fetch(`${worker.origin}/panic`)).status, 500);
  const after = await worker.ask("/", order);
  assert.deepEqual([after.body, after.events.length], ["fine", before.events.length]);
});

test("a bound Worker that is busy is asked again, and one that stalls is cut by a signal of its own", async () => {
  const ask = (fault, timeout) =>
    worker.ask("/service", { url: `http://bound/${fault}/${fault}`, guard: { name: `service ${fault}`, retry: RETRY, ...timeout } });
  const busy = await ask("busy");
  assert.deepEqual([busy.status, busy.body, busy.report.attempts, busy.report.key], [200, "fine", 3, "bound"]);
  const stalled = await ask("stalled", { timeout: { attempt: 200 } });
  assert.deepEqual([stalled.body, verdicts(stalled)], ["fine", ["timeout", "success"]]);
});

test("a Durable Object that fails is asked again, each time through a fresh stub", async () => {
  const answer = await worker.ask("/object", { url: "http://object/?failures=2", guard: { name: "object", retry: RETRY } });
  assert.deepEqual([answer.status, answer.body, answer.stubs], [200, "asked 3 times", 3]);
});

test("a crowd in front of a bulkhead waits in line, each call by its own timer, and every one is served", async (t) => {
  let running = 0;
  let most = 0;
  const upstream = await startUpstream(t, (response) => {
    most = Math.max(most, ++running);
    setTimeout(() => {
      running--;
      response.end("fine");
    }, 30);
  });
  const guard = { name: "crowd", retry: RETRY, bulkhead: { concurrency: 3, queue: 20, queueTimeout: "10s" } };
  const answers = await Promise.all(Array.from({ length: 15 }, () => worker.ask("/", { url: upstream.url, guard })));
  assert.deepEqual(answers.map(({ body }) => body), Array(15).fill("fine"));
  assert.equal(most, 3);
});

for (const code of [200, 503]) {
  test(`a slot that is held until the body has ended is given back then, and kept while it is read (${code})`, async (t) => {
    const upstream = await startUpstream(t, trickle(4, 100, code), ok);
    const guard = { name: `held ${code}`, bulkhead: { concurrency: 1, release: "body" } };
    const slow = worker.ask("/", { url: upstream.url, guard });
    while (upstream.seen.length === 0) await sleep(5);
    await sleep(150);
    const refused = await worker.ask("/", { url: upstream.url, guard });
    assert.equal(refused.error.reason, "bulkhead-full");
    assert.match((await slow).body, /piece 4/);
    assert.equal((await worker.ask("/", { url: upstream.url, guard })).body, "fine");
  });
}

test("a slot that is held until an attempt has really ended is free when it is given up, since it is dropped then", async (t) => {
  const upstream = await startUpstream(t, stallHeaders, ok);
  const guard = { name: "settled", timeout: { attempt: "150ms" }, bulkhead: { concurrency: 1, release: "settled" } };
  assert.equal((await worker.ask("/", { url: upstream.url, guard })).error.name, "TimeoutError");
  await upstream.seen[0].left;
  assert.equal((await worker.ask("/", { url: upstream.url, guard })).body, "fine");
});

test("a hedge beside a stalled attempt answers, and the loser is aborted", async (t) => {
  const upstream = await startUpstream(t, stallHeaders, ok);
  const answer = await worker.ask("/", { url: upstream.url, guard: { name: "hedge", hedge: { after: 50 } } });
  assert.deepEqual([answer.body, answer.report.attempts], ["fine", 2]);
  await upstream.seen[0].left;
});

test("a signal that had aborted before sends nothing, and no call is counted", async (t) => {
  const upstream = await startUpstream(t, ok);
  const answer = await worker.ask("/", { url: upstream.url, guard: { name: "late" }, abort: { before: true, reason: "gone" } });
  assert.deepEqual([answer.error, answer.events, upstream.seen.length], ["gone", [], 0]);
});

test("the example exports its own handler, and of what it is linked with only what the crate worker brings", async () => {
  const module = await WebAssembly.compile(readFileSync(new URL("index_bg.wasm", EXAMPLE)));
  const own = ({ name }) => !/^(_|init$|intounderlying(source|sink|bytesource)_|wasm_bindgen__convert__closures)/.test(name);
  assert.deepEqual(WebAssembly.Module.exports(module).filter(own).map(({ name }) => name).sort(), ["fetch", "memory"]);
  const handlers = readFileSync(new URL("index.js", EXAMPLE), "utf8").matchAll(/\.prototype\.(?!free|_)(\w+)\s*=/g);
  assert.deepEqual([...handlers].map(([, name]) => name), ["fetch"]);
});

test("a caller who leaves hears how long it had taken, in an attempt or between two", async (t) => {
  const abort = { afterMs: 200, reason: "gone" };
  const stalling = await startUpstream(t, stallHeaders);
  const inAttempt = await worker.ask("/", { url: stalling.url, guard: { name: "left in an attempt" }, abort });
  const failing = await startUpstream(t, status(503));
  const retry = { ...RETRY, backoff: { base: "10s", jitter: "none" } };
  const between = await worker.ask("/", { url: failing.url, guard: { name: "left between two", retry }, abort });
  for (const { error, report } of [inAttempt, between]) {
    assert.deepEqual([error, report.attempts, report.stopReason], ["gone", 1, "cancelled"]);
    assert.ok(report.elapsedMs >= 190, `${report.elapsedMs} ms`);
  }
});

test("an open circuit is saved and restored in a fresh isolate, where it refuses", async (t) => {
  const upstream = await startUpstream(t, status(500));
  const order = { url: upstream.url, guard: { ...OPENING, name: "saved" } };
  await worker.ask("/", order);
  const saved = await worker.ask("/snapshot", order);
  const other = await startRustWorker();
  t.after(() => other.stop());
  assert.equal(await other.ask("/restore", { ...order, saved: saved.with(-1, saved.at(-1) ^ 1) }), false);
  assert.deepEqual(await other.ask("/restore", { ...order, saved }), { restored: ["breaker"], dropped: [] });
  const { error, metrics } = await other.ask("/", order);
  assert.deepEqual([error.reason, metrics.breaker.state, upstream.seen.length], ["circuit-open", "open", 1]);
  const { state } = await other.ask("/circuit", { ...order, url: `${upstream.url}/any/path?of=it` });
  assert.equal(state, "open");
});

test("the JavaScript package reads a Rust Worker's snapshot, and a Rust Worker the package's", async (t) => {
  const upstream = await startUpstream(t, status(500));
  const order = { url: upstream.url, guard: { ...OPENING, name: "carried" } };
  await worker.ask("/", order);
  const saved = await worker.ask("/snapshot", order);
  const there = forbear(order.guard, { host: { now: () => 0 } });
  assert.deepEqual(there.restore(Uint8Array.from(saved)), { restored: ["breaker"], dropped: [] });
  await assert.rejects(there.fetch(upstream.url), { reason: "circuit-open" });
  const back = there.snapshot();
  const other = { ...order, guard: { ...OPENING, name: "carried back" } };
  assert.deepEqual(await worker.ask("/restore", { ...other, saved: [...back] }), { restored: ["breaker"], dropped: [] });
  const { error } = await worker.ask("/", other);
  assert.deepEqual([error.reason, upstream.seen.length], ["circuit-open", 1]);
});

test("a circuit and its counts are read by any URL of its origin, and an operator forces it open before any call", async (t) => {
  const upstream = await startUpstream(t, status(500));
  const order = { url: `${upstream.url}/a`, guard: { ...OPENING, name: "read" } };
  await worker.ask("/", order);
  await worker.ask("/", order);
  const read = await worker.ask("/circuit", { ...order, url: `${upstream.url}/b?c` });
  assert.deepEqual([read.state, read.trips, read.calls, read.transient, read.refused], ["open", 1, 2, 1, 1]);
  assert.ok(read.retryAfterMs > 0);
  const forced = { url: "https://never.called/x", guard: { ...OPENING, name: "forced" }, force: true };
  const circuit = await worker.ask("/circuit", forced);
  assert.deepEqual([circuit.state, circuit.calls], ["forced-open", undefined]);
  assert.deepEqual(circuit.events.map(({ type, key }) => [type, key]), [["opened", "https://never.called"]]);
});

test("while the engine is lent nothing is answered by another one: an error, or no answer and a word in the log", async (t) => {
  const upstream = await startUpstream(t, ok);
  const order = { url: upstream.url, guard: { ...OPENING, name: "lent" } };
  await worker.ask("/", order);
  const { knows, made, answers, afterwards } = await worker.ask("/lent", order);
  assert.deepEqual([knows, answers, afterwards], [true, Array(6).fill(false), true]);
  assert.match(made, /inside with_engine/);
  await until(() => worker.log().match(/has lent it/g)?.length === answers.length);
});

const OPENING = { retry: false, breaker: { consecutiveFailures: 1 } };
const EXAMPLE = new URL("../../../examples/rust-worker/build/", import.meta.url);
