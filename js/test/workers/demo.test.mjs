// The demo's promise, kept over real HTTP: the faulty upstream (a Node server) and the demo Worker (wrangler dev),
// both as `npm start` runs them, on ports of their own.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { POLICIES } from "../../../examples/worker/page/policies.js";
import { startDemo } from "./support/demo.mjs";

const OPEN_PERIOD_MS = 5_000;
const DEAD_AFTER_MS = 500;

let demo;

before(async () => {
  demo = await startDemo();
});
after(() => demo?.stop());

describe("an upstream that is dead: each call fails after 500 ms", () => {
  const CALLS = 200;
  const EVERY_MS = 50;
  let plain;
  let guarded;
  let stats;

  before(async () => {
    await demo.start({ mode: "dead", delayMs: DEAD_AFTER_MS });
    // The same 200 calls through both lanes, at 20 a second: long enough for a probe or two.
    [plain, guarded] = await Promise.all([demo.calls("/plain", CALLS, EVERY_MS), demo.calls("/guarded", CALLS, EVERY_MS)]);
    stats = await demo.get("/stats");
  });

  test("the plain lane waits out every failure", () => {
    for (const call of plain) {
      assert.equal(call.outcome, "failed");
      assert.ok(call.elapsedMs >= DEAD_AFTER_MS - 10, `a plain call failed after only ${call.elapsedMs} ms`);
    }
    assert.equal(stats.plain.upstreamCalls, CALLS);
  });

  test("the guarded lane sends at most 1.15 upstream calls a call, by the upstream's own count", () => {
    assert.ok(stats.guarded.upstreamCalls <= 1.15 * CALLS, `${stats.guarded.upstreamCalls} upstream calls for ${CALLS} calls`);
    assert.equal(stats.guarded.upstreamCalls, sum(guarded, (call) => call.upstreamCalls));
  });

  test("once open, the circuit refuses within 50 ms, without a call", () => {
    const refused = guarded.filter((call) => call.outcome === "refused" && call.upstreamCalls === 0);
    assert.ok(refused.length > CALLS / 2, `only ${refused.length} of ${CALLS} calls were refused`);
    for (const call of refused) {
      assert.equal(call.reason, "circuit-open");
      assert.equal(call.policy, "breaker");
      assert.equal(call.stopReason, "refused");
      assert.ok(call.elapsedMs <= 50, `a refusal took ${call.elapsedMs} ms`);
    }
    // From the first refusal on, whatever is not refused is a probe.
    const first = guarded.indexOf(refused[0]);
    const others = guarded.slice(first).filter((call) => !refused.includes(call));
    assert.ok(others.length <= CALLS / 10, `${others.length} calls went out after the circuit had opened`);
  });

  test("GET /stats adds up", () => {
    for (const lane of [stats.plain, stats.guarded]) {
      assert.equal(lane.calls, CALLS);
      assert.equal(lane.successes + lane.failures + lane.refused, CALLS);
      assert.equal(lane.inFlight, 0);
    }
    assert.equal(stats.guarded.refusals["circuit-open"], stats.guarded.refused);
    assert.ok(["open", "half-open"].includes(stats.guarded.breaker.state));
    assert.equal(stats.plain.breaker, null);
    assert.equal(stats.fault.mode, "dead");
  });

  test("healed, the guarded lane recovers by itself within one open period", async () => {
    // A probe on its way would meet the dead upstream and open the circuit once more: heal when one has just failed.
    await demo.until(async () => {
      await demo.get("/guarded");
      return (await demo.get("/stats")).guarded.breaker.state === "open";
    });
    await demo.fault({ mode: "healthy" });
    const healedAt = Date.now();
    await demo.until(async () => (await demo.get("/guarded")).outcome === "ok");
    const took = Date.now() - healedAt;
    assert.ok(took <= OPEN_PERIOD_MS + 500, `recovered only after ${took} ms`);

    await demo.until(async () => (await demo.get("/stats")).guarded.breaker.state === "closed");
    for (const call of await demo.calls("/guarded", 20, 10)) assert.equal(call.outcome, "ok");
  });
});

