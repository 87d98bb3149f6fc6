// Tests of users' put fake timers in the place of Node's, and take them away again, in any order: calls end in the time that
// is there, before, meanwhile and afterwards, though all guards of a process share its timers.

import assert from "node:assert/strict";
import { mock } from "node:test";
import FakeTimers from "@sinonjs/fake-timers";
import { forbear } from "forbear";
import { test } from "../support/test.mjs";
import { runProgram } from "./support.mjs";

const { setTimeout: realSetTimeout, clearTimeout: realClearTimeout } = globalThis;
/** What the test runner itself waits for. */
const NODES_OWN = ["nextTick", "queueMicrotask", "setImmediate", "clearImmediate"];
const WITHOUT_CLOCK = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"];

/** How tests fake time: `on` gives how to let it pass and how to end it. */
const FAKES = {
  "vitest's and jest's": () => sinon({ toNotFake: NODES_OWN }),
  "those of vitest before 3": () => sinon({ toFake: WITHOUT_CLOCK }),
  "the clock alone": () => sinon({ toFake: ["performance"] }),
  "those of node:test": () => mocked({ apis: ["setTimeout", "setInterval", "Date"] }),
  "node:test's without a date": () => mocked({ apis: ["setTimeout"] }),
};

function sinon(config) {
  const clock = FakeTimers.install(config);
  return { timers: !config.toFake?.includes("performance"), tick: (ms) => clock.tick(ms), off: () => clock.uninstall() };
}

function mocked(config) {
  mock.timers.enable(config);
  return { timers: true, tick: (ms) => mock.timers.tick(ms), off: () => mock.timers.reset() };
}

const hang = () => new Promise(() => {});
const reasonOf = (promise) => promise.then(() => "no reason", (error) => error);
const guard = forbear({ name: "timed", timeout: { attempt: 60, total: "10s" } });

async function microtasks() {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

/** Whether it has ended, and how, a moment later by Node's own timers. */
async function standOf(promise, withinMs = 1_000) {
  let patience;
  const late = new Promise((resolve) => (patience = realSetTimeout(resolve, withinMs, "hangs")));
  const end = await Promise.race([promise.then((error) => error.policy), late]);
  realClearTimeout(patience);
  return end;
}

async function callInRealTime() {
  assert.equal(await standOf(reasonOf(guard.execute(hang))), "attemptTimeout");
}

async function callInFakeTime({ timers, tick }) {
  const ends = reasonOf(guard.execute(hang));
  await microtasks();
  if (timers) {
    tick(59);
    assert.equal(await standOf(ends, 5), "hangs");
    tick(1);
  }
  assert.equal(await standOf(ends), "attemptTimeout");
}

for (const [name, on] of Object.entries(FAKES)) {
  for (const order of ["at first", "after a call in real time"]) {
    test(`fake timers, ${name}, ${order}: a call ends in fake time, and one afterwards in real time`, async () => {
      if (order !== "at first") await callInRealTime();
      const fake = on();
      try {
        await callInFakeTime(fake);
        await callInFakeTime(fake);
      } finally {
        fake.off();
      }
      await callInRealTime();
    });
  }

  if (name !== "the clock alone") test(`fake timers, ${name}: calls that begin one after the other each have their whole time`, async () => {
    const fake = on();
    try {
      const first = reasonOf(guard.execute(hang));
      await microtasks();
      fake.tick(30);
      const second = reasonOf(guard.execute(hang));
      await microtasks();
      fake.tick(30);
      assert.equal(await standOf(first), "attemptTimeout");
      assert.equal(await standOf(second, 5), "hangs");
      fake.tick(30);
      assert.equal(await standOf(second), "attemptTimeout");
    } finally {
      fake.off();
    }
  });

  test(`fake timers, ${name}: what waits when they come or go ends by the timers that are there when the next call sets one`, async () => {
    const before = reasonOf(guard.execute(hang));
    const retried = guard.execute(hang, { timeout: 20 }); // out of order: it has a timer of its own
    retried.catch(() => {});
    await microtasks();
    const fake = on();
    try {
      const during = reasonOf(guard.execute(hang));
      await microtasks();
      if (fake.timers) fake.tick(60);
      assert.deepEqual([await standOf(before), await standOf(reasonOf(retried)), await standOf(during)], ["attemptTimeout", "deadline", "attemptTimeout"]);
    } finally {
      fake.off();
    }
    const again = on();
    const left = reasonOf(guard.execute(hang));
    await microtasks();
    again.off();
    const after = reasonOf(guard.execute(hang));
    assert.deepEqual([await standOf(left), await standOf(after)], ["attemptTimeout", "attemptTimeout"]);
  });

  test(`fake timers, ${name}: a circuit that opened meanwhile closes in real time afterwards, though no call of it sets a timer`, async () => {
    const config = { breaker: { consecutiveFailures: 1, openFor: 1_000, openJitter: 0 } };
    const service = forbear({ name: `service behind ${name}`, ...config });
    const fake = on();
    try {
      await service.execute(() => Promise.reject(new Error("lost"))).catch(() => {});
      assert.equal(service.breaker().state, "open");
    } finally {
      fake.off();
    }
    const { retryAfterMs } = await reasonOf(service.execute(() => "fine")); // from here on real time passes
    await new Promise((resolve) => setTimeout(resolve, retryAfterMs + 50));
    assert.equal(await service.execute(() => "fine"), "fine");
  });
}

test("fake timers count what calls wait for, and nothing once they have ended", async () => {
  const fake = FakeTimers.install({ toNotFake: NODES_OWN });
  try {
    const before = fake.countTimers();
    const ends = reasonOf(guard.execute(hang));
    await microtasks();
    assert.equal(fake.countTimers(), before + 1);
    fake.tick(60);
    assert.equal(await standOf(ends), "attemptTimeout");
    assert.equal(await guard.execute(async () => "fine"), "fine");
    assert.equal(fake.countTimers(), before);
  } finally {
    fake.uninstall();
  }
});

test("a date that is set moves no limit, and dates in Retry-After are read by it", async () => {
  const fake = FakeTimers.install({ toFake: ["Date"], now: Date.UTC(2001, 0, 1) });
  try {
    await callInRealTime();
    fake.setSystemTime(Date.UTC(2041, 0, 1));
    await callInRealTime();
    const lines = forbear({ name: "dates", retry: { attempts: 2, maxRetryAfter: "10s", clampRetryAfter: true, budget: false } });
    let sent = 0;
    const answer = () => (++sent === 1 ? new Response("", { status: 429, headers: { "retry-after": new Date(Date.now() + 1_000).toUTCString() } }) : new Response("fine"));
    const began = performance.now();
    await lines.with({ fetch: async () => answer() }).fetch("https://a.example/", undefined, { idempotent: true });
    assert.ok(performance.now() - began < 5_000);
    assert.equal(sent, 2);
  } finally {
    fake.uninstall();
  }
});

test("fake timers that are there when the package is loaded, and go: calls end in their time and in real time", async () => {
  const { code, out, err } = await runProgram("faked-first");
  assert.deepEqual([code, err, out.trim().split("\n")], [0, "", ["attemptTimeout", "attemptTimeout", "attemptTimeout", "done"]]);
});
