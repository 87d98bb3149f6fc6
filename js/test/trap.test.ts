// The engine dies. The calls in hand go on unguarded, and the next call meets a fresh engine with the same configuration.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, RejectedError, reportOf, TimeoutError, type GuardEvent } from "../src/index.js";
import { Engine } from "../src/engine/engine.js";
import { SharedObject } from "../src/config/settings.js";
import { readShared } from "../src/config/read.js";
import { FakeHost, quiet, reasonOf } from "./support/host.js";
import { engineModule, shim, trap } from "./support/shim.js";
import { status, Upstream, watched } from "./support/upstream.js";

const URL_A = "https://a.example/";

test("after a trap the next call works, on a fresh instance, with the same stacks and shared objects", async () => {
  const { host, engine, guard } = shim();
  const budget = new SharedObject("budget", readShared("budget", "retryBudget", { ratio: 1 })) as never;
  const first = guard({ name: "first", retry: { attempts: 2, budget } });
  const second = guard({ name: "second", retry: { attempts: 4, budget } });
  assert.equal(await first.execute(() => 1, { key: "a" }), 1);
  trap(engine);
  assert.equal(engine.epoch, 1);
  assert.equal(second.metrics().keys.length, 0, "what was learned is gone");

  let attempts = 0;
  const pending = second.execute(() => Promise.reject(new Error(`lost ${++attempts}`)), { key: "a" });
  await Promise.all([reasonOf(pending), host.pass(60_000)]);
  assert.equal(attempts, 4);
  assert.equal(await first.execute(() => 2, { key: "a" }), 2);
});

test("a trap is told to every listener, which go on hearing of what happens", async () => {
  const { engine, guard } = shim();
  const stack = guard({ name: "one", retry: {} });
  const heard: GuardEvent[] = [];
  stack.on("*", (event) => heard.push(event));
  trap(engine);
  await stack.execute(() => 1);
  await quiet();
  assert.deepEqual(heard.map(({ type }) => type), ["trap", "sent", "settled", "done"]);
  assert.ok(heard[0]?.type === "trap" && heard[0].error instanceof WebAssembly.RuntimeError);
  assert.equal(heard[0]?.stack, "one");
});

test("a call in flight when the engine traps gets its own result, whatever it is", async () => {
  for (const config of [{ retry: {} }, { retry: {}, timeout: {} }]) {
    const { engine, guard } = shim();
    const answer = watched(503);
    const pending = guard(config).execute(async () => {
      await quiet();
      return answer.response;
    });
    await Promise.resolve();
    trap(engine);
    assert.equal(await pending, answer.response);
    assert.equal(answer.cancelled(), false);
    assert.equal(reportOf(answer.response)?.stopReason, "unguarded");

    const error = new Error("lost");
    const failing = guard(config).execute(() => quiet().then(() => Promise.reject(error)));
    trap(engine);
    assert.equal(await reasonOf(failing), error);
  }
});

test("a call whose time is up when it finds no engine sends nothing", async () => {
  const { host, engine, guard } = shim();
  const upstream = new Upstream(status(503), status(200));
  const stack = guard({ retry: { attempts: 9, backoff: { base: 100, jitter: "none" } }, timeout: { total: 1_000 } }, { fetch: upstream.fetch });
  const pending = reasonOf(stack.fetch(URL_A));
  await quiet();
  trap(engine);
  host.time += 5_000; // the host is held up in the pause before the repeat
  await host.pass(1_000);
  const late = await pending;
  assert.ok(late instanceof TimeoutError && late.policy === "deadline", String(late));
  assert.equal(upstream.sent.length, 1);

  engine.admit = () => ((engine.now = host.time), 4); // unguarded: it is full
  const refused = await reasonOf(stack.fetch(URL_A, {}, { timeout: 0 }));
  assert.ok(refused instanceof RejectedError && refused.reason === "deadline-exceeded", String(refused));
  assert.equal(upstream.sent.length, 1);
});

test("a call that waits when the engine traps sends once, and hands over what it gets", async () => {
  const { host, engine, guard } = shim();
  const last = status(503);
  const upstream = new Upstream(status(503), last);
  const pending = guard({ retry: { attempts: 9 } }, { fetch: upstream.fetch }).fetch(URL_A);
  await quiet();
  trap(engine);
  await host.pass(60_000);
  assert.equal(await pending, last);
  assert.equal(upstream.sent.length, 2);
  assert.equal(reportOf(last)?.attempts, 2);
});

