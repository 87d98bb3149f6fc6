// The demo's promise, kept over real HTTP: the faulty upstream (a Node server) and the demo Worker (wrangler dev),
// both as `npm start` runs them, on ports of their own.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const OPEN_PERIOD_MS = 5_000;
const DEAD_AFTER_MS = 500;
const READY_WITHIN_MS = 40_000;

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

async function startDemo() {
  const home = mkdtempSync(join(tmpdir(), "forbear-demo-"));
  const children = [];
  let said = "";

  const run = (args, env = {}) => {
    // A group of its own: wrangler starts workerd, and both must go.
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_REGISTRY_PATH: join(home, "registry"), ...env },
    });
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
    children.push(child);
    return child;
  };

  const stop = async () => {
    await Promise.all(children.map(end));
    rmSync(home, { recursive: true, force: true });
  };

  try {
    run([join(ROOT, "examples/worker/upstream.mjs")], { UPSTREAM_PORT: "0" });
    const upstream = await until(() => /listening on (\S+)/.exec(said)?.[1], READY_WITHIN_MS);
    const port = await freePort();
    run([join(ROOT, "node_modules/wrangler/bin/wrangler.js"), "dev", "--ip", "127.0.0.1", "--port", String(port),
      "--inspector-port", "0", "--persist-to", join(home, "state"), "--var", `UPSTREAM:${upstream}`]);
    const origin = `http://127.0.0.1:${port}`;
    const get = async (path) => (await fetch(origin + path)).json();
    await until(() => get("/stats"), READY_WITHIN_MS);

    const fault = async (order) => {
      const answer = await fetch(`${origin}/fault`, { method: "PUT", body: JSON.stringify(order) });
      assert.equal(answer.status, 200);
      await answer.text();
    };
    return {
      origin, get, fault, stop,
      until: (condition) => until(condition, 15_000),
      /** A fresh beginning with a fault in force. */
      start: async (order) => {
        await fault(order);
        await fetch(`${origin}/reset`, { method: "POST" }).then((answer) => answer.text());
      },
      /** Calls that begin at a steady pace, whatever the earlier ones do; answers in the order they began. */
      calls: async (path, count, everyMs) => {
        const calls = [];
        for (let n = 0; n < count; n += 1) {
          calls.push(get(path));
          await sleep(everyMs);
        }
        return Promise.all(calls);
      },
    };
  } catch (error) {
    await stop();
    throw new Error(`the demo did not start: ${error.message}\n${said}`);
  }
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("close", resolve));
  signal(child, "SIGTERM");
  const patience = setTimeout(() => signal(child, "SIGKILL"), 3_000);
  await ended;
  clearTimeout(patience);
}

function signal(child, name) {
  try {
    process.kill(-child.pid, name);
  } catch {
    // it has ended meanwhile
  }
}

/** Resolves to the first truthy answer of `condition`; an error counts as not yet. */
async function until(condition, withinMs) {
  const last = Date.now() + withinMs;
  for (;;) {
    const answer = await Promise.resolve().then(condition).catch(() => undefined);
    if (answer) return answer;
    if (Date.now() > last) throw new Error(`it did not come about within ${withinMs} ms`);
    await sleep(100);
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject).listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function sum(list, of) {
  return list.reduce((total, item) => total + of(item), 0);
}
