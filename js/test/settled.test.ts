// `release: "settled"`: a slot is held until an attempt has really ended, however early it was given up.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TimeoutError, type RejectedError } from "../src/index.js";
import type { StackGuard } from "../src/guards/guard.js";
import { quiet, reasonOf, standOf } from "./support/host.js";
import { faceOn, shim, trap } from "./support/shim.js";

const SETTLED = { bulkhead: { concurrency: 1, release: "settled" } } as const;

/** Operations that ignore their signals, and end when they are told to. */
function deaf() {
  const ends: ((error?: unknown) => void)[] = [];
  let running = 0;
  let most = 0;
  const operation = async (): Promise<number> => {
    most = Math.max(most, ++running);
    const number = ends.length;
    await new Promise<void>((resolve, reject) => ends.push((error) => (error === undefined ? resolve() : reject(error)))).finally(() => running--);
    return number;
  };
  return { operation, end: (number: number, error?: unknown) => (ends[number]!(error), quiet()), running: () => running, most: () => most };
}

async function isFree(stack: StackGuard): Promise<boolean> {
  return stack.execute(() => 1).then(() => true, ({ reason }: RejectedError) => (assert.equal(reason, "bulkhead-full"), false));
}

test("an operation that ignores its signal keeps its slot after its time was up, whether it fails then or not", async () => {
  for (const error of [undefined, new Error("late")]) {
    const { host, guard } = shim();
    const { operation, end } = deaf();
    const stack = guard({ ...SETTLED, timeout: { attempt: 100 } });
    const call = reasonOf(stack.execute(operation));
    await host.pass(100);
    assert.ok((await call) instanceof TimeoutError);
    assert.equal(await isFree(stack), false);
    await end(0, error);
    assert.equal(await isFree(stack), true);
    assert.equal(host.timers.length, 0);
  }
});

test("so it does after its caller left, and when the whole call's time was up", async () => {
  const { host, guard } = shim();
  const { operation, end } = deaf();
  const stack = guard(SETTLED);
  const caller = new AbortController();
  const left = reasonOf(stack.execute(operation, { signal: caller.signal }));
  caller.abort("gone");
  assert.equal(await left, "gone");
  assert.equal(await isFree(stack), false);
  await end(0);
  const late = reasonOf(stack.execute(operation, { timeout: 50 }));
  await host.pass(50);
  assert.ok((await late) instanceof TimeoutError);
  assert.equal(await isFree(stack), false);
  await end(1);
  assert.equal(await isFree(stack), true);
});

test("without the option the slot is free at once, and operations run on beyond the limit", async () => {
  const { host, guard } = shim();
  const { operation, end, running } = deaf();
  const stack = guard({ bulkhead: { concurrency: 1 }, timeout: { attempt: 100 } });
  for (let call = 0; call < 3; call++) {
    const late = reasonOf(stack.execute(operation));
    await host.pass(100);
    await late;
  }
  assert.equal(running(), 3);
  for (let call = 0; call < 3; call++) await end(call);
});

test("no more operations ever run than there are slots, though callers leave, time is up, and calls are repeated and hedged", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    let state = seed;
    const chance = (n: number): number => (state = (state * 48_271) % 2_147_483_647) % n;
    const { host, guard } = shim();
    const { most, running, operation, end } = deaf();
    const stack = guard({
      bulkhead: { concurrency: 3, queue: 10, queueTimeout: "2s", release: "settled" },
      timeout: { attempt: 150, total: 900 },
      retry: { attempts: 3, backoff: { base: 20 }, budget: false },
      hedge: { after: 60 },
    });
    const open = new Set<number>();
    let begun = 0;
    const act = async (): Promise<number> => {
      open.add(begun++);
      return operation();
    };
    const calls: Promise<unknown>[] = [];
    for (let step = 0; step < 60; step++) {
      const caller = new AbortController();
      calls.push(stack.execute(act, { idempotent: true, signal: caller.signal }).catch(() => {}));
      await host.pass(chance(80));
      if (chance(4) === 0) caller.abort();
      for (const number of open) {
        if (chance(3) > 0) continue;
        open.delete(number);
        await end(number, chance(3) === 0 ? new Error("failed") : undefined);
      }
      assert.ok(most() <= 3, `seed ${seed}: ${most()} at once`);
    }
    while (running() > 0 || calls.length > 0) {
      for (const number of open) await end(number);
      open.clear();
      await host.pass(1_000);
      if (running() === 0) await Promise.all(calls.splice(0));
    }
    assert.equal(most(), 3);
    assert.equal(host.timers.length, 0);
  }
});

