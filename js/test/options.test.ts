// What is given beside a configuration: to `forbear`, to a guard's methods, and as a key. Wrong things are told where they are given.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forbear } from "../src/entry/inline.js";
import { ConfigError, RejectedError } from "../src/index.js";
import { quiet, reasonOf } from "./support/host.js";
import { faceOn, shim } from "./support/shim.js";
import { status, Upstream } from "./support/upstream.js";

const refused = (what: () => unknown): string => {
  try {
    what();
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  assert.fail("was accepted");
};

test("a function that is async where it may not be, and fails, leaves no rejection unhandled", async () => {
  const unhandled: unknown[] = [];
  const listen = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", listen);
  const fail = async (): Promise<never> => {
    throw new Error("too late to say so");
  };
  const { guard } = shim();
  const failed: string[] = [];
  const stack = guard({ retry: {} }, { fetch: async () => status(200), key: fail as never, classify: fail as never });
  stack.on("*", ({ type }) => void (type.endsWith("Failed") && failed.push(type)));
  stack.on("done", fail as never);
  const url = "https://a.example/";
  assert.equal((await stack.fetch(url, undefined, { waitUntil: fail as never })).status, 200);
  assert.equal((await stack.with({ waitUntil: fail as never }).fetch(url)).status, 200);
  for (const host of [{ now: fail }, { random: fail }]) {
    await reasonOf(forbear({ name: "a host that is async" }, { host: host as never, fetch: async () => status(200) }).fetch(url));
  }
  await quiet();
  process.off("unhandledRejection", listen);
  assert.deepEqual(unhandled, []);
  assert.deepEqual(failed, ["keyFailed", "classifyFailed", "keyFailed", "classifyFailed"]);
});

test("wrong options are refused where they are given: path, value, and what may stand there", () => {
  const table: [options: unknown, message: string][] = [
    [{ retry: {} }, "options.retry: unknown; known are fetch, key, classify, fallback, refusals, replay, abortIsTimeoutAfter, onUnavailable, host"],
    [{ fetcher: fetch }, 'options.fetcher: unknown; did you mean "fetch"?'],
    [{ key: "x" }, 'options.key: "x" is not allowed; expected a function, or null'],
    [{ fetch: 5 }, "options.fetch: 5 is not allowed; expected a function, or an object that has fetch"],
    [{ fetch: {} }, "options.fetch: an object is not allowed; expected a function, or an object that has fetch"],
    [{ classify: "x" }, 'options.classify: "x" is not allowed; expected a function'],
    [{ host: { now: 5 } }, "options.host.now: 5 is not allowed; expected a function"],
    [{ host: null }, "options.host: null is not allowed; expected an object"],
    [null, "options: null is not allowed; expected an object"],
  ];
  for (const [options, message] of table) assert.equal(refused(() => forbear({}, options as never)), message);
  forbear({}, { key: undefined, fetch: { fetch }, classify: () => undefined });
});

test("a guard's methods say what they take", async () => {
  const guard = forbear({ breaker: {} });
  assert.equal(refused(() => guard.on("open" as never, () => {})), 'on("open"): unknown; did you mean "opened"?');
  assert.match(refused(() => guard.on("nonsense" as never, () => {})), /^on\("nonsense"\): unknown; known are \*, sent, settled, /);
  assert.equal(refused(() => guard.on("opened", undefined as never)), "listener: undefined is not allowed; expected a function");
  assert.equal(refused(() => guard.restore(undefined as never)), "restore: undefined is not allowed; expected a Uint8Array");
  assert.equal(refused(() => guard.with({ waitUntil: {} as never })), "with.waitUntil: an object is not allowed; expected a function");
  assert.equal(refused(() => guard.breaker(5 as never)), "breaker: 5 is not allowed; expected a string, or null");
  assert.equal(refused(() => guard.with({ ctx: {} } as never)), "with.ctx: unknown; known are fetch, waitUntil");
  const error = await reasonOf(guard.execute("x" as never));
  assert.ok(error instanceof ConfigError);
  assert.equal(error.message, 'execute: "x" is not allowed; expected a function');
  assert.equal(guard.breaker().calls, 0, "and it is no evidence");
});

test("a key function that throws, or gives no string, leaves the call without a key and is told", async () => {
  for (const key of [() => { throw new Error("a bug"); }, () => 5, () => ({})]) {
    const { guard } = shim();
    const stack = guard({ breaker: {} }, { fetch: new Upstream(status(200)).fetch, key: key as never });
    const heard: unknown[] = [];
    stack.on("keyFailed", ({ error }) => heard.push(error));
    assert.equal((await stack.fetch("https://a.example/")).status, 200);
    await quiet();
    assert.deepEqual(stack.metrics().keys.map(({ key }) => key), [null]);
    assert.equal(heard.length, 1);
    assert.match(String(heard[0]), /a bug|options\.key\(\): .* is not allowed; expected a string, or null/);
  }
});

test("no key is no failure", async () => {
  const { guard } = shim();
  const stack = guard({ breaker: {} }, { fetch: new Upstream(status(200), status(200)).fetch, key: () => undefined as never });
  stack.on("keyFailed", () => assert.fail("was told"));
  await stack.fetch("https://a.example/");
  await stack.fetch("https://a.example/", {}, { key: null });
  assert.deepEqual(stack.metrics().keys.map(({ key, calls }) => [key, calls]), [[null, 2]]);
  await quiet();
});

test("what one call says for itself is refused where it cannot be: which option, what was given, what may stand there", async () => {
  const { engine, guard } = shim();
  const upstream = new Upstream(status(200));
  const stack = guard({ rateLimiter: { rate: 5 }, retry: {} }, { fetch: upstream.fetch });
  const allowed = {
    cost: "a whole number from 0",
    key: "a string, or null",
    idempotent: "true or false",
    timeout: 'a number of ms, or "250ms", "10s", "2m", "1h"',
    waitUntil: "a function",
    getBody: "a function",
    prepare: "a function",
  };
  const wrong: { [option in keyof typeof allowed]: unknown[] } = {
    cost: [NaN, Infinity, -1, 1.9, "1", 1n, Symbol("s"), null, {}],
    key: [5, 5n, true, Symbol("s"), {}, [], () => "k"],
    idempotent: [0, 1, "false", null, {}],
    timeout: [-1, NaN, "-5s", "soon", 5n, Symbol("s"), null, false, {}],
    waitUntil: [5, null, {}, Promise.resolve()],
    getBody: [5, null, "body", new Blob([])],
    prepare: [5, null, {}],
  };
  for (const [option, values] of Object.entries(wrong)) {
    for (const value of values) {
      const options = { [option]: value };
      const execute = option === "getBody" || option === "prepare" ? [] : [stack.execute(() => 1, options)];
      for (const call of [stack.fetch("https://a.example/", {}, options), ...execute]) {
        const error = await reasonOf(call);
        assert.ok(error instanceof ConfigError, `${option}: ${String(error)}`);
        assert.deepEqual([error.path, error.value, error.allowed], [option, value, allowed[option as "cost"]]);
        assert.ok(error.message.startsWith(`${option}: `) && error.message.endsWith(`expected ${error.allowed}`), error.message);
      }
    }
  }
  for (const options of [5, "key", true]) {
    for (const call of [stack.fetch("https://a.example/", {}, options as never), stack.execute(() => 1, options as never)]) {
      assert.match(String(await reasonOf(call)), /ConfigError: call: .* is not allowed; expected an object/);
    }
  }
  assert.deepEqual([upstream.sent.length, stack.metrics().keys.length, engine.epoch], [0, 0, 0]);
});

test("the ends of what one call may say for itself are allowed, and undefined is as if absent", async () => {
  const { guard } = shim();
  const stack = guard({ breaker: {} }, { fetch: new Upstream(status(200)).fetch });
  for (const cost of [0, -0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER, 1e300]) assert.equal((await stack.fetch("https://a.example/", {}, { cost })).status, 200);
  for (const timeout of [0.5, 2 ** 40, "1h"] as const) assert.equal(await stack.execute(() => 1, { timeout }), 1);
  const none = { cost: undefined, key: undefined, idempotent: undefined, timeout: undefined, waitUntil: undefined, getBody: undefined };
  assert.equal((await stack.fetch("https://a.example/", {}, none as never)).status, 200);
});

test("a call's timeout of 0 is time that is up: the call is refused, and nothing is sent", async () => {
  const { guard } = shim();
  const upstream = new Upstream();
  const error = (await reasonOf(guard({ retry: {} }, { fetch: upstream.fetch }).fetch("https://a.example/", {}, { timeout: 0 }))) as RejectedError;
  assert.ok(error instanceof RejectedError, String(error));
  assert.deepEqual([error.reason, upstream.sent.length], ["deadline-exceeded", 0]);
});

test("a host may have more than what is asked of it", () => {
  let time = 5;
  forbear({}, { host: { now: () => time, pass: (ms: number) => (time += ms), time } as never });
});

test("a cost is never less than was said: it takes as many permits as tryAcquire would, and none where there can never be so many", async () => {
  const { guard } = shim();
  const stack = guard({ rateLimiter: { rate: 5 } }, { fetch: new Upstream(status(200)).fetch });
  for (const cost of [6, 2 ** 31, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, 1e300]) {
    const error = await reasonOf(stack.fetch("https://a.example/", {}, { cost, key: "k" }));
    assert.ok(error instanceof RejectedError && error.reason === "oversized", String(error));
  }
  assert.equal(stack.tryAcquire(5, "k"), true, "they took nothing");
});

test("prepare that gives no Request fails its attempt as the caller's mistake, and nothing is sent", async () => {
  for (const given of ["https://b.example/", 5, {}, true]) {
    const { guard } = shim();
    const upstream = new Upstream(status(200));
    const stack = guard({ retry: {} }, { fetch: upstream.fetch });
    const error = await reasonOf(stack.fetch("https://a.example/", {}, { prepare: () => given as never }));
    assert.match(String(error), /ConfigError: prepare\(\): .* is not allowed; expected a Request, or nothing/);
    assert.deepEqual([upstream.sent.length, stack.metrics().keys[0]?.verdicts.defect], [0, 1]);
  }
});

test("a classifier that throws, or says what it cannot, leaves the result to the rules and is told", async () => {
  const said = [99, 600, 503.5, NaN, "sucess", {}, true, 5n, Symbol("s")].map((said) => () => said);
  for (const classify of [...said, async () => "success", async () => { throw new Error("a bug"); }, () => { throw new Error("a bug"); }]) {
    const { guard } = shim();
    const stack = guard({ breaker: {} }, { fetch: new Upstream(status(503)).fetch, classify: classify as never });
    const heard: unknown[] = [];
    stack.on("classifyFailed", ({ key, error }) => heard.push(key, error));
    assert.equal((await stack.fetch("https://a.example/")).status, 503);
    await quiet();
    assert.equal(stack.metrics().keys[0]?.verdicts.overload, 1);
    assert.equal(heard[0], "https://a.example");
    assert.match(String(heard[1]), /a bug|options\.classify\(\): .* is not allowed; expected one of success, .*, a status from 100 to 599, or undefined/);
  }
});

test("a classifier that leaves a result to the rules is told of nothing", async () => {
  const { guard } = shim();
  for (const said of [undefined, null, 200, "success"]) {
    const stack = guard({ breaker: {} }, { classify: () => said as never });
    stack.on("classifyFailed", () => assert.fail("was told"));
    assert.equal(await stack.execute(() => 1), 1);
    await quiet();
  }
});

// ——— the host ———

const LIMITED = { throttler: { minRequests: 1 } };

test("a host's random may be Math.random: the throttler refuses a share, as with words", async () => {
  const refused: number[] = [];
  for (const scale of [1, 2 ** 53]) {
    let [time, drawn] = [1_000, 0];
    const host = { now: () => time, random: () => ((++drawn * 0.6180339887) % 1) * scale };
    let code = 503;
    const guard = faceOn().forbear(LIMITED, { host, fetch: async () => new Response("", { status: code }) });
    for (let call = 0; call < 200; call++, time += 10) await guard.fetch("https://a.example/").catch(() => {});
    code = 200;
    let no = 0;
    for (let call = 0; call < 2_000; call++, time += 10) await guard.fetch("https://a.example/").catch(() => no++);
    refused.push(no);
  }
  assert.equal(refused[0], refused[1], "share by share the same word");
  assert.ok(refused[0]! > 0 && refused[0]! < 1_000, `${refused[0]} of 2000 refused once it had healed`);
});

test("a host's clock and randomness that give something else say at the first call what they must give", async () => {
  const words = "expected a whole number from 0 up to 2⁵³, without it, or what Math.random() gives";
  for (const [name, given, allowed] of [
    ...[NaN, Infinity, -1, 2 ** 53, "5", 5n, undefined, null, {}].map((given) => ["random", given, words] as const),
    ...[undefined, "5", 5n, new Date(0), Symbol("s"), NaN, Infinity, -Infinity].map((given) => ["now", given, "expected a number of ms that is finite"] as const),
  ]) {
    const { forbear } = faceOn();
    const guard = forbear(LIMITED, { host: { [name]: () => given } });
    const error = await reasonOf(guard.execute(() => assert.fail("was sent")));
    assert.ok(error instanceof ConfigError, String(error));
    assert.equal(error.path, `options.host.${name}()`);
    assert.ok(error.message.endsWith(allowed), error.message);
  }
});
