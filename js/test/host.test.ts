// What the package takes from its host, and when: nothing at import or construction, and never more than it gives back.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { promisify } from "node:util";
import { defaultHost, workersHost } from "../src/host/host.js";
import { forbear, RejectedError, wrapFetch } from "../src/entry/inline.js";
import { quiet, reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";

const run = promisify(execFile);
const entry = new URL("../src/entry/inline.js", import.meta.url).href;

/** Runs a script in a process of its own, with the strictest view of rejections. */
async function script(source: string, env: Record<string, string> = {}): Promise<{ stdout: string; stderr: string; ms: number }> {
  const started = performance.now();
  const { stdout, stderr } = await run(process.execPath, ["--unhandled-rejections=strict", "--input-type=module", "--eval", source], { env: { ...process.env, ...env } });
  return { stdout: stdout.trim(), stderr, ms: performance.now() - started };
}

test("importing and building every kind of guard uses no clock, timer, randomness, signal or fetch", async () => {
  const { stdout } = await script(`
    const poison = (object, name) => { object[name] = () => { throw new Error(name + " was used"); }; };
    for (const name of ["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "fetch"]) poison(globalThis, name);
    poison(Date, "now"); poison(Math, "random"); poison(performance, "now");
    poison(crypto, "getRandomValues"); poison(crypto, "randomUUID"); poison(AbortSignal, "timeout"); poison(AbortSignal, "any");
    globalThis.AbortController = class { constructor() { throw new Error("AbortController was used"); } };
    const { forbear, wrapFetch, retryBudget, circuitBreaker } = await import(${JSON.stringify(entry)});
    const budget = retryBudget({ ratio: 0.2 });
    const breaker = circuitBreaker({ slowCall: "1s" });
    const guard = forbear({ name: "all", timeout: { total: "10s", attempt: "2s" }, retry: { budget }, breaker });
    guard.on("*", () => {});
    guard.with({ fetch: () => {}, waitUntil: () => {} });
    wrapFetch({ timeout: {}, retry: {}, breaker: {} });
    process.stdout.write("built");
  `);
  assert.equal(stdout, "built");
});

test("where a Content-Security-Policy forbids WebAssembly, one warning names what to allow, and calls are made", async () => {
  const { stdout, stderr } = await script(`
    const { forbear, retryBudget, circuitBreaker, ConfigError } = await import(${JSON.stringify(entry)});
    let tried = 0;
    WebAssembly.Module = class { constructor() { tried++; throw new WebAssembly.CompileError("Refused to compile or instantiate WebAssembly module"); } };
    const [guard, other, budget] = [forbear({ retry: {}, breaker: circuitBreaker() }), forbear({ name: "other" }), retryBudget()];
    const answers = [await guard.execute(() => 1), await other.execute(() => 2), guard.state, other.state, budget.try(), tried];
    try { forbear({}, { onUnavailable: "throw" }); } catch (error) { answers.push(error instanceof ConfigError, error.cause.name); }
    process.stdout.write(JSON.stringify(answers));
  `);
  assert.equal(stdout, JSON.stringify([1, 2, "unavailable", "unavailable", false, 1, true, "CompileError"]));
  assert.match(stderr, /^forbear: this host may not compile WebAssembly; a page needs 'wasm-unsafe-eval' in [^\n]+ are not guarded\.\n$/);
});

test("where there is no WebAssembly at all, calls are made within their timeouts", async () => {
  const { stdout, stderr } = await script(`
    const { forbear } = await import(${JSON.stringify(entry)});
    const guard = forbear({ timeout: { attempt: 20, total: "1s" }, retry: {} });
    const answers = [typeof WebAssembly, guard.state, await guard.execute(() => 1)];
    await guard.execute(() => new Promise(() => {})).catch((error) => answers.push(error.name, error.policy));
    process.stdout.write(JSON.stringify(answers));
  `, { NODE_OPTIONS: "--jitless" });
  assert.equal(stdout, JSON.stringify(["undefined", "unavailable", 1, "TimeoutError", "attemptTimeout"]));
  assert.match(stderr, /forbear: this host has no WebAssembly\. Calls are made, within their timeouts, and are not guarded\./);
});

test("where there is no room for WebAssembly, building a guard says that and nothing of a page's policy", async () => {
  const { stdout } = await script(`
    const { forbear, ConfigError } = await import(${JSON.stringify(entry)});
    WebAssembly.Module = class { constructor() { throw new RangeError("WebAssembly.Module(): Out of memory"); } };
    try { forbear({ retry: {} }); } catch (error) {
      process.stdout.write([error instanceof ConfigError, error.message, error.cause.name].join("; "));
    }
  `);
  assert.equal(stdout, "true; there is no room to compile WebAssembly; RangeError");
});

test("where WebAssembly cannot be compiled for another reason, building a guard does not blame a page's policy", async () => {
  for (const made of ['new WebAssembly.CompileError("WebAssembly.Module(): expected magic word")', 'new TypeError("WebAssembly is not there")']) {
    const { stdout } = await script(`
      const { forbear, ConfigError } = await import(${JSON.stringify(entry)});
      WebAssembly.Module = class { constructor() { throw ${made}; } };
      try { forbear({ retry: {} }); } catch (error) {
        process.stdout.write([error instanceof ConfigError, error.message, error.cause instanceof Error].join("; "));
      }
    `);
    assert.equal(stdout, "true; this host could not compile WebAssembly: see the cause; true");
  }
});

test("where the engine cannot be started, building a guard or an object says so, with the cause", async () => {
  for (const [made, why] of [["new RangeError('WebAssembly.Instance(): Out of memory')", "there is no room for its memory"], ["new WebAssembly.LinkError('x')", "see the cause"]]) {
    const { stdout } = await script(`
      const { forbear, retryBudget, ConfigError } = await import(${JSON.stringify(entry)});
      const { Instance } = WebAssembly;
      WebAssembly.Instance = class { constructor() { throw ${made}; } };
      for (const make of [() => forbear({ retry: {} }), () => retryBudget()]) {
        try { make(); } catch (error) {
          process.stdout.write([error instanceof ConfigError, error.message, error.cause instanceof Error].join("; ") + "\\n");
        }
      }
      WebAssembly.Instance = Instance;
      forbear({ retry: {} }); // there is room again
    `);
    assert.equal(stdout, Array(2).fill(`true; the engine could not be started: ${why}; true`).join("\n"));
  }
});

test("a process whose calls are done ends by itself, though their timeouts were far away", async () => {
  const { stdout, ms } = await script(`
    const { forbear } = await import(${JSON.stringify(entry)});
    const guard = forbear({ timeout: { attempt: "10m", total: "1h" }, retry: {} });
    for (let i = 0; i < 100; i++) await guard.execute(async () => i);
    await Promise.all(Array.from({ length: 100 }, (_, i) => guard.execute(() => new Promise((done) => setImmediate(done)))));
    process.stdout.write("done");
  `);
  assert.equal(stdout, "done");
  assert.ok(ms < 60_000);
});

test("a process never ends early: a backoff, and a timeout that nothing else holds it for, are waited for", async () => {
  const { stdout } = await script(`
    const { forbear } = await import(${JSON.stringify(entry)});
    const guard = forbear({ timeout: { attempt: 30 }, retry: { attempts: 3, backoff: { base: 20, jitter: "none" } } });
    let attempts = 0;
    await guard.execute(() => (attempts++, new Promise(() => {}))).catch((error) => process.stdout.write(error.name + " " + attempts));
  `);
  assert.equal(stdout, "TimeoutError 3");
});

test("the real host drives a real call from end to end", async () => {
  let attempts = 0;
  const guard = forbear({ name: "real", timeout: { attempt: "5s", total: "20s" }, retry: { backoff: { base: 1 } }, breaker: {} });
  assert.equal(await guard.execute(({ attempt }) => (++attempts < 3 ? Promise.reject(new Error("lost")) : attempt)), 3);
  assert.equal((await wrapFetch({ retry: {} }, { fetch: async () => new Response("x") })("https://a.example/")).status, 200);
});

test("randomness: whole numbers below 2⁵³ that do not repeat, from a start drawn at the first call only", () => {
  for (const host of [defaultHost(), workersHost()]) {
    const drawn = new Set(Array.from({ length: 10_000 }, () => host.random()));
    assert.equal(drawn.size, 10_000);
    for (const number of drawn) assert.ok(Number.isInteger(number) && number >= 0 && number < 2 ** 53);
  }
});

test("a part of the host may be replaced; guards on another host have state of their own", async () => {
  let now = 5;
  const host = { now: () => now };
  const config = { name: "clocked", breaker: { consecutiveFailures: 1 } };
  const here = forbear(config, { host });
  await reasonOf(here.execute(() => Promise.reject(new Error("lost"))));
  assert.ok((await reasonOf(forbear(config, { host }).execute(() => 1))) instanceof RejectedError, "the same host, the same state");
  assert.equal(await forbear(config).execute(() => 1), 1);
  now += 40_000;
  assert.equal(await here.execute(() => 2), 2, "the breaker reads that host's clock");
});

test("on a clock with fractions a rate limiter grants what its rate says", () => {
  const { host, guard } = shim();
  const limited = guard({ rateLimiter: { rate: 1_000_000, interval: "1s" } });
  const began = (host.time = 17.25);
  let granted = 0;
  for (let micros = 0; micros < 100_000; micros++) {
    host.time = began + micros / 1_000;
    if (limited.tryAcquire()) granted++;
  }
  assert.equal(granted, 100_000);
});

test("a function of the runtime's own may be a host's method as it is, and a class's methods are called on their instance", async () => {
  class Clock {
    #ms = 5;
    now(): number {
      return this.#ms;
    }
  }
  const hosts = [{ now: performance.now }, { now: Date.now, random: Math.random, fetch: globalThis.fetch }, new Clock(), Object.assign(Object.create(null), { now: performance.now })];
  for (const host of hosts) assert.equal(await forbear({ retry: {}, timeout: {} }, { host }).execute(() => "fine"), "fine");
});

test("on Workers one call wakes another only where the runtime hands promises over between requests", () => {
  const world = globalThis as { Cloudflare?: object };
  assert.equal(workersHost().wakesOthers(), false);
  world.Cloudflare = { compatibilityFlags: { handle_cross_request_promise_resolution: true } };
  assert.equal(workersHost().wakesOthers(), true);
  delete world.Cloudflare;
  assert.equal(defaultHost().wakesOthers(), true);
});

test("a call that waits may be woken before its time, in its own asynchronous context, and where hints are off it is not", async () => {
  for (const wakes of [true, false]) {
    const { host, engine, guard } = shim();
    host.wakesOthers = () => wakes;
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const pending = storage.run("its own", () => guard({ retry: { backoff: { jitter: "none" } } }).execute(({ attempt }) => {
      seen.push(storage.getStore());
      return attempt === 1 ? Promise.reject(new Error("lost")) : "fine";
    }));
    await quiet();
    assert.equal(engine.sleepers.size, wakes ? 1 : 0);
    host.time += 100;
    if (wakes) storage.run("another's", () => [...engine.sleepers.values()][0]!());
    else await host.pass(0);
    assert.equal(await pending, "fine");
    assert.deepEqual(seen, ["its own", "its own"]);
    assert.equal(engine.sleepers.size, 0);
    assert.equal(host.timers.length, 0);
  }
});

test("a hint for a call that is over, or comes twice, does nothing", async () => {
  const { host, engine, guard } = shim();
  const pending = guard({ retry: { attempts: 2 } }).execute(({ attempt }) => (attempt === 1 ? Promise.reject(new Error("lost")) : "fine"));
  await quiet();
  const [wake] = [...engine.sleepers.values()];
  wake!();
  wake!();
  await host.pass(1_000);
  assert.equal(await pending, "fine");
  wake!();
  await quiet();
});
