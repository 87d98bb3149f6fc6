// Configuration: what may be written, what is refused and in which words, and what two guards share.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isRacing, readShared, readStack } from "../src/config/read.js";
import { ConfigError, reportOf, type RejectedError } from "../src/index.js";
import { readDuration } from "../src/config/duration.js";
import { DEFAULTS, OPTIONS, POLICIES } from "../src/generated/vocabulary.js";
import { SharedObject } from "../src/config/settings.js";
import type { Config, Duration } from "../src/types.js";
import { reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";

const refused = (config: unknown): ConfigError => {
  try {
    shim().guard(config as Config);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error;
  }
  assert.fail(`was accepted: ${JSON.stringify(config)}`);
};

const budget = (config: object = {}) => new SharedObject("budget", readShared("budget", "retryBudget", config)) as never;

test("wrong configurations are refused at construction: path, value, and what may stand there", () => {
  const table: [config: unknown, path: string, message: RegExp][] = [
    [{ retry: { attempts: 0 } }, "retry.attempts", /^retry\.attempts: 0 is not allowed; expected a whole number from 1 to 15$/],
    [{ retry: { attempts: 2.5 } }, "retry.attempts", /2\.5 is not allowed/],
    [{ retry: { attempts: NaN } }, "retry.attempts", /NaN is not allowed; expected a whole number from 1 to 15/],
    [{ retry: { attempts: Infinity } }, "retry.attempts", /Infinity is not allowed/],
    // Off is not without limit: the burst would be the rate.
    [{ rateLimiter: { burst: Infinity } }, "rateLimiter.burst", /Infinity is not allowed; expected .*, or false/],
    [{ retry: { attempts: "3" } }, "retry.attempts", /"3" is not allowed/],
    [{ retry: { attempts: null } }, "retry.attempts", /null is not allowed/],
    [{ retry: { attempts: false } }, "retry.attempts", /false is not allowed/],
    [{ retry: { atempts: 3 } }, "retry.atempts", /unknown; did you mean "attempts"\?/],
    [{ retry: { backoff: { base: "fast" } } }, "retry.backoff.base", /"fast" is not allowed; expected 1ms to 24h \(a number of ms, or "250ms", "10s", "2m", "1h"\)$/],
    [{ retry: { backoff: { base: "1d" } } }, "retry.backoff.base", /"1d" is not allowed/],
    [{ retry: { backoff: { base: -5 } } }, "retry.backoff.base", /-5 is not allowed/],
    [{ retry: { backoff: { jitter: "ful" } } }, "retry.backoff.jitter", /"ful" is not allowed; expected one of none, full, equal, decorrelated/],
    [{ retry: { backoff: "100ms" } }, "retry.backoff", /^retry\.backoff: "100ms" is not allowed; expected an object \(\{\} or any of base, cap, factor, jitter\)$/],
    [{ retry: { backoff: false } }, "retry.backoff", /^retry\.backoff: false is not allowed; expected an object \(\{\} or any of base, cap, factor, jitter\)$/],
    [{ retry: { clampRetryAfter: "yes" } }, "retry.clampRetryAfter", /expected true or false/],
    [{ retry: { budget: { ratio: 2 } } }, "retry.budget.ratio", /2 is not allowed; expected a number from 0 to 1$/],
    [{ retry: { budget: 0.1 } }, "retry.budget", /0\.1 is not allowed; expected an object \(\{\} or any of kind, ratio, .*\), a retryBudget, or false$/],
    [{ retry: { budget: true } }, "retry.budget", /^retry\.budget: true is not allowed; expected an object/],
    [{ retry: true }, "retry", /^retry: true is not allowed; expected an object \(\{\} or any of attempts, backoff, .*\), or false$/],
    [{ retry: [] }, "retry", /^retry: an array is not allowed; expected an object .*, or false$/],
    [{ timeout: "10s" }, "timeout", /^timeout: "10s" is not allowed; expected an object \(\{\} or any of total, attempt\), or false$/],
    [{ bulkhead: 3 }, "bulkhead", /^bulkhead: 3 is not allowed; expected an object \(\{\} or any of concurrency, queue, queueTimeout, release\), a bulkhead, or false$/],
    [{ budget: {} }, "budget", /^budget: unknown; did you mean "retry\.budget"\?$/],
    [{ attempts: 3 }, "attempts", /^attempts: unknown; did you mean "retry\.attempts" or "hedge\.attempts"\?$/],
    [{ retry: { base: 100 } }, "retry.base", /^retry\.base: unknown; did you mean "backoff\.base"\?$/],
    [{ timeout: { totl: 1 } }, "timeout.totl", /did you mean "total"\?/],
    [{ timeout: { total: "2s", attempt: 0 } }, "timeout.attempt", /0 is not allowed; expected 1ms to 24h/],
    [{ timeouts: {} }, "timeouts", /did you mean "timeout"\?/],
    [{ circuitBreaker: {} }, "circuitBreaker", /did you mean "breaker"\?/],
    [{ retry: { attempts: "x".repeat(500) } }, "retry.attempts", /"x{40}…" is not allowed/],
    [fetch, "configuration", /^configuration: a function is not allowed; expected an object \(\{\} or any of name, timeout, .*\)$/],
    [{ cache: {} }, "cache", /unknown; known are name, timeout, retry, /],
    [{ breaker: { failureRate: 1.5 } }, "breaker.failureRate", /1\.5 is not allowed/],
    [{ breaker: { slowCall: "never" } }, "breaker.slowCall", /, or false$/],
    [{ breaker: budget() }, "breaker", /^breaker: a retryBudget is not allowed; expected an object .*, a circuitBreaker, or false$/],
    [{ name: 5 }, "name", /^name: 5 is not allowed; expected a string that is not empty$/],
    [{ name: "" }, "name", /^name: "" is not allowed/],
    [null, "configuration", /null is not allowed; expected an object/],
    ["retry", "configuration", /expected an object/],
  ];
  for (const [config, path, message] of table) {
    const error = refused(config);
    assert.equal(error.path, path);
    assert.match(error.message, message);
    assert.equal(error.name, "ConfigError");
  }
  assert.equal(refused({ retry: { backoff: { base: "25h" } } }).value, "25h", "the value as it was written");
});

test("an unknown name's error has what was given for it, and the names there are", () => {
  const { path, value, allowed } = refused({ bulkhead: { size: 5 } });
  assert.deepEqual({ path, value, allowed }, { path: "bulkhead.size", value: 5, allowed: "concurrency, queue, queueTimeout, release" });
});

test("values that do not go together are refused with the range that is left", () => {
  const table: [config: Config, message: string][] = [
    [{ timeout: { total: "1s", attempt: "5s" } }, 'timeout.attempt: "5s" is not allowed beside timeout.total; expected 1ms to 1s (a number of ms, or "250ms", "10s", "2m", "1h")'],
    [{ timeout: { total: "5s", attempt: "10s" } }, 'timeout.attempt: "10s" is not allowed beside timeout.total; expected 1ms to 5s (a number of ms, or "250ms", "10s", "2m", "1h")'],
    [{ timeout: { total: "30s", attempt: "1m" } }, 'timeout.attempt: "1m" is not allowed beside timeout.total; expected 1ms to 30s (a number of ms, or "250ms", "10s", "2m", "1h")'],
    [{ breaker: { minCalls: 200 } }, "breaker.minCalls: 200 is not allowed beside windowCalls; expected a whole number from 1 to 100"],
    [{ breaker: { successesToClose: 2 } }, "breaker.successesToClose: 2 is not allowed beside probes; expected 1, or false"],
    [{ retry: { attempts: 5 }, hedge: { attempts: 4 } }, "retry.attempts: 5 is not allowed beside hedge.attempts; expected a whole number from 1 to 3"],
    [{ retry: { budget: { kind: "tokenBucket", max: 5, initial: 10 } } }, "retry.budget.initial: 10 is not allowed beside max (of the kind aimd: min); expected a whole number from 0 to 5, or false"],
    [{ retry: { budget: { kind: "aimd", min: 50, max: 20 } } }, "retry.budget.min: 50 is not allowed beside max; expected a whole number from 0 to 20"],
    [{ throttler: { multiplier: 1.1, minRequests: 5 } }, "throttler.minRequests: 5 is not allowed beside multiplier; expected a whole number from "],
    [{ concurrencyLimiter: { min: 300 } }, "concurrencyLimiter.min: 300 is not allowed beside max; expected a whole number from 1 to 200"],
    [{ concurrencyLimiter: { initial: 2 } }, "concurrencyLimiter.initial: 2 is not allowed beside min and max; expected a whole number from 4 to 200"],
    [{ rateLimiter: { rate: 1_000_000, interval: "24h" } }, 'rateLimiter.interval: "24h" is not allowed beside rate and burst; expected 1ms to '],
  ];
  for (const [config, message] of table) assert.ok(refused(config).message.startsWith(message), refused(config).message);
  assert.match(refused({ breaker: { openFor: "10m" } }).message, /^breaker\.openFor: "10m" is not allowed beside maxOpenFor; expected 1ms to 5m/);
  assert.match(refused({ retry: { backoff: { base: "5s", cap: "2s" } } }).message, /^retry\.backoff\.cap: "2s" is not allowed beside backoff\.base; expected 5s to 24h/);
  assert.match(refused({ breaker: { windowCalls: false, window: false } }).message, /^breaker\.windowCalls: false is not allowed; expected windowCalls or window to be on$/);
});

test("an option that a budget's kind does not read is refused, with the kinds that do", () => {
  const error = refused({ retry: { budget: { kind: "wallet", max: 5 } } });
  assert.equal(error.message, "retry.budget.max: 5 is not allowed: the kind wallet does not read it; expected the kind to be tokenBucket or grpc or aws or aimd");
  assert.deepEqual([error.path, error.value], ["retry.budget.max", 5]);
  assert.match(refused({ retry: { budget: { cost: 2 } } }).message, /^retry\.budget\.cost: 2 is not allowed: the kind ratio does not read it; /);
  assert.match(refused({ retry: { budget: { kind: "wallet", ratio: 0.5 } } }).message, /does not read it; expected the kind to be ratio or concurrency$/);
  shim().guard({ retry: { budget: { kind: "wallet", max: false, ratio: 0.1 } } }); // as they are when absent
});

test("where a default is in the way, what the user wrote is named as the cause", () => {
  const base = refused({ retry: { backoff: { base: "30s" } } });
  assert.equal(base.message, 'retry.backoff.base: "30s" is not allowed while backoff.cap is 20s, its default; expected at most 20s, or another backoff.cap');
  assert.deepEqual([base.path, base.value], ["retry.backoff.base", "30s"]);
  assert.match(refused({ breaker: { windowCalls: 10 } }).message, /^breaker\.windowCalls: 10 is not allowed while minCalls is 20, its default; expected at least 20, or another minCalls$/);
  assert.match(refused({ breaker: { maxOpenFor: "10s", growth: 1 } }).message, /^breaker\.maxOpenFor: "10s" .* while openFor is 30s/);
});

test("a shared object's settings are refused where it is made", () => {
  assert.throws(() => budget({ ratoi: 0.1 }), { name: "ConfigError", message: 'retryBudget.ratoi: unknown; did you mean "ratio"?' });
  assert.throws(() => budget(5 as never), { name: "ConfigError", message: /^retryBudget: 5 is not allowed; expected an object \(\{\} or any of kind, ratio, .*\)$/ });
  assert.throws(() => budget(budget()), { name: "ConfigError", message: /^retryBudget: a retryBudget is not allowed; expected an object .*\)$/ });
  const { engine } = shim();
  assert.throws(() => engine.check(budget({ ratio: 3 })), { name: "ConfigError", path: "retryBudget.ratio", message: /3 is not allowed; expected a number from 0 to 1/ });
});

