// What hostile hands give: errors that throw when read, hosts that fail, inputs of odd shapes. The caller gets what his
// operation brought, and the process lives.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf, TimeoutError } from "../src/index.js";
import { DEFAULTS } from "../src/generated/vocabulary.js";
import { FakeHost, quiet, reasonOf, standOf } from "./support/host.js";
import { shim, trap } from "./support/shim.js";
import { hang, status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";
const SHAPES = [{ retry: { attempts: 1 }, breaker: {} }, { retry: { attempts: 1 }, breaker: {}, timeout: {} }];
const fail = (): never => {
  throw new Error("hostile");
};
const throwing = (): object => new Proxy({}, { get: (_, name) => (name === "then" ? undefined : fail()), getPrototypeOf: fail, has: fail });

test("errors and values that throw when they are read come back as they are", async () => {
  const { guard } = shim();
  const getter = Object.defineProperty(new Error("lost"), "code", { get: fail });
  const cause = new Error("lost", { cause: throwing() });
  for (const config of SHAPES) {
    for (const error of [getter, cause, throwing()]) assert.equal(await reasonOf(guard(config).execute(async () => Promise.reject(error))), error);
    const like = (more: object): object => ({ [Symbol.toStringTag]: "Response", ...more });
    for (const value of [throwing(), like({ status: 503 }), like({ status: 5n }), like({ status: 503, headers: { get: () => 5 } })]) {
      assert.equal(await guard(config).execute(async () => value), value);
    }
    assert.equal(await guard(config).execute(() => 1), 1);
  }
});

test("a value that throws when it is read is discarded without harm when it is late, or when another attempt follows", async () => {
  const { host, guard } = shim();
  let answer!: (value: object) => void;
  const late = guard({ timeout: { total: 100 } }).execute(() => new Promise<object>((resolve) => (answer = resolve)));
  await Promise.all([reasonOf(late), host.pass(200)]);
  answer(throwing());
  const hostile = { [Symbol.toStringTag]: "Response", status: 503, get headers() { return fail(); }, get body() { return fail(); } };
  let sent = 0;
  const pending = guard({ retry: { attempts: 2 }, timeout: {} }).execute(() => (++sent === 1 ? hostile : 2) as unknown);
  await host.pass(5_000);
  assert.equal(await pending, 2);
});

for (const name of ["now", "wallNow", "wakesOthers", "arm", "random"] as const) {
  test(`a host whose ${name} throws at any time: every call ends with what its attempt brought`, async () => {
    for (const config of SHAPES.map((shape) => ({ ...shape, retry: { attempts: 2, backoff: { base: 1 } } }))) {
      for (let good = 0; good < 6; good++) {
        const host = new FakeHost();
        const { guard } = shim(host);
        const stack = guard(config);
        const real = host[name as "now"] ?? (() => 1_000);
        let calls = 0;
        host[name as "now"] = (...args: []) => (calls++ === good ? fail() : real(...args));
        const error = new Error("lost");
        let sent = 0;
        const pending = stack.execute(() => (sent++, quiet().then(() => Promise.reject(error))));
        const answered = stack.execute(async () => status(503, { "retry-after": "1" })).then(({ status }) => status, ({ message }) => message as string);
        const reason = reasonOf(pending);
        let ended = false;
        const both = Promise.all([reason, answered]).then(() => (ended = true));
        for (let turn = 0; turn < 20 && !ended; turn++) await host.pass(1_000);
        assert.equal(await both, true);
        if (sent > 0) assert.equal(await reason, error);
        assert.ok([503, "hostile"].includes(await answered));
        host[name as "now"] = real;
        assert.equal(host.timers.length, 0);
        assert.equal(await stack.execute(() => 1), 1);
      }
    }
  });
}

test("an arm that gives nothing to call off with does no harm", async () => {
  const host = new FakeHost();
  host.arm = () => 5 as never;
  assert.equal(await shim(host).guard({ timeout: {} }).execute(() => 1), 1);
});

test("an arm that fires at once does not overflow the stack", async () => {
  const host = new FakeHost();
  let armed = 0;
  host.arm = (_, wake) => {
    if (++armed > 50) host.time += 1_000;
    wake();
    return () => {};
  };
  const { guard } = shim(host);
  assert.ok((await reasonOf(guard({ timeout: { total: "10s" } }).execute(() => new Promise(() => {})))) instanceof TimeoutError);
});

test("a call without an engine keeps its limits: of the attempt, of all, and its own", async () => {
  const cases = [
    [{ timeout: { attempt: 100 } }, undefined, 100, "attemptTimeout"],
    [{ timeout: { total: 300 } }, undefined, 300, "deadline"],
    [{ timeout: { total: 300 } }, 50, 50, "deadline"],
    [{ retry: {} }, 70, 70, "deadline"],
    [{ timeout: {} }, undefined, DEFAULTS.attemptTimeout[0]!, "attemptTimeout"],
  ] as const;
  for (const [config, timeout, ms, policy] of cases) {
    const { host, engine, guard } = shim();
    engine.admit = () => ((engine.now = host.time), 4); // unguarded: it is full
    const upstream = new Upstream("hang");
    const pending = guard(config, { fetch: upstream.fetch }).fetch(URL_A, {}, { timeout });
    await host.pass(ms - 1);
    assert.equal((await standOf(pending)).state, "pending");
    await host.pass(1);
    const error = await reasonOf(pending);
    assert.ok(error instanceof TimeoutError);
    assert.deepEqual([error.policy, error.elapsedMs, reportOf(error)?.attempts], [policy, ms, 1]);
    assert.equal(upstream.sent[0]?.signal?.aborted, true);
    assert.equal(host.timers.length, 0);
  }
  assert.equal(DEFAULTS.deadline[0], 30_000, "as config.ts has it");
});

test("a hedge's timer after a trap does not end the call: only its own limit does", async () => {
  for (const answered of [true, false]) {
    const { host, engine, guard } = shim();
    let answer!: (value: Response) => void;
    const upstream = new Upstream((signal) => Promise.race([new Promise<Response>((resolve) => (answer = resolve)), hang(signal)]));
    const pending = guard({ hedge: { after: 100 }, timeout: { total: 1_000 } }, { fetch: upstream.fetch }).fetch(URL_A);
    await quiet();
    trap(engine);
    await host.pass(500);
    assert.equal((await standOf(pending)).state, "pending");
    if (answered) answer(status(200));
    else await host.pass(500);
    if (answered) assert.equal((await pending).status, 200);
    else assert.ok((await reasonOf(pending)) instanceof TimeoutError);
    assert.deepEqual([upstream.sent.length, host.timers.length], [1, 0]);
  }
});

test("an async classifier that rejects says nothing, and no rejection is left unhandled", async () => {
  const { guard } = shim();
  const stack = guard({ retry: {} }, { classify: (async () => fail()) as never });
  assert.equal(await stack.execute(() => 1), 1);
  await quiet();
});
