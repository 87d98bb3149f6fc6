// Timers of the runtime: one for all, in order, never too long, and never holding a process that has nothing to wait for.

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, mock, test } from "node:test";
import { defaultHost } from "../src/host/host.js";
import { arm, TimerList } from "../src/host/timers.js";

interface Timer {
  at: number;
  delay: unknown;
  fire: () => void;
  held: boolean;
  ref(): void;
  unref(): void;
}

let now = 0;
let timers: Timer[] = [];
let set = 0;

beforeEach(() => {
  now = 5_000;
  timers = [];
  set = 0;
  mock.method(globalThis, "setTimeout", (fire: () => void, delay: number) => {
    set++;
    const timer: Timer = { at: now + delay, delay, fire, held: true, ref: () => (timer.held = true), unref: () => (timer.held = false) };
    timers.push(timer);
    return timer;
  });
  mock.method(globalThis, "clearTimeout", (timer: Timer) => (timers = timers.filter((each) => each !== timer)));
  mock.method(performance, "now", () => now);
});

afterEach(() => mock.restoreAll());

/** What was mocked stands for the runtime's own. */
function timerList(): TimerList {
  return new TimerList(undefined, setTimeout);
}

async function pass(ms: number): Promise<void> {
  const until = now + ms;
  for (;;) {
    const next = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
    if (next === undefined) break;
    now = next.at;
    timers = timers.filter((each) => each !== next);
    next.fire();
    for (let i = 0; i < 5; i++) await Promise.resolve();
  }
  now = until;
}

test("calls with the same delay share one timer, and wake in order", async () => {
  const list = timerList();
  const woken: number[] = [];
  for (let i = 0; i < 100; i++) {
    list.arm(1_000, () => woken.push(i));
    now += 1;
  }
  assert.equal(set, 1);
  await pass(899);
  assert.deepEqual(woken, []);
  await pass(1);
  assert.deepEqual(woken, [0]);
  await pass(99);
  assert.deepEqual(woken, Array.from({ length: 100 }, (_, i) => i));
  assert.equal(timers.length, 0);
});

test("a wake that would stand before others has a timer of its own", async () => {
  const list = timerList();
  const woken: string[] = [];
  list.arm(1_000, () => woken.push("late"));
  list.arm(10, () => woken.push("early"));
  const off = list.arm(20, () => woken.push("called off"));
  assert.equal(timers.length, 3);
  off();
  assert.equal(timers.length, 2);
  await pass(10);
  assert.deepEqual(woken, ["early"]);
  await pass(990);
  assert.deepEqual(woken, ["early", "late"]);
});

test("the timer holds the process while somebody waits, and not a moment longer", async () => {
  const list = timerList();
  const one = list.arm(1_000, () => {});
  const two = list.arm(1_000, () => {});
  assert.deepEqual(timers.map(({ held }) => held), [true]);
  one();
  assert.deepEqual(timers.map(({ held }) => held), [true]);
  two();
  two();
  assert.deepEqual(timers.map(({ held }) => held), [false]);
  now += 500;
  let woken = false;
  list.arm(1_000, () => (woken = true));
  assert.deepEqual(timers.map(({ held, at }) => ({ held, at })), [{ held: true, at: 6_000 }], "the same timer, which asks again when it fires");
  await pass(999);
  assert.equal(woken, false);
  await pass(1);
  assert.equal(woken, true);
  assert.equal(set, 2);
});

test("a shorter delay after a longer one that was called off does not wait for it", async () => {
  const list = timerList();
  list.arm(60_000, () => {})();
  let woken = false;
  list.arm(10, () => (woken = true));
  assert.equal(timers.length, 1);
  await pass(10);
  assert.equal(woken, true);
});

test("calling off after the wake, or twice, does nothing to others", async () => {
  const list = timerList();
  let woken = 0;
  const off = list.arm(10, () => woken++);
  await pass(10);
  list.arm(10, () => woken++);
  off();
  off();
  await pass(10);
  assert.equal(woken, 2);
});

test("calling off between the timer and the wake still calls off", async () => {
  const list = timerList();
  const woken: string[] = [];
  let off = (): void => {};
  list.arm(10, () => {
    woken.push("first");
    off();
  });
  off = list.arm(10, () => woken.push("second"));
  await pass(10);
  assert.deepEqual(woken, ["first"]);
});

for (const [name, make] of [["one of its own", () => arm], ["the list", () => { const list = timerList(); return list.arm.bind(list); }]] as const) {
  test(`${name}: delays beyond 2³¹−1 ms are chained and neither fire at once nor too early`, async () => {
    let woken = false;
    make()(40 * 86_400_000, () => (woken = true));
    assert.equal(timers[0]?.delay, 2 ** 31 - 1);
    await pass(40 * 86_400_000 - 1);
    assert.equal(woken, false);
    await pass(1);
    assert.equal(woken, true);
    assert.equal(set, 2);
  });

  test(`${name}: what is no number, or below zero, never reaches the runtime`, () => {
    for (const delay of [NaN, -1, -Infinity, 0]) make()(delay, () => {});
    assert.ok(timers.every(({ delay }) => delay === 0));
    make()(Infinity, () => {});
    assert.equal(timers.at(-1)?.delay, 2 ** 31 - 1);
  });

  test(`${name}: a chained timer can be called off at any link`, async () => {
    let woken = false;
    const off = make()(40 * 86_400_000, () => (woken = true));
    await pass(30 * 86_400_000);
    off();
    await pass(30 * 86_400_000);
    assert.equal(woken, false);
    assert.ok(timers.every(({ held }) => !held));
  });
}

test("a wake runs in the asynchronous context of its own call, not in that of whoever set the shared timer", async () => {
  const storage = new AsyncLocalStorage<string>();
  const list = timerList();
  const seen: (string | undefined)[] = [];
  storage.run("a", () => list.arm(10, () => seen.push(storage.getStore())));
  storage.run("b", () => list.arm(10, () => seen.push(storage.getStore())));
  await pass(10);
  assert.deepEqual(seen, ["a", "b"]);
});

test("an idle timer never keeps a process alive, however long its delay, beside others that do", async () => {
  const { arm } = defaultHost();
  const rung: string[] = [];
  arm(1_000, () => rung.push("awaited"));
  arm(2 ** 32, () => rung.push("idle"), true);
  assert.deepEqual(timers.map(({ held }) => held), [true, false]);
  await pass(2 ** 31);
  assert.deepEqual(timers.map(({ held }) => held), [false]);
  await pass(2 ** 32);
  assert.deepEqual(rung, ["awaited", "idle"]);
});