test("every option of every policy is reached by its path, and takes its own default", () => {
  for (const policy of POLICIES) {
    const section = { deadline: "timeout", attemptTimeout: "timeout", budget: "retry.budget" }[policy as string] ?? policy;
    for (const [position, [name, kind]] of OPTIONS[policy].entries()) {
      const value = DEFAULTS[policy][position] as number | null;
      const given = value === null ? false : name === "budget" ? {} : kind === "flag" ? value === 1 : typeof kind !== "string" ? kind[value] : value;
      const config = `${section}.${name}`.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), given);
      shim().guard(config as Config);
    }
  }
});

test("what no type has is allowed nowhere: true where no flag is, nothing, an empty string, an array", () => {
  for (const policy of POLICIES) {
    const section = { deadline: "timeout", attemptTimeout: "timeout", budget: "retry.budget" }[policy as string] ?? policy;
    for (const [place, kind] of [[section, "section"], ...OPTIONS[policy].map(([name, kind]) => [`${section}.${name}`, kind] as const)] as const) {
      for (const value of [null, "", [], 1n, ...(kind === "flag" ? [] : [true])]) {
        const error = refused(place.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), value));
        assert.deepEqual([error.path, error.value], [place, value], error.message);
      }
    }
  }
});

test("durations are milliseconds, or whatever the type has for a number, with a unit", () => {
  const written: [Duration, millis: number][] = [
    [250, 250], ["250ms", 250], ["10s", 10_000], ["2m", 120_000], ["1h", 3_600_000], ["0.5s", 500], ["5 s", 5_000], [" 5ms", 5], [".5s", 500], ["1e3ms", 1_000],
  ];
  for (const [duration, millis] of written) assert.equal(readStack({ timeout: { total: duration } }).values[0]?.number, millis);
  for (const none of ["5", "s", " s", "5 sec", "5S", "Infinitys", "NaNms", "five s", "", "0x10s", "0b1s", "0o7m", "1_000ms"]) assert.equal(readDuration(none), undefined, none);
});

