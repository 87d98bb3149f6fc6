// Where WebAssembly cannot be: what a guard still does, and what it says.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Unavailable } from "../src/errors.js";
import { ConfigError, reportOf, type EventOf, type GuardEvent, type TimeoutError } from "../src/index.js";
import { FakeHost, reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { hang, status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";
const CAUSE = new Unavailable("this host has no WebAssembly");

/** Guards without an engine, what they warn, and how often a module was asked for. */
function without(t: TestContext) {
  const warnings = t.mock.method(console, "warn", () => {});
  let asked = 0;
  const host = new FakeHost();
  const made = shim(host, () => {
    asked++;
    throw CAUSE;
  });
  return { ...made, warned: () => warnings.mock.callCount(), asked: () => asked };
}

test("calls are made as they are, one warning and one event a guard tell, and nobody tries to compile again", async (t) => {
  const { host, guard, warned, asked } = without(t);
  const responses = [status(503), status(200), status(200)];
  const upstream = new Upstream(...responses);
  const guarded = guard({ name: "api", retry: {}, breaker: {}, timeout: {} }, { fetch: upstream.fetch });
  guard({ name: "other", retry: {} });
  const heard: GuardEvent[] = [];
  guarded.on("*", (event) => heard.push(event));
  for (const response of responses) assert.equal(await guarded.fetch(URL_A), response);
  await host.pass(0);
  assert.equal(reportOf(responses[0])?.stopReason, "unguarded");
  assert.deepEqual(heard.map((event) => [event.type, event.stack, (event as EventOf<"unavailable">).error]), [["unavailable", "api", CAUSE]]);
  assert.deepEqual([guarded.state, upstream.sent.length, warned(), asked()], ["unavailable", 3, 1, 1]);
});

test("timeouts hold, and a caller that leaves is heard", async (t) => {
  const { host, guard } = without(t);
  const guarded = guard({ timeout: { attempt: "1s", total: "5s" } }, { fetch: new Upstream(hang).fetch });
  const late = reasonOf(guarded.fetch(URL_A));
  await host.pass(1_000);
  assert.equal(((await late) as TimeoutError).policy, "attemptTimeout");
  const caller = new AbortController();
  const left = reasonOf(guarded.fetch(URL_A, { signal: caller.signal }));
  caller.abort("gone");
  assert.equal(await left, "gone");
});

test("what caps spending gives nothing, what reads knows nothing, and orders say why they are not followed", (t) => {
  const { guard } = without(t);
  const guarded = guard({ name: "api", rateLimiter: {}, breaker: {} });
  assert.equal(guarded.tryAcquire(), false);
  assert.deepEqual(guarded.metrics(), { stack: "api", keys: [] });
  assert.deepEqual([guarded.breaker(URL_A).state, guarded.breaker(URL_A).calls], ["closed", 0]);
  assert.throws(() => guarded.breaker(URL_A).forceOpen(), CAUSE);
  assert.equal(guarded.restore(guarded.snapshot()), false);
});

test("a wrong configuration is still its maker's error", (t) => {
  const { guard } = without(t);
  assert.throws(() => guard({ retry: { atempts: 3 } } as never), { name: "ConfigError", message: /did you mean "attempts"/ });
  assert.throws(() => guard({ timeout: "soon" } as never), ConfigError);
});

test("an engine that could not be made for any other reason is an error where the guard is made", () => {
  const cause = new ConfigError("there is no room to compile WebAssembly");
  const { guard } = shim(new FakeHost(), () => {
    throw cause;
  });
  assert.throws(() => guard({}), cause);
});