test("a retry waits for the slot of its own first attempt, and begins when that has ended", async () => {
  const { host, guard } = shim();
  const { operation, end, running } = deaf();
  const stack = guard({ bulkhead: { concurrency: 1, queue: 1, release: "settled" }, timeout: { attempt: 100 }, retry: { attempts: 2, backoff: { base: 10 }, budget: false } });
  const call = stack.execute(operation, { idempotent: true });
  await host.pass(150);
  assert.equal(running(), 1);
  await end(0);
  assert.equal(running(), 1, "the second attempt");
  await end(1);
  assert.equal(await call, 1);
});

test("what a stack around it gives up keeps its slot too", async () => {
  const { host, guard } = shim();
  const { operation, end } = deaf();
  const inner = guard(SETTLED);
  const outer = guard({ timeout: { attempt: 100 } });
  const call = reasonOf(outer.execute(({ signal }) => inner.execute(operation, { signal })));
  await host.pass(100);
  assert.ok((await call) instanceof TimeoutError);
  assert.equal(await isFree(inner), false);
  await end(0);
  assert.equal(await isFree(inner), true);
});

test("a shared bulkhead holds its slots likewise", async () => {
  const { host, forbear, bulkhead } = faceOn();
  const shared = bulkhead({ concurrency: 1, release: "settled" });
  const [one, other] = [forbear({ name: "one", bulkhead: shared, timeout: { attempt: 100 } }), forbear({ name: "other", bulkhead: shared })];
  const { operation, end } = deaf();
  const call = reasonOf(one.execute(operation));
  await host.pass(100);
  await call;
  assert.equal(((await reasonOf(other.execute(() => 1))) as RejectedError).reason, "bulkhead-full");
  await end(0);
  assert.equal(await other.execute(() => 1), 1);
});

test("a fetch function that ignores its signal is held to the limit, and its late body is discarded", async () => {
  const { host, guard } = shim();
  const answers: ((response: Response) => void)[] = [];
  let cancelled = false;
  const stack = guard({ ...SETTLED, timeout: { attempt: 100 } }, { fetch: () => new Promise((resolve) => answers.push(resolve)), key: () => null });
  const call = reasonOf(stack.fetch("https://a.example/"));
  await host.pass(100);
  await call;
  assert.equal(await isFree(stack), false);
  answers[0]!(new Response(new ReadableStream({ cancel: () => void (cancelled = true) })));
  await quiet();
  assert.equal(cancelled, true);
  assert.equal(await isFree(stack), true);
});

test("an operation that never ends gives its slot back a minute after its call", async () => {
  const { host, guard } = shim();
  const { operation, end } = deaf();
  const stack = guard({ ...SETTLED, timeout: { attempt: 100 } });
  const call = reasonOf(stack.execute(operation));
  await host.pass(100);
  await call;
  await host.pass(59_999);
  assert.equal(await isFree(stack), false);
  await host.pass(1);
  assert.equal(await isFree(stack), true);
  await end(0);
  assert.equal(await isFree(stack), true);
});

test("an operation that ends after the engine has died, or after its host's timers failed, holds nothing", async () => {
  {
    const { host, engine, guard } = shim();
    const { operation, end } = deaf();
    const stack = guard({ ...SETTLED, timeout: { attempt: 100 } });
    const call = reasonOf(stack.execute(operation));
    await host.pass(100);
    await call;
    trap(engine);
    assert.equal(await isFree(stack), true);
    await end(0);
    assert.equal(await isFree(stack), true);
  }
  const { host, guard } = shim();
  const { operation, end } = deaf();
  const stack = guard({ bulkhead: { concurrency: 1, queue: 1, release: "settled" }, hedge: { after: 100 } });
  const call = stack.execute(operation, { idempotent: true });
  host.arm = () => {
    throw new Error("no timers");
  };
  await host.pass(100);
  assert.deepEqual(await standOf(call), { state: "pending" });
  await end(0);
  assert.equal(await call, 0);
  assert.equal(await isFree(stack), true);
});
