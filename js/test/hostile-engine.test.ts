// What a hostile caller, upstream, store or clock may hand the engine, and that nobody else pays for it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { circuitBreaker, ConfigError, forbear, RejectedError } from "../src/entry/inline.js";
import { defaultHost } from "../src/host/host.js";
import { KeyNames } from "../src/engine/keys.js";
import type { FetchOptions } from "../src/types.js";
import { FakeHost, reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { status } from "./support/upstream.js";

const A = "https://a.example";
/** As many keys as the engine keeps apart. */
const ROOM = 1_024;
const thrower = { valueOf: () => { throw new RangeError("valueOf"); } };

test("an option that is no number is its caller's error: no stack forgets anything, and nothing is sent", async () => {
  const { engine, guard } = shim();
  let sent = 0;
  const stack = guard({ breaker: {}, retry: {} }, { fetch: async () => (sent++, status(200)) });
  stack.breaker(A).forceOpen();
  for (const cost of [1n, Symbol("cost"), thrower, "5", {}, null]) {
    const error = await reasonOf(stack.fetch("https://b.example/", {}, { cost } as unknown as FetchOptions));
    assert.ok(error instanceof ConfigError, String(error));
    assert.match(error.message, /^cost: /);
  }
  for (const options of [{ timeout: 5n }, { timeout: thrower }]) {
    await reasonOf(stack.fetch("https://b.example/", {}, options as unknown as FetchOptions)).then((error) => assert.ok(error instanceof Error));
  }
  assert.equal(sent, 0);
  assert.equal(engine.epoch, 0);
  assert.equal(stack.breaker(A).state, "forced-open");
});

test("what an upstream's error or response says beside its kind may be no number: the engine lives, the call ends as it would", async () => {
  const { engine, guard } = shim();
  const stack = guard({ breaker: {} });
  stack.breaker("a").forceOpen();
  for (const retryAfterMs of [5n, Symbol("soon"), thrower, "5"]) {
    const error = new RejectedError({ reason: "circuit-open", policy: "breaker", stackName: undefined, key: null, retryAfterMs: undefined });
    Object.assign(error, { retryAfterMs });
    assert.equal(await reasonOf(stack.execute(() => Promise.reject(error))), error);
  }
  for (const code of [503n, Symbol("status"), thrower, "503"]) {
    const response = { [Symbol.toStringTag]: "Response", status: code };
    assert.equal(await stack.execute(() => response).catch((error: unknown) => error), response);
  }
  assert.equal(engine.epoch, 0);
  assert.equal(stack.breaker("a").state, "forced-open");
});

test("a host whose clock gives no number fails its own calls; the engine lives", async () => {
  const host = new FakeHost();
  const { engine, guard } = shim(host);
  const stack = guard({ breaker: {} });
  stack.breaker("a").forceOpen();
  const { now } = host;
  host.now = () => 5n as never;
  assert.ok((await reasonOf(stack.execute(() => 1))) instanceof TypeError);
  host.now = now;
  assert.equal(engine.epoch, 0);
  assert.equal(stack.breaker("a").state, "forced-open");
});

test("where every key is busy, an operator's order for one more is refused and touches no other circuit", async () => {
  const { guard } = shim();
  const stack = guard({ breaker: {} });
  for (let i = 0; i < ROOM; i++) stack.breaker(`busy ${i}`).forceOpen();
  assert.throws(() => stack.breaker("new").forceOpen(), /no room for the key "new"/);
  assert.equal(stack.breaker("new").state, "closed");
  assert.equal(stack.breaker().state, "closed");
  assert.equal(await stack.execute(() => "keyless"), "keyless");
});

test("a snapshot restored where every key is busy loses what has no room, and opens nobody else's circuit", async () => {
  const saved = shim().guard({ breaker: {} });
  saved.breaker("open").forceOpen();
  const stack = shim().guard({ breaker: {} });
  for (let i = 0; i < ROOM; i++) stack.breaker(`busy ${i}`).forceOpen();
  assert.deepEqual(stack.restore(saved.snapshot(), { orders: true }), { restored: ["breaker"], dropped: [] });
  assert.equal(stack.breaker("open").state, "closed");
  assert.equal(await stack.execute(() => "keyless"), "keyless");
});

test("a snapshot restored where one key has room gives no name another's circuit", async () => {
  const saved = shim().guard({ breaker: {} });
  for (const name of ["one", "two", "three"]) saved.breaker(name).forceOpen();
  saved.breaker("four").forceClosed();
  saved.breaker("four").disable();
  const { guard } = shim();
  const stack = guard({ breaker: {} });
  const busy = guard({ name: "busy", breaker: {} });
  await stack.execute(() => 1, { key: "idle" });
  for (let i = 0; i < ROOM - 1; i++) busy.breaker(`busy ${i}`).forceOpen();
  assert.ok(stack.restore(saved.snapshot(), { orders: true }));
  const states = ["one", "two", "three", "four"].map((name) => stack.breaker(name).state);
  assert.deepEqual(states, ["forced-open", "closed", "closed", "closed"], "the first one had the room");
  assert.equal(stack.breaker().state, "closed");
});

test("a snapshot brings only the names its state speaks of, so that restoring costs no other key its place", async () => {
  const { guard } = shim();
  const saved = guard({ breaker: {} });
  const other = guard({ name: "other", breaker: {} });
  saved.breaker("open").forceOpen();
  for (let i = 0; i < 50; i++) other.breaker(`other ${i}`).forceOpen();
  const text = new TextDecoder().decode(saved.snapshot());
  assert.match(text, /"open"/);
  assert.doesNotMatch(text, /other/);
});

test("restoring junk behind 2,000 names, and names with a bit changed, changes nothing: no live key goes", async () => {
  const { guard } = shim();
  const stack = guard({ breaker: {} });
  for (let i = 0; i < ROOM; i++) await stack.execute(() => 1, { key: `live ${i}` });
  stack.breaker("live 0").forceOpen();
  const before = stack.snapshot();
  const metrics = stack.metrics();
  const names = Array.from({ length: 2_000 }, (_, i) => [`junk ${i}`, i + 2]);
  const junk = new TextEncoder().encode(`fbn1${JSON.stringify(names)}\njunk`);
  assert.equal(stack.restore(junk), false);
  assert.equal(stack.restore(summed(new TextEncoder().encode(`fbn2    ${JSON.stringify(names)}\njunk`))), false);
  for (let bit = 0; bit < before.length * 8; bit += bit < 1_000 ? 1 : 997) {
    const flipped = before.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    assert.equal(stack.restore(flipped), false, `bit ${bit}`);
  }
  assert.deepEqual(stack.snapshot(), before);
  assert.deepEqual(stack.metrics(), metrics);
});

test("a snapshot with more names than there are keys costs no time and no key its place", () => {
  const { guard, engine } = shim();
  const stack = guard({ breaker: {} });
  stack.breaker("mine").forceOpen();
  const bytes = stack.snapshot();
  const state = bytes.subarray(bytes.indexOf(10, 8) + 1);
  const restored = (names: unknown[]): unknown => {
    const head = new TextEncoder().encode(`fbn2    ${JSON.stringify(names)}\n`);
    return stack.restore(summed(new Uint8Array([...head, ...state])));
  };
  const many = (count: number): unknown[] => Array.from({ length: count }, (_, i) => [`forged ${i}`, i + 2]);
  const interned = engine.keys.idOf("mine");
  for (const count of [1_025, 100_000]) assert.equal(restored(many(count)), false);
  assert.deepEqual([...engine.keys.entries()], [["mine", interned]]);
  assert.deepEqual(restored(many(1_024)), { restored: ["breaker"], dropped: [] });
});

test("what operators ordered is restored only where that is asked for, and what they ordered here stays", () => {
  const saved = shim().guard({ breaker: {} });
  saved.breaker("a").forceOpen();
  saved.breaker("b").disable();
  const { guard } = shim();
  const stack = guard({ breaker: {} });
  const states = (): string[] => ["a", "b"].map((key) => stack.breaker(key).state);
  assert.deepEqual(stack.restore(saved.snapshot()), { restored: ["breaker"], dropped: [] });
  assert.deepEqual(states(), ["closed", "closed"]);
  stack.restore(saved.snapshot(), { orders: true });
  assert.deepEqual(states(), ["forced-open", "disabled"]);
  stack.restore(shim().guard({ breaker: {} }).snapshot());
  assert.deepEqual(states(), ["forced-open", "disabled"]);
  for (const options of [{ orders: 1 }, { order: true }, 7]) assert.throws(() => stack.restore(saved.snapshot(), options as never), /restore\.options/);
});

test("a clock that is set back does not stop what waits for time", async () => {
  const real = Date.now;
  const host = defaultHost();
  const first = host.now();
  assert.ok(Number.isInteger(first) && Math.abs(first - real()) < 60_000);
  Date.now = () => real() - 30_000;
  try {
    const guard = forbear({ name: "set back", breaker: { consecutiveFailures: 1, openFor: "100ms", openJitter: 0 } });
    await reasonOf(guard.execute(() => Promise.reject(new Error("lost"))));
    assert.equal(guard.breaker().state, "open");
    Date.now = () => real() - 60_000;
    await new Promise((resolve) => setTimeout(resolve, 150));
    assert.ok(host.now() - first >= 150);
    assert.equal(await guard.execute(() => "asked again"), "asked again");
    assert.equal(host.wallNow!(), Date.now(), "dates in headers go by the wall");
  } finally {
    Date.now = real;
  }
  assert.equal({ ...host, now: () => 5 }.wallNow!(), 5, "a clock of the user's own is both");
});

test("a key of any length takes bounded room, and long ones that differ are still told apart", async () => {
  const keys = new KeyNames();
  const long = "x".repeat(1_000_000);
  keys.learn(`${long}a`, 2);
  keys.learn(`${long}b`, 3);
  assert.deepEqual([keys.idOf(`${long}a`), keys.idOf(`${long}b`)], [2, 3]);
  assert.ok([...keys.entries()].every(([name]) => name.length <= ROOM));
  const [[name]] = [...keys.entries()] as [[string, number]];
  assert.equal(keys.idOf(name), 2, "as a snapshot names it");
  const { guard } = shim();
  const stack = guard({ breaker: {} });
  stack.breaker(`${long}a`).forceOpen();
  assert.ok((await reasonOf(stack.execute(() => 1, { key: `${long}a` }))) instanceof RejectedError);
  assert.equal(await stack.execute(() => 1, { key: `${long}b` }), 1);
  assert.ok(stack.snapshot().length < 4_000);
});

test("too many shared objects: the error says what to do", () => {
  const error = (() => {
    for (let i = 0; i < 10_000; i++) {
      try {
        circuitBreaker();
      } catch (error) {
        return error;
      }
    }
  })();
  assert.ok(error instanceof ConfigError);
  assert.match(error.message, /\(too-many\).*once, at module scope/);
});

/** With the checksum right. */
function summed(bytes: Uint8Array): Uint8Array {
  let sum = 0x811c9dc5;
  for (const byte of bytes.subarray(8)) sum = Math.imul(sum ^ byte, 0x01000193);
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(4, sum >>> 0, true);
  return bytes;
}