describe("other faults", () => {
  test("a few errors are mended by retries", async () => {
    await demo.start({ mode: "errors", rate: 0.1 });
    const [plain, guarded] = await Promise.all([demo.calls("/plain", 150, 25), demo.calls("/guarded", 150, 25)]);
    assert.ok(plain.some((call) => call.status === 500));
    const mended = guarded.filter((call) => call.outcome === "ok" && call.attempts > 1);
    assert.ok(mended.length > 0, `no call was mended by a retry: ${JSON.stringify((await demo.get("/stats")).guarded)}`);
    for (const call of guarded) assert.equal(call.attempts, call.upstreamCalls);
    assert.ok(sum(guarded, (call) => call.upstreamCalls) <= 1.15 * 150 + 5);
  });

  test("a Retry-After beyond the deadline ends the call at once, with the upstream's own answer", async () => {
    await demo.start({ mode: "unavailable", retryAfter: 30 });
    const call = await demo.get("/guarded");
    assert.equal(call.outcome, "failed");
    assert.equal(call.status, 503);
    assert.equal(call.stopReason, "retry-after-exceeds-deadline");
    assert.ok(call.elapsedMs < 1_000);
  });

  test("headers that never come are given up at the attempt timeout", async () => {
    await demo.start({ mode: "stalled" });
    const call = await demo.get("/guarded");
    assert.notEqual(call.outcome, "ok");
    assert.ok(call.elapsedMs >= 950 && call.elapsedMs <= 4_000, `given up after ${call.elapsedMs} ms`);
  });

  test("an impossible fault is refused with the field, its value and what is allowed", async () => {
    const before = (await demo.get("/stats")).fault;
    for (const [order, field] of [
      ['{"mode":"asleep"}', "mode"],
      ['{"rate":0.5}', "mode"],
      ['{"mode":"errors","rate":2}', "rate"],
      ['{"mode":"dead","delayMs":-1}', "delayMs"],
      ['{"mode":"unavailable","retryAfter":"2"}', "retryAfter"],
      ['{"mode":"dead","delay":500}', "delay"],
      ["dead", null],
    ]) {
      const answer = await fetch(`${demo.origin}/fault`, { method: "PUT", body: order });
      assert.equal(answer.status, 400, order);
      const { error, field: named, allowed } = await answer.json();
      assert.equal(named, field);
      assert.ok(error.length > 0 && allowed.length > 0);
    }
    assert.deepEqual((await demo.get("/stats")).fault, before);
  });

  test("the page is served, and asks no other host for anything", async () => {
    for (const path of ["/", "/style.css", "/app.js", "/charts.js"]) {
      const answer = await fetch(demo.origin + path);
      assert.equal(answer.status, 200, path);
      const text = (await answer.text()).replaceAll("http://127.0.0.1:8787", "").replaceAll("http://www.w3.org/2000/svg", "");
      assert.doesNotMatch(text, /https?:\/\//, path);
    }
  });
});

describe("the switches of the guarded lane", () => {
  /** What a policy alone does to calls that a fault strikes: some of them show it, and with the policy off none does. */
  const PROVOKED = [
    { policy: "total=1s", fault: { mode: "slow", delayMs: 1_600 }, calls: 2, shows: (call) => call.error?.startsWith("TimeoutError") },
    { policy: "attempt=300ms", fault: { mode: "slow", delayMs: 1_500 }, calls: 2, shows: (call) => call.error?.startsWith("TimeoutError") },
    { policy: "retry=3", fault: { mode: "errors", rate: 1 }, calls: 1, shows: (call) => call.attempts === 3 },
    { policy: "hedge=100ms", fault: { mode: "slow", delayMs: 800 }, calls: 2, shows: (call) => call.hedges === 1 && call.upstreamCalls === 2 },
    { policy: "throttler=2", fault: { mode: "errors", rate: 1 }, calls: 60, everyMs: 20, shows: refusedBy("throttler", "throttled") },
    { policy: "breaker=5s", fault: { mode: "errors", rate: 1 }, calls: 30, everyMs: 20, shows: refusedBy("breaker", "circuit-open") },
    { policy: "concurrencyLimiter=aimd", fault: { mode: "slow", delayMs: 1_000 }, calls: 20, shows: refusedBy("concurrencyLimiter", "concurrency-limited") },
    { policy: "bulkhead=2", fault: { mode: "slow", delayMs: 1_000 }, calls: 6, shows: refusedBy("bulkhead", "bulkhead-full") },
    { policy: "rateLimiter=10", fault: { mode: "healthy" }, calls: 40, shows: refusedBy("rateLimiter", "rate-limited") },
  ];
  for (const { policy, fault, calls, everyMs = 0, shows } of PROVOKED) {
    test(`${policy} does what it is for, and nothing does where it is off`, async () => {
      await demo.start(fault);
      const made = (query) => (everyMs > 0 ? demo.calls(query, calls, everyMs) : demo.crowd(query, calls));
      const [on, off] = await Promise.all([made(`/guarded?preset=off&${policy}`), made("/guarded?preset=off")]);
      assert.ok(on.some(shows), JSON.stringify(on.at(-1)));
      assert.ok(!off.some(shows), JSON.stringify(off.find(shows)));
    });
  }

  test("the budget says no where retries would be too many, and without it none is too many", async () => {
    await demo.start({ mode: "errors", rate: 1 });
    const [few, many] = await Promise.all(["0.1", "off"].map((budget) => demo.crowd(`/guarded?preset=off&retry=2&budget=${budget}`, 20)));
    assert.ok(few.some((call) => call.stopReason === "budget-exceeded"));
    assert.ok(many.every((call) => call.stopReason === "attempts-exhausted"));
  });

  test("a line and a wait serve those who would be refused without", async () => {
    await demo.start({ mode: "slow", delayMs: 300 });
    const calls = await Promise.all([demo.crowd("/guarded?preset=off&bulkhead=2-10", 6), demo.crowd("/guarded?preset=off&rateLimiter=10-1s", 14)]);
    for (const call of calls.flat()) assert.equal(call.outcome, "ok", JSON.stringify(call));
  });

  test("every preset and every setting serves, and GET /stats says which is in force", async () => {
    await demo.start({ mode: "healthy" });
    const { presets, settings } = await demo.get("/policies");
    const alone = Object.entries(settings).flatMap(([policy, words]) => words.map((word) => `preset=off&${policy}=${word}`));
    for (const query of [...Object.keys(presets).map((preset) => `preset=${preset}`), ...alone]) {
      assert.equal((await demo.get(`/guarded?${query}`)).outcome, "ok", query);
    }
    for (const [preset, policies] of Object.entries(presets)) {
      const { guarded } = await demo.get(`/stats?preset=${preset}`);
      assert.deepEqual(guarded.policies, policies);
      for (const [policy, reading] of Object.entries(guarded.readings)) assert.equal(reading !== null, policies[policy] !== "off", `${preset}: ${policy}`);
    }
  });

  test("the page has words for every policy and every setting", async () => {
    const { settings } = await demo.get("/policies");
    assert.deepEqual(Object.keys(POLICIES), Object.keys(settings));
    for (const [policy, { words }] of Object.entries(POLICIES)) assert.deepEqual(Object.keys(words), settings[policy].slice(1), policy);
  });

  test("more choices than an engine has stacks are served", async () => {
    await demo.start({ mode: "healthy", delayMs: 0 });
    const { settings } = await demo.get("/policies");
    const choices = [""];
    for (const policy of ["total", "retry", "hedge", "throttler", "breaker"]) {
      choices.push(...choices.flatMap((query) => settings[policy].slice(1).map((word) => `${query}&${policy}=${word}`)));
    }
    assert.ok(choices.length > 256, `only ${choices.length}`);
    for (let n = 0; n < 280; n += 20) {
      const calls = await Promise.all(choices.slice(n, n + 20).map((query) => demo.get(`/guarded?preset=off${query}`)));
      for (const call of calls) assert.equal(call.outcome, "ok", JSON.stringify(call));
    }
  });

  test("what cannot be chosen is refused with the parameter, its value and what is allowed", async () => {
    for (const [query, field] of [
      ["bulkhead=3", "bulkhead"],
      ["preset=none", "preset"],
      ["preset=__proto__", "preset"],
      ["hedge=toString", "hedge"],
      ["constructor=off", "constructor"],
      ["timeout=1s", "timeout"],
      ["retry=2&retry=3", "retry"],
      ["retry", "retry"],
    ]) {
      for (const [method, path] of [["GET", "/guarded"], ["GET", "/stats"], ["POST", "/reset"]]) {
        const answer = await fetch(`${demo.origin}${path}?${query}`, { method });
        assert.equal(answer.status, 400, query);
        const misfit = await answer.json();
        assert.equal(misfit.field, field);
        assert.ok(misfit.error.length > 0 && misfit.allowed.length > 0);
      }
    }
    const long = await fetch(`${demo.origin}/guarded?${"x".repeat(5_000)}=1`);
    assert.equal(long.status, 400);
    assert.ok((await long.text()).length < 1_000);
  });

  test("the page's line refuses a guard that cannot be, makes no call for it, and goes on", async () => {
    await demo.start({ mode: "healthy" });
    const line = new WebSocket(`${demo.origin.replace("http", "ws")}/traffic`);
    await new Promise((resolve) => line.addEventListener("open", resolve));
    const answer = async (message) => {
      const heard = new Promise((resolve) => line.addEventListener("message", ({ data }) => resolve(JSON.parse(data)), { once: true }));
      line.send(message);
      return heard;
    };
    const misfit = await answer(JSON.stringify({ calls: 3, guard: "bulkhead=9999" }));
    assert.deepEqual([misfit.type, misfit.field, misfit.value], ["misfit", "bulkhead", "9999"]);
    const tick = await answer(JSON.stringify({ calls: 0, guard: "preset=limits" }));
    assert.equal(tick.type, "tick");
    line.close();
    assert.deepEqual((await demo.get("/stats")).guarded.calls, 0);
  });
});

describe("an upstream with more calls than it can serve", () => {
  test("unguarded callers wait ever longer; limited ones are served soon or refused at once", async () => {
    await demo.start({ mode: "limited", capacity: 2, delayMs: 150 });
    const [plain, guarded] = await Promise.all([demo.calls("/plain", 60, 30), demo.calls("/guarded?preset=off&bulkhead=2", 60, 30)]);
    const served = guarded.filter((call) => call.outcome === "ok");
    assert.ok(served.length > 10 && served.length < 60, `${served.length} of 60 served`);
    assert.ok(Math.max(...plain.map((call) => call.elapsedMs)) > 2 * Math.max(...served.map((call) => call.elapsedMs)));
  });
});

function refusedBy(policy, reason) {
  return (call) => call.outcome === "refused" && call.policy === policy && call.reason === reason;
}

function sum(list, of) {
  return list.reduce((total, item) => total + of(item), 0);
}
