// What is given beside a configuration: to `forbear`, to a guard's methods, and as a key. Wrong things are told where they are given.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forbear } from "../src/entry/inline.js";
import { ConfigError } from "../src/index.js";
import { quiet, reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
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

test("wrong options are refused where they are given: path, value, and what may stand there", () => {
  const table: [options: unknown, message: string][] = [
    [{ retry: {} }, "options.retry: unknown; known are fetch, key, classify, host"],
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
  assert.equal(refused(() => guard.on("open" as never, () => {})), 'on: unknown; did you mean "opened"?');
  assert.match(refused(() => guard.on("nonsense" as never, () => {})), /^on: unknown; known are \*, sent, settled, /);
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

test("no key is no failure, and a call's own key that is no string is none", async () => {
  const { guard } = shim();
  const stack = guard({ breaker: {} }, { fetch: new Upstream(status(200), status(200)).fetch, key: () => undefined as never });
  stack.on("keyFailed", () => assert.fail("was told"));
  await stack.fetch("https://a.example/");
  await stack.fetch("https://a.example/", {}, { key: 5 as never });
  assert.deepEqual(stack.metrics().keys.map(({ key, calls }) => [key, calls]), [[null, 2]]);
  await quiet();
});
