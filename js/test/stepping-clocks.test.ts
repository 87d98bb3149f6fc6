// Calls that wait, and hedges that are due, while the clock stands still, is set back, or jumps. Timers are on time all the
// same: what is wrong is only what the host reads. Nothing gets stuck, nothing is granted early, order is kept.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config, RejectedError, TimeoutError } from "../src/index.js";
import { FakeHost, quiet, reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { hang, status } from "./support/upstream.js";

const HOURS = 3 * 3_600_000;
/** When the clock goes wrong, and by how much it is wrong from then on. */
const STEP_AT = 120;
const STEPS = {
  "by nothing": 0, "forward by hours": HOURS,
  ...Object.fromEntries([1, 400, 500, 600, 1_000, 5_000, 10_000, 30_000, 59_000, 60_000, 61_000, 90_000, 120_000, 3_600_000].map((ms) => [`back by ${ms} ms`, -ms])),
};
/** How long a clock's steps may keep anybody waiting. */
const HELD_MS = 1_000;

/** A host whose timers know the time, and whose clock may not. */
class MisledHost extends FakeHost {
  readonly began = this.time;
  stopped = false;
  step = 0;
  stepAt = STEP_AT;
  override now = (): number => (this.stopped ? this.began : this.time + (this.since >= this.stepAt ? this.step : 0));

  get since(): number {
    return this.time - this.began;
  }
}

/** Calls numbered by their coming, and when they were sent by the true clock. */
function crowd(host: MisledHost, takesMs: number) {
  const { guard, engine } = shim(host);
  const sent: { number: number; at: number }[] = [];
  let running = 0;
  const world = {
    guard, sent, most: 0,
    inFlight: () => engine.ask((exports) => exports.in_flight(), -1),
    /** An operation that takes its time. */
    call: (number: number) => (): Promise<number> => {
      sent.push({ number, at: host.since });
      world.most = Math.max(world.most, ++running);
      return new Promise((resolve) => host.arm(takesMs, () => resolve(running--)));
    },
  };
  return world;
}

/** How far from its place in line a call was sent at worst. */
const displacement = (sent: { number: number }[]): number => Math.max(...sent.map(({ number }, place) => Math.abs(number - place)));
const order = (sent: { number: number }[]): number[] => sent.map(({ number }) => number);
const numbers = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

for (const hinted of [true, false]) {
  const where = hinted ? "with hints" : "without hints";

  for (const [how, step] of Object.entries(STEPS)) {
    test(`the clock steps ${how}: a bulkhead's line moves on, in order, with never more at once than there are slots, ${where}`, async () => {
      const host = Object.assign(new MisledHost(), { step, wakesOthers: () => hinted });
      const world = crowd(host, 100);
      const payments = world.guard({ bulkhead: { concurrency: 2, queue: 20, queueTimeout: false } });
      const calls = numbers(12).map((number) => payments.execute(world.call(number)));
      await host.pass(2_000 + HELD_MS);
      await Promise.all(calls);
      // Without hints a row may pass another. Whoever was not heard of for hours has lost its place.
      const most = step === HOURS ? 12 : hinted ? 0 : 4;
      assert.ok(displacement(world.sent) <= most, String(order(world.sent)));
      // After hours the two that run have lost their slots to others, as those have whose host is dead.
      assert.equal(world.most, step === HOURS ? 4 : 2);
      assert.equal(world.inFlight(), 0);
    });

    test(`the clock steps ${how}: a rate limiter's line moves on in order, nobody too early, ${where}`, async () => {
      const host = Object.assign(new MisledHost(), { step, wakesOthers: () => hinted });
      const world = crowd(host, 0);
      // Longer than any step: whoever asks again after hours has waited for hours.
      const limited = world.guard({ rateLimiter: { rate: 10, interval: "1s", burst: 2, wait: "24h" } });
      const calls = numbers(12).map((number) => limited.execute(world.call(number)));
      await host.pass(2_000 + HELD_MS);
      await Promise.all(calls);
      // Whoever was not heard of for hours has lost its place.
      assert.ok(displacement(world.sent) <= (step === HOURS ? 12 : 0), String(order(world.sent)));
      // Hours earn one burst more.
      world.sent.forEach(({ at }, turn) => assert.ok(turn < 2 + at / 100 + (step === HOURS && at >= STEP_AT ? 2 : 0) + 0.001, `${turn} at ${at}`));
      assert.equal(world.inFlight(), 0);
    });
  }

  test(`the clock stands still: a bulkhead's line moves all the same, in order, ${where}`, async () => {
    const host = Object.assign(new MisledHost(), { stopped: true, wakesOthers: () => hinted });
    const world = crowd(host, 100);
    const payments = world.guard({ bulkhead: { concurrency: 2, queue: 20 }, timeout: { total: "10s" } });
    const calls = numbers(12).map((number) => payments.execute(world.call(number)));
    await host.pass(2_000);
    await Promise.all(calls);
    // Without hints a row may pass another, as where the clock moves.
    assert.ok(displacement(world.sent) <= (hinted ? 0 : 4), String(order(world.sent)));
    assert.deepEqual([world.most, world.inFlight()], [2, 0]);
  });

  test(`the clock stands still: a rate limiter's line goes by its timers, in order, nobody too early, ${where}`, async () => {
    const host = Object.assign(new MisledHost(), { stopped: true, wakesOthers: () => hinted });
    const world = crowd(host, 0);
    const limited = world.guard({ rateLimiter: { rate: 10, interval: "1s", burst: 2, wait: "1m" } });
    const calls = numbers(6).map((number) => limited.execute(world.call(number)));
    await host.pass(2_000);
    await Promise.all(calls);
    assert.deepEqual(order(world.sent), numbers(6));
    world.sent.forEach(({ at }, turn) => assert.ok(turn < 2 + at / 100 + 0.001, `${turn} at ${at}`));
  });
}

for (const [how, step] of Object.entries(STEPS)) {
  test(`the clock steps ${how} while hedges are due: each call has one, none before its time, and the first answer ends it`, async () => {
    const host = Object.assign(new MisledHost(), { step });
    const { guard, engine } = shim(host);
    const sent: { number: number; attempt: number; at: number }[] = [];
    const hedged = guard({ hedge: { after: 100 }, timeout: { attempt: "1h", total: "2h" }, retry: { budget: false } });
    const calls = numbers(10).map(async (number) => {
      await new Promise<void>((resolve) => host.arm(number * 10, resolve));
      return hedged.execute(({ attempt, signal }) => {
        sent.push({ number, attempt, at: host.since });
        return attempt === 1 ? hang(signal) : new Promise((resolve) => host.arm(30, () => resolve(status(200))));
      }, { idempotent: true });
    });
    // A jump of hours is past every limit: then time is up instead.
    if (step === HOURS) await Promise.all([Promise.allSettled(calls), host.pass(500)]);
    else await Promise.all([Promise.all(calls), host.pass(500 + HELD_MS)]);
    const hedges = sent.filter(({ attempt }) => attempt > 1);
    for (const { number, at } of hedges) assert.ok(at >= number * 10 + 100, `${number} at ${at}`);
    if (step !== HOURS) assert.deepEqual(order(hedges).sort((a, b) => a - b), numbers(10));
    await quiet();
    assert.equal(host.timers.length, 0);
    assert.equal(engine.ask((exports) => exports.in_flight(), -1), 0);
  });
}

/** Each ends a call that hangs, and says how and when. */
const ENDS: readonly [what: string, config: Config, policy: string, afterMs: number][] = [
  ["its own limit", { timeout: { total: 500 } }, "deadline", 500],
  ["an attempt's limit", { timeout: { attempt: 500, total: "1m" } }, "attemptTimeout", 500],
  ["the limits of two attempts", { timeout: { attempt: 200, total: "1m" }, retry: { attempts: 2, budget: false, backoff: { base: 100, jitter: "none" } } }, "attemptTimeout", 500],
];

for (const [what, config, policy, afterMs] of ENDS) {
  const endOf = async (host: MisledHost, withinMs: number): Promise<void> => {
    const { guard } = shim(host);
    const ends = reasonOf(guard(config).execute(({ signal }) => hang(signal), { idempotent: true })) as Promise<TimeoutError>;
    let endedAt = -1;
    void ends.then(() => (endedAt = host.since));
    await host.pass(withinMs);
    assert.ok(endedAt >= afterMs && endedAt <= withinMs, `ended after ${endedAt} ms`);
    assert.equal((await ends).policy, policy);
    assert.equal(host.timers.length, 0);
  };

  test(`a call ends by ${what} within a second of its time, however far the clock is set back, and whenever`, async () => {
    for (const step of Object.values(STEPS).filter((step) => step <= 0)) {
      for (const stepAt of [1, 120, 250, 499]) await endOf(Object.assign(new MisledHost(), { step, stepAt }), afterMs + HELD_MS);
    }
  });

  test(`a call ends by ${what} in time though the clock stands still`, () => endOf(Object.assign(new MisledHost(), { stopped: true }), afterMs));
}

test("retryAfterMs goes down while the clock is set back, and a refusal keeps its word within a second", async () => {
  for (const step of Object.values(STEPS).filter((step) => step <= 0)) {
    const host = Object.assign(new MisledHost(), { step });
    const { guard } = shim(host);
    const service = guard({ breaker: { consecutiveFailures: 1, openFor: "5s", openJitter: 0 } });
    await reasonOf(service.execute(() => Promise.reject(new Error("lost"))));
    const words: number[] = [];
    for (;;) {
      const end: unknown = await service.execute(() => "fine").catch((error: RejectedError) => error.retryAfterMs);
      if (end === "fine") break;
      words.push(end as number);
      assert.ok(words.length < 65, `${step}: still refused after ${host.since} ms`);
      await host.pass(100);
    }
    assert.ok(host.since >= 5_000 && host.since <= 5_000 + HELD_MS, `${step}: ${host.since}`);
    for (let i = 0; i + 12 < words.length; i++) assert.ok(words[i + 12]! < words[i]!, `${step}: it stands at ${words[i]}`);
  }
});

test("the clock stands still: a hedge is sent when its timer rings, and not before", async () => {
  const host = Object.assign(new MisledHost(), { stopped: true });
  const { guard } = shim(host);
  const attempts: number[] = [];
  const call = guard({ hedge: { after: 100 }, retry: { budget: false } }).execute(({ attempt, signal }) => {
    attempts.push(attempt);
    return attempt === 1 ? hang(signal) : "fine";
  }, { idempotent: true });
  await host.pass(99);
  assert.deepEqual(attempts, [1]);
  await host.pass(1);
  assert.equal(await call, "fine");
});

for (const [how, laterMs, failures] of [["in time", 100, 0], ["too late", 60_000, 1]] as const) {
  test(`a call that runs on after its lease has ended, since its host was held up, brings its evidence all the same: its attempt ends ${how}`, async () => {
    const { host, engine, guard } = shim();
    const slow = guard({ hedge: { after: 100 }, timeout: { attempt: "30s", total: false }, breaker: {} });
    const call = slow.execute(({ signal }) => Promise.race([hang(signal), new Promise((resolve) => host.arm(10_000 + laterMs, () => resolve("fine")))]), { idempotent: true });
    const full = guard({ bulkhead: { concurrency: 1 } });
    const holder = full.execute(() => new Promise((resolve) => host.arm(60_000, () => resolve(0))));
    host.time += 10_000;
    await full.execute(() => 0).catch(() => {}); // is refused, so leases are looked into
    const [end] = await Promise.all([call.catch((error: Error) => error.name), host.pass(40_000)]);
    assert.equal(end, failures === 0 ? "fine" : "TimeoutError");
    assert.deepEqual([slow.breaker().calls, slow.breaker().failures], [1, failures]);
    await Promise.all([holder, host.pass(60_000)]);
    assert.equal(engine.ask((exports) => exports.in_flight(), -1), 0);
  });
}