test("false turns off, undefined is absent, and {} is the defaults", () => {
  const on = (config: object) => readStack(config).on.map((policy) => POLICIES[policy]).sort();
  assert.deepEqual(on({}), []);
  assert.deepEqual(on({ retry: false, timeout: false, breaker: undefined }), []);
  assert.deepEqual(on({ retry: {}, breaker: {} }), ["breaker", "retry"]);
  assert.deepEqual(on({ timeout: {} }), ["attemptTimeout", "deadline"]);
  assert.deepEqual(on({ timeout: { total: "1s" } }), ["deadline"]);
  assert.deepEqual(on({ timeout: { total: false, attempt: "1s" } }), ["attemptTimeout"]);
  assert.deepEqual(on({ timeout: { total: false } }), []);
  assert.deepEqual(readStack({ retry: { attempts: undefined } }).values, []);
  assert.equal(readStack({ breaker: { slowCall: false } }).values[0]?.number, NaN);
  assert.equal(readStack({ retry: { budget: false } }).values[0]?.number, 0);
  assert.deepEqual(on({ retry: { budget: { ratio: 0.5 } } }), ["budget", "retry"]);
});

test("only what may end an attempt early makes a stack race", () => {
  assert.equal(isRacing(readStack({ retry: {}, breaker: {} })), false);
  assert.equal(isRacing(readStack({ timeout: { attempt: 5 } })), true);
  assert.equal(isRacing(readStack({ timeout: { total: 5 } })), true);
});

