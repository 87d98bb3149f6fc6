// What the vectors do not reach: what the component says of wrong configurations, its events, names of keys, shared objects,
// and what it knows of HTTP.

import assert from "node:assert/strict";
import { test } from "node:test";
import { newEngine } from "./engine.mjs";

const MILLI = 1_000_000n;
const SECOND = 1_000n * MILLI;
const GET = { repeat: "freely", replayable: true, single: false, prepared: false, cost: 1 };
const status = (code) => ({ ended: { tag: "status", val: code } });
const options = (policy, values = {}) => ({ policy, options: Object.entries(values).map(([name, value]) => ({ name, value })) });
const count = (val) => ({ tag: "count", val });
const duration = (val) => ({ tag: "duration", val });

test("a value outside its range is refused with the range, in nanoseconds where it is a span", () => {
  const wrong = options("attemptTimeout", { attempt: duration(0n) });
  const range = { given: 0, min: 1e6, max: 86_400e9 };
  assert.deepEqual(refused(wrong), { policy: "attemptTimeout", option: "attempt", problem: { tag: "out-of-range", val: range } });
});

test("a value that another option forbids is refused with what is allowed beside it", () => {
  const wrong = options("breaker", { openFor: duration(600n * SECOND) });
  const range = { given: 600e9, min: 1e6, max: 300e9 };
  assert.deepEqual(refused(wrong), { policy: "breaker", option: "openFor", problem: { tag: "conflict", val: range } });
});

test("an option that may not be off says so", () => {
  const { problem } = refused(options("retry", { attempts: { tag: "none" } }));
  assert.deepEqual(problem, { tag: "out-of-range", val: { given: undefined, min: 1, max: 15 } });
});

test("what cannot be read is refused by name", () => {
  for (const [wrong, tag] of [
    [options("retry", { attemps: count(3) }), "unknown-option"],
    [options("retry", { attempts: duration(3n) }), "wrong-kind"],
    [options("retry", { "backoff.jitter": { tag: "word", val: "some" } }), "wrong-kind"],
    [options("other"), "unknown-policy"],
  ]) {
    const [given] = wrong.options;
    const { policy, option, problem } = refused(wrong);
    assert.deepEqual([policy, option, problem.tag], [wrong.policy, given?.name ?? "", tag]);
  }
});

test("only gates and budgets can be shared", () => {
  const { Shared } = newEngine();
  assert.equal(thrown(() => Shared.create(options("retry"))).problem.tag, "unknown-object");
  Shared.create(options("bulkhead"));
});

test("there is room for 256 stacks", () => {
  const { Stack } = newEngine();
  for (let made = 0; made < 256; made++) assert.equal(Stack.create([options("deadline")], []).number(), made);
  assert.equal(thrown(() => Stack.create([], [])).problem.tag, "too-many");
});

test("a circuit that two stacks share opens for both", () => {
  const { Shared, Stack, ...engine } = newEngine();
  const breaker = Shared.create(options("breaker", { consecutiveFailures: count(1) }));
  const [one, other] = [Stack.create([], [breaker]), Stack.create([], [breaker])];
  const { call } = one.admit("a", GET, 0n, 1n);
  engine.settle(call, 1, status(500), MILLI, 2n);
  assert.deepEqual(other.admit("a", GET, MILLI, 3n).step, { tag: "reject", val: { reason: { tag: "circuit-open" }, policy: "breaker" } });
  assert.equal(other.admit("b", GET, MILLI, 4n).step.tag, "send");
  assert.equal(other.circuit("a", MILLI).state.tag, "open");
});

test("a shared budget pays for what no stack sends, name by name", () => {
  const { Shared } = newEngine();
  const wallet = Shared.create(options("budget", { kind: { tag: "word", val: "tokenBucket" }, max: count(2) }));
  assert.deepEqual([1, 2, 3].map(() => wallet.spend("a", 0n)), [true, true, false]);
  assert.equal(wallet.spend("b", 0n), true);
  assert.equal(Shared.create(options("bulkhead")).spend("a", 0n), false);
});

