// What a Rust Worker's guard reads off a request and off what came of it: whose state it meets, whose mistake it was, and what
// may be sent again.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before } from "node:test";
import { test } from "../support/test.mjs";
import { echo, ok, refusingUpstream, reset, startUpstream, status } from "../support/upstream.mjs";
import { startRustWorker } from "./support.mjs";

const RETRY = { attempts: 3, backoff: { base: 1, cap: 1 }, budget: false };
/** One failure opens it. */
const FRAIL = { consecutiveFailures: 1 };

let worker;
before(async () => {
  worker = await startRustWorker({ services: { UPSTREAM: new URL("../workers/bound.worker.mjs", import.meta.url) } });
});
after(() => worker?.stop());

let guards = 0;
const guard = (policies) => ({ name: `guard ${++guards}`, retry: RETRY, ...policies });
const verdicts = ({ events }) => events.filter(({ type }) => type === "settled").map(({ verdict }) => verdict);

// ——— whose state it meets ———

test("a password in a URL is in no key, and another user of the same origin meets the same circuit", async (t) => {
  const upstream = await startUpstream(t, reset);
  const origin = upstream.url.slice(0, -1);
  const order = { guard: guard({ retry: false, breaker: FRAIL }) };
  const as = (user) => worker.ask("/", { ...order, url: upstream.url.replace("//", `//${user}@`) });
  const alice = await as("alice:s3cret");
  assert.equal(alice.report.key, origin);
  assert.doesNotMatch(JSON.stringify(alice.events), /alice|s3cret/);
  const bob = await as("bob:x");
  assert.deepEqual([bob.error.reason, bob.report.key, upstream.seen.length], ["circuit-open", origin, 1]);
  const saved = String.fromCharCode(...(await worker.ask("/snapshot", order)));
  assert.ok(saved.includes(origin) && !/alice|s3cret/.test(saved));
  const read = await worker.ask("/circuit", { ...order, url: `${upstream.url.replace("//", "//carol:y@")}any/path` });
  assert.equal(read.state, "open");
});

test("an address is one key however it is written, and so is a name", async (t) => {
  const upstream = await startUpstream(t, reset);
  const order = { guard: guard({ retry: false, breaker: FRAIL }) };
  await worker.ask("/", { ...order, url: upstream.url });
  for (const host of ["127.1", "0x7f.1", "2130706433", "127.0.0.1.", "0177.0.0.1"]) {
    const { error, report } = await worker.ask("/", { ...order, url: upstream.url.replace("127.0.0.1", host) });
    assert.deepEqual([error.reason, report.key], ["circuit-open", upstream.url.slice(0, -1)], host);
  }
  const named = { guard: guard({ retry: false }) };
  const key = async (url) => (await worker.ask("/", { ...named, url, abort: { before: true } })).report.key;
  assert.deepEqual(await Promise.all(["HTTPS://Host.Example:443/a", "https://u:p@host.example", "https://h%6fst.example?q"].map(key)),
    Array(3).fill("https://host.example"));
});

test("of a long key's name the same is kept as on every host", async () => {
  const { cases } = JSON.parse(readFileSync(new URL("../../../tests/names.json", import.meta.url), "utf8"));
  const told = (pieces) => pieces.map(([text, times = 1]) => text.repeat(times)).join("");
  for (const { about, name, kept } of cases.filter(({ name }) => !told(name).includes("://"))) {
    const order = { url: told(name), guard: guard({ breaker: FRAIL }), force: true };
    const { events, state } = await worker.ask("/circuit", order);
    assert.deepEqual([events.map(({ key }) => key), state], [[told(kept)], "forced-open"], about);
    assert.equal((await worker.ask("/circuit", { ...order, url: told(kept), force: false })).state, "forced-open", about);
  }
});

// ——— whose mistake it was ———

for (const [what, order] of [
  ["a body that its maker does not make", { request: { method: "PUT" }, call: { noBody: "there is none today" } }],
  ["a scheme that the runtime does not fetch", { url: "ftp://127.0.0.1/" }],
  ["a body on a GET", { request: { body: "x" } }],
]) {
  test(`${what} is the caller's mistake: one attempt, its own error, no evidence`, async (t) => {
    const upstream = await startUpstream(t, ok);
    const made = { url: upstream.url, guard: guard({ breaker: FRAIL }), ...order };
    const answer = await worker.ask("/", made);
    assert.notEqual(answer.error.name, "RejectedError");
    assert.deepEqual([verdicts(answer), answer.report.attempts, answer.report.stopReason], [["defect"], 1, "not-retryable"]);
    assert.equal((await worker.ask("/", { url: upstream.url, guard: made.guard })).body, "fine", "others are served");
    assert.equal(upstream.seen.length, 1);
  });
}

test("a request that an operation cannot make is the caller's mistake", async (t) => {
  const upstream = await startUpstream(t, ok);
  for (const [url, request] of [
    [upstream.url, { headers: { "x-user": "a\nb" } }], [upstream.url, { headers: { "x user": "a" } }], [upstream.url, { headers: [["a"]] }],
    [upstream.url, { method: "GET IT" }], [upstream.url, { redirect: "sometimes" }], ["http://", {}], ["ftp://127.0.0.1/", {}],
  ]) {
    const answer = await worker.ask("/execute", { url, request, guard: guard({ breaker: FRAIL }) });
    assert.deepEqual([verdicts(answer), answer.report.stopReason], [["defect"], "not-retryable"], JSON.stringify({ url, request, answer }));
  }
  assert.equal(upstream.seen.length, 0);
});