test("stacks of one name that mean the same are the same stack, however their configuration is written", () => {
  const { engine, stacks } = shim();
  const shared = budget();
  const one = stacks.of({ name: "a", retry: { attempts: 3, backoff: { base: "1s", cap: 5_000 }, budget: shared }, breaker: {} });
  assert.equal(stacks.of({ breaker: {}, name: "a", retry: { budget: shared, backoff: { cap: "5s", base: 1_000 }, attempts: 3 } }), one);
  assert.notEqual(stacks.of({ name: "a", retry: { attempts: 3, backoff: { base: "1s", cap: 5_000 }, budget: budget() }, breaker: {} }), one, "another budget");
  assert.notEqual(stacks.of({ name: "x", retry: { attempts: 3, backoff: { base: "1s", cap: 5_000 }, budget: shared }, breaker: {} }), one, "another name");
  assert.notEqual(stacks.of({ retry: { attempts: 3, backoff: { base: "1s", cap: 5_000 }, budget: shared }, breaker: {} }), one, "no name");
  assert.notEqual(stacks.of({ name: "b", breaker: { slowCall: false } }), stacks.of({ name: "b", breaker: { slowCall: "1s" } }));
  assert.equal(engine.stacks.length, 6);
});

test("a breaker given to two stacks is one breaker, and so is a budget", async () => {
  const { host, guard } = shim();
  const breaker = new SharedObject("breaker", readShared("breaker", "circuitBreaker", { consecutiveFailures: 2 })) as never;
  const one = guard({ name: "one", breaker });
  const two = guard({ name: "two", breaker, retry: {} });
  const fail = () => Promise.reject(new Error("lost"));
  await reasonOf(one.execute(fail));
  await reasonOf(one.execute(fail));
  assert.equal(two.breaker().state, "open");
  assert.equal(((await reasonOf(two.execute(fail))) as RejectedError).reason, "circuit-open");

  const none = budget({ ratio: 0, reserve: 1 });
  const [three, four] = [guard({ name: "three", retry: { budget: none } }), guard({ name: "four", retry: { budget: none } })];
  const errors: unknown[] = [];
  for (const stack of [three, four]) {
    const pending = stack.execute(() => Promise.reject(errors[errors.push(new Error("lost")) - 1]));
    await Promise.all([reasonOf(pending), host.pass(10_000)]);
  }
  assert.equal(reportOf(errors.at(-1))?.stopReason, "budget-exceeded");
  assert.equal(errors.length, 3, "one repeat between the two of them");
});