test("a timer that was armed before the trap still aborts", async () => {
  const { host, engine, guard } = shim();
  const upstream = new Upstream("hang");
  const pending = guard({ timeout: { attempt: 100 }, retry: {} }, { fetch: upstream.fetch }).fetch(URL_A);
  await quiet();
  trap(engine);
  await Promise.all([reasonOf(pending), host.pass(1_000)]);
  assert.ok((await reasonOf(pending)) instanceof TimeoutError);
  assert.equal(upstream.sent[0]?.signal?.aborted, true);
  assert.equal(upstream.sent.length, 1);
});

test("a caller that leaves after the trap is still heard", async () => {
  const { host, engine, guard } = shim();
  const controller = new AbortController();
  const upstream = new Upstream("hang");
  const pending = guard({ timeout: {} }, { fetch: upstream.fetch }).fetch(URL_A, { signal: controller.signal });
  await quiet();
  trap(engine);
  controller.abort("gone");
  assert.equal(await reasonOf(pending), "gone");
  assert.equal(host.timers.length, 0);
});

test("verbs for calls of the old instance are never said to the new one", async () => {
  const { engine, guard } = shim();
  const stack = guard({ breaker: { minCalls: 1 } });
  const pending = Array.from({ length: 10 }, () => stack.execute(() => quiet().then(() => Promise.reject(new Error("lost")))));
  trap(engine);
  await stack.execute(() => 1); // has the first handle of the new instance
  await Promise.allSettled(pending);
  const { calls, verdicts, breaker } = stack.metrics().keys[0]!;
  assert.deepEqual({ calls, successes: verdicts.success, transient: verdicts.transient }, { calls: 1, successes: 1, transient: 0 });
  assert.equal(breaker?.state, "closed");
});

for (const verb of ["admit", "settle", "due", "cancel"] as const) {
  test(`a trap inside ${verb} is survived, and the call still ends`, async () => {
    const { host, engine, guard } = trapping(verb);
    const upstream = new Upstream(new Error("lost"), status(200));
    const controller = new AbortController();
    const pending = guard({ retry: { attempts: 2, backoff: { jitter: "none" } }, timeout: {} }, { fetch: upstream.fetch }).fetch(URL_A, { signal: controller.signal });
    if (verb === "cancel") setImmediate(() => controller.abort("gone"));
    await Promise.all([pending.catch(() => {}), host.pass(1_000)]);
    const outcome = await pending.then(({ status }) => status, (error: unknown) => error);
    // Unguarded from where it died: before the first attempt, at its end, at the end of the wait, or when the caller left.
    if (verb === "due") assert.equal(outcome, 200);
    else if (verb === "cancel") assert.equal(outcome, "gone");
    else assert.ok(outcome instanceof Error && outcome.message === "lost");
    assert.equal(engine.epoch, 1);
    assert.equal(host.timers.length, 0);
    assert.equal(await guard({ retry: {} }).execute(() => "works again"), "works again");
    assert.equal(engine.epoch, 1);
  });
}

test("an engine that can no longer be built lets every call through, and comes back when it can be built again", async () => {
  let broken = false;
  const { engine, guard } = shim(new FakeHost(), () => {
    if (broken) throw new Error("no memory");
    return engineModule();
  });
  const stack = guard({ retry: {}, timeout: {} });
  broken = true;
  trap(engine);
  assert.equal(await stack.execute(() => 1), 1);
  assert.equal(await stack.execute(() => 2), 2);
  assert.equal(stack.metrics().keys.length, 0);
  broken = false;
  assert.equal(await stack.execute(() => 3), 3);
  assert.equal(await stack.execute(() => 4), 4);
  assert.equal(stack.metrics().keys[0]?.calls, 1);
});

test("where no engine can be made at all, building a guard says why", () => {
  const cause = new ConfigError("this page may not compile WebAssembly");
  const { guard } = shim(new FakeHost(), () => {
    throw cause;
  });
  assert.throws(() => guard({ retry: {} }), cause);
});

/** A shim whose first instance dies inside a verb, once. */
function trapping(verb: "admit" | "settle" | "due" | "cancel") {
  const RealInstance = WebAssembly.Instance;
  const made = shim();
  try {
    WebAssembly.Instance = class {
      exports: object;
      constructor(module: WebAssembly.Module, imports: WebAssembly.Imports) {
        const { exports } = new RealInstance(module, imports);
        this.exports = { ...exports, [verb]: exports["debug_trap"] };
      }
    } as never;
    made.guard({ retry: {} });
  } finally {
    WebAssembly.Instance = RealInstance;
  }
  assert.ok(made.engine instanceof Engine);
  return made;
}