test("events tell what happened by name, once somebody listens", () => {
  const { Stack, ...engine } = newEngine();
  const stack = Stack.create([options("retry", { "backoff.jitter": { tag: "word", val: "none" } })], []);
  engine.listen(true);
  const { call, key } = stack.admit("a", GET, SECOND, 1n);
  engine.settle(call, 1, status(503), SECOND + 5n * MILLI, 2n);
  const events = [];
  for (let event; (event = engine.nextEvent()); ) events.push(event);
  assert.deepEqual(events.map(({ name }) => name), ["sent", "settled", "retry"]);
  assert.ok(events.every((event) => event.stack === stack.number() && event.key === key));
  assert.equal(events[1].at, 5n * MILLI);
  const facts = Object.fromEntries(events[1].facts.map(({ name, value }) => [name, value]));
  assert.deepEqual(facts.verdict, { tag: "word", val: "overload" });
  assert.deepEqual(facts.latencyMs, { tag: "duration", val: 5n * MILLI });
  assert.deepEqual(events[2].policy, "retry");
  assert.equal(engine.lostEvents(), 0n);
});

test("a snapshot brings the names of its keys along", () => {
  const policies = [options("breaker", { consecutiveFailures: count(1) })];
  const opened = (engine, stack, name) => {
    const { call } = stack.admit(name, GET, 0n, 1n);
    engine.settle(call, 1, status(500), 0n, 2n);
  };
  const first = newEngine();
  const stack = first.Stack.create(policies, []);
  for (const name of ["a", "ä€😀", "x".repeat(5_000)]) opened(first, stack, name);
  const learned = stack.snapshot(0n);
  assert.deepEqual(learned.keys.slice(0, 2), [[2, "a"], [3, "ä€😀"]]);

  const second = newEngine();
  const other = second.Stack.create(policies, []);
  other.admit("has the number that a had", GET, 0n, 1n);
  assert.deepEqual(other.restore(learned, 0n), []);
  const states = ["a", "ä€😀", "x".repeat(5_000), "has the number that a had", "never seen"].map((name) => other.circuit(name, 0n).state.tag);
  assert.deepEqual(states, ["open", "open", "open", "closed", "closed"]);

  const configuredAnew = newEngine().Stack.create([options("breaker")], []);
  assert.deepEqual(configuredAnew.restore(learned, 0n), ["breaker"]);
});

test("a call of an earlier instance means nothing to a later one", () => {
  const engine = newEngine();
  engine.beginGenerationsAt(1_000);
  const { call } = engine.Stack.create([options("deadline")], []).admit(undefined, GET, 0n, 1n);
  const later = newEngine();
  later.beginGenerationsAt(2_000);
  const stack = later.Stack.create([options("deadline")], []);
  stack.admit(undefined, GET, 0n, 1n);
  assert.equal(later.settle(call, 1, status(200), 0n, 2n).step.tag, "unguarded");
  assert.equal(later.inFlight(), 1);
});

test("a Retry-After field is read as the engine reads it", () => {
  const { retryAfter } = newEngine();
  assert.equal(retryAfter("120", 0n, undefined), 120n * SECOND);
  assert.equal(retryAfter("Fri, 31 Dec 1999 23:59:59 GMT", 0n, "Fri, 31 Dec 1999 23:59:57 GMT"), 2n * SECOND);
  assert.equal(retryAfter("soon", 0n, undefined), undefined);
});

test("a stack whose calls nothing limits says so", () => {
  const { Stack } = newEngine();
  assert.equal(Stack.create([options("bulkhead")], []).hasALimit(), false);
  assert.equal(Stack.create([options("bulkhead"), options("deadline")], []).hasALimit(), true);
});

/** What is said of a stack with this policy. */
const refused = (settings) => thrown(() => newEngine().Stack.create([settings], []));

/** jco throws the very error that a `result` carries. */
function thrown(act) {
  try {
    act();
  } catch (error) {
    return error;
  }
  return assert.fail("nothing was refused");
}