test("a guard that is built inside a handler shares its state with the ones before it", async () => {
  const { guard } = shim();
  for (let request = 0; request < 1_000; request++) await guard({ name: "payments", retry: { attempts: 3 } }).execute(() => request);
  assert.equal(guard({ name: "payments", retry: { attempts: 3 } }).metrics().keys[0]?.calls, 1_000);
});

test("guards without a name share nothing, however equal they are: one's outage is not the other's", async () => {
  const { guard } = shim();
  const policies = { breaker: { consecutiveFailures: 1 } };
  const [mail, database] = [guard(policies), guard(policies)];
  await reasonOf(mail.execute(() => Promise.reject(new Error("lost"))));
  assert.equal(mail.breaker().state, "open");
  assert.equal(await database.execute(() => "fine"), "fine");
  assert.deepEqual([database.breaker().state, database.metrics().keys[0]?.calls], ["closed", 1]);
});

test("guards of the same name and other policies, or of other names, share nothing", async () => {
  const { guard } = shim();
  const failing = guard({ name: "a", breaker: { consecutiveFailures: 1 } });
  await reasonOf(failing.execute(() => Promise.reject(new Error("lost"))));
  assert.equal(await guard({ name: "a", breaker: { consecutiveFailures: 1 }, retry: {} }).execute(() => 1), 1);
  assert.equal(await guard({ name: "b", breaker: { consecutiveFailures: 1 } }).execute(() => 1), 1);
});

test("a guard without a name that is built inside a handler is bounded and never an error, and leaves others room", async () => {
  const { engine, guard } = shim();
  for (let request = 0; request < 1_000; request++) await guard({ breaker: {} }).execute(() => request);
  assert.equal(engine.stacks.length, 128);
  assert.equal(guard({ breaker: {} }).metrics().keys[0]?.calls, 873, "the last one goes on for all that come");
  for (let i = 0; i < 128; i++) guard({ name: `stack ${i}`, retry: {} });
  guard({ breaker: {} });
});

test("beyond 256 different stacks an error names the cure", () => {
  const { guard } = shim();
  for (let i = 0; i < 256; i++) guard({ name: `stack ${i}`, retry: {} });
  assert.throws(() => guard({ name: "one more", retry: {} }), { name: "ConfigError", message: /256 .*at module scope.*not inside a handler/ });
  guard({ name: "stack 7", retry: {} });
});

test("a refused stack leaves no trace, and the next one is built as if it had not been", () => {
  const { engine, guard } = shim();
  for (let i = 0; i < 300; i++) assert.throws(() => guard({ retry: { attempts: 99 }, breaker: { minCalls: i + 1 } }));
  guard({ retry: {} });
  assert.equal(engine.stacks.length, 1);
});

test("a bad option of a call rejects the call and sends nothing", async () => {
  const { guard } = shim();
  let sent = 0;
  const stack = guard({ retry: {} }, { fetch: async () => (sent++, new Response()) });
  const error = (await reasonOf(stack.fetch("https://a.example/", {}, { timeout: "soon" as never }))) as ConfigError;
  assert.ok(error instanceof ConfigError);
  assert.equal(error.path, "timeout");
  assert.equal(sent, 0);
});