test("a bug of a bound Worker's is that Worker's fault, and no mistake of whoever asks it", async () => {
  const answer = await worker.ask("/service", { url: "http://bound/broken/1", guard: guard({}) });
  assert.deepEqual([verdicts(answer), answer.report.stopReason], [Array(3).fill("transient"), "attempts-exhausted"]);
});

// ——— whose time it was ———

test("time that an operation needs before it sends is bounded, and not the upstream's", async (t) => {
  const upstream = await startUpstream(t, ok);
  const slow = { url: upstream.url, guard: guard({ timeout: { attempt: 100 }, breaker: FRAIL }), call: { prepareMs: 400 } };
  const answer = await worker.ask("/execute", slow);
  assert.deepEqual([answer.error.name, verdicts(answer), upstream.seen.length], ["TimeoutError", Array(3).fill("inconclusive"), 0]);
  assert.equal((await worker.ask("/execute", { ...slow, call: {} })).status, 200, "nobody is blamed");
  const quick = await worker.ask("/execute", { ...slow, guard: guard({ timeout: { attempt: "5s" } }) });
  assert.ok(latency(quick) < 200, `${latency(quick)} ms`);
});

test("time that a body needs to be made is not the upstream's latency", async (t) => {
  const upstream = await startUpstream(t, ok);
  const answer = await worker.ask("/", { url: upstream.url, guard: guard({}), request: { method: "PUT" }, call: { getBody: "made", busyMs: 300 } });
  assert.ok(answer.tookMs >= 300 && latency(answer) < 200, `${latency(answer)} of ${answer.tookMs} ms`);
});

const latency = ({ events }) => events.find(({ type }) => type === "settled").latencyMs;

// ——— what may be sent again ———

for (const code of [301, 302, 303, 307, 308]) {
  test(`a POST that a ${code} leads elsewhere is sent once, whatever comes from there`, async (t) => {
    for (const failure of [status(429), status(425), status(521), status(503, { "retry-after": "1" })]) {
      const there = await startUpstream(t, failure);
      for (const [location, verdict] of [[there.url, "inconclusive"], ["/there", "transient"]]) {
        const here = await startUpstream(t, status(code, { location }), failure);
        const order = { url: here.url, guard: guard({ breaker: FRAIL }), request: { method: "POST", body: "x" } };
        const answer = await worker.ask("/", order);
        assert.deepEqual([verdicts(answer), answer.report.stopReason], [[verdict], "not-repeatable"]);
        const { state } = await worker.ask("/circuit", order);
        assert.equal(state, verdict === "transient" ? "open" : "closed", "the failure of another origin is not this one's");
      }
      assert.equal(there.seen.length, 1);
    }
  });
}

test("a response that says that it never reached its server is no word about what an operation has done before", async (t) => {
  for (const code of [521, 523]) {
    const upstream = await startUpstream(t, status(code));
    const order = { url: upstream.url, guard: guard({}), call: { idempotent: false } };
    const { report } = await worker.ask("/execute", order);
    assert.deepEqual([report.stopReason, upstream.seen.length], ["not-repeatable", 1]);
    const post = { method: "POST", body: "x" };
    await worker.ask("/", { url: upstream.url, guard: order.guard, request: post });
    assert.equal(upstream.seen.length, 4, "of a fetch it is");
  }
});

test("a GET that is led elsewhere is repeated when it fails there, and a redirect that is not followed is an answer", async (t) => {
  const there = await startUpstream(t, status(503), ok);
  const here = await startUpstream(t, status(302, { location: there.url }));
  const followed = await worker.ask("/", { url: here.url, guard: guard({ breaker: FRAIL }) });
  assert.deepEqual([followed.body, verdicts(followed)], ["fine", ["inconclusive", "success"]]);
  const kept = await worker.ask("/", { url: here.url, guard: guard({}), request: { method: "POST", body: "x", redirect: "manual" } });
  assert.deepEqual([kept.status, verdicts(kept)], [302, ["success"]]);
});

test("a POST that is led to where nobody listens is sent once", async (t) => {
  const there = await refusingUpstream(t);
  const here = await startUpstream(t, status(303, { location: there.url }));
  const answer = await worker.ask("/", { url: here.url, guard: guard({}), request: { method: "POST", body: "x" } });
  assert.deepEqual([answer.report.stopReason, here.seen.length], ["not-repeatable", 1]);
});

test("an Idempotency-Key that names nothing makes no POST repeatable", async (t) => {
  for (const [key, attempts] of [["", 1], [" ", 1], ['""', 1], ["k", 2]]) {
    const upstream = await startUpstream(t, status(500), echo);
    const request = { method: "POST", body: "x", headers: { "idempotency-key": key } };
    await worker.ask("/", { url: upstream.url, guard: guard({}), request });
    assert.equal(upstream.seen.length, attempts, JSON.stringify(key));
  }
});

// ——— how long it is to be left alone ———

test("a Retry-After of any length is read, and of two nothing is", async (t) => {
  for (const [field, stop] of [["9".repeat(4_000), "retry-after-too-long"], ["0".repeat(300) + "100000", "retry-after-too-long"], [["2", "6000"], "attempts-exhausted"]]) {
    const upstream = await startUpstream(t, status(503, { "retry-after": field }));
    const { report, status: code } = await worker.ask("/", { url: upstream.url, guard: guard({}) });
    assert.deepEqual([code, report.stopReason], [503, stop], `${field}`.slice(0, 20));
  }
});
