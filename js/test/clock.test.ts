// The runtime's time while clocks and timers are exchanged: it goes on, neither back nor by leaps, and believes timers.

import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";
import { RunningClock } from "../src/host/clock.js";

const runtimes = { performance, setTimeout };
let now = 0;

/** Puts a clock, or timers, in the place of those that are there. */
function exchange({ clock = performance, timers = setTimeout as unknown }: { clock?: unknown; timers?: unknown }): void {
  Object.defineProperty(globalThis, "performance", { value: clock, configurable: true, writable: true });
  Object.defineProperty(globalThis, "setTimeout", { value: timers, configurable: true, writable: true });
}

const clockAt = (read: () => number): unknown => ({ now: read });

afterEach(() => {
  exchange({ clock: runtimes.performance, timers: runtimes.setTimeout });
  mock.restoreAll();
});

test("time begins where the runtime's clock stands, and goes as it goes", () => {
  exchange({ clock: clockAt(() => now) });
  now = 700.25;
  const clock = new RunningClock();
  assert.equal(clock.now(), 700.25);
  now = 900;
  assert.equal(clock.now(), 900);
});

for (const elsewhere of [0, 5, 1e9]) {
  test(`a clock exchanged together with the timers, which stands at ${elsewhere}, goes on from where time was, and so does the former one afterwards`, () => {
    exchange({ clock: clockAt(() => now) });
    now = 1_000;
    const clock = new RunningClock();
    clock.now();
    let fake = elsewhere;
    exchange({ clock: clockAt(() => fake), timers: () => 0 });
    assert.equal(clock.now(), 1_000);
    fake += 250;
    assert.equal(clock.now(), 1_250);
    now = 8_000;
    exchange({ clock: clockAt(() => now), timers: runtimes.setTimeout });
    assert.equal(clock.now(), 1_250);
    now += 10;
    assert.equal(clock.now(), 1_260);
  });
}

test("a clock exchanged alone is noticed when a timer is set", () => {
  exchange({ clock: clockAt(() => now) });
  now = 1_000;
  const clock = new RunningClock();
  const { era } = (clock.now(), clock);
  let fake = 0;
  exchange({ clock: clockAt(() => fake) });
  assert.deepEqual([clock.nowForTimers(), clock.era - era], [1_000, 1]);
  fake = 50;
  assert.equal(clock.now(), 1_050);
});

test("a reading exchanged behind the same clock is not waited for, though it begins anew", () => {
  const clock = new RunningClock();
  now = 5_000;
  mock.method(performance, "now", () => now);
  clock.now();
  now = 0;
  assert.equal(clock.now(), 5_000);
  now = 10;
  assert.equal(clock.now(), 5_010);
});

test("timers that run ahead of the clock are believed, and the clock does not run faster for it", () => {
  exchange({ clock: clockAt(() => now) });
  now = 1_000;
  const clock = new RunningClock();
  clock.now();
  assert.equal(clock.heard(1_000.5), 0.5);
  assert.equal(clock.now(), 1_000.5);
  now = 1_002;
  assert.equal(clock.now(), 1_002);
  assert.equal(clock.heard(1_001), -1);
  assert.equal(clock.now(), 1_002);
  assert.equal(clock.heard(9_000), 7_998);
  assert.equal(clock.now(), 9_000);
  exchange({ timers: () => 0 });
  now += 5;
  assert.equal(clock.now(), 9_000, "time goes on from what timers told");
  now += 5;
  assert.equal(clock.now(), 9_005);
});
