// What hostile hands give: errors that throw when read, hosts that fail, inputs of odd shapes. The caller gets what his
// operation brought, and the process lives.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf, TimeoutError } from "../src/index.js";
import { makersFor } from "../src/guards/makers.js";
import { DEFAULTS } from "../src/generated/vocabulary.js";
import { FakeHost, quiet, reasonOf, standOf } from "./support/host.js";
import { engineModule, faceOn, shim, trap } from "./support/shim.js";
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

for (const given of [NaN, Infinity, -Infinity]) {
  test(`a host whose now gives ${given} at any time: every call ends, and the guard works on`, async () => {
    for (let good = 1; good < 8; good++) {
      const fake = new FakeHost();
      let readings = 0;
      const host = { now: () => (readings++ === good ? given : fake.time), arm: fake.arm, random: fake.random };
      const { forbear } = faceOn(fake);
      const stack = forbear({ retry: { attempts: 3, budget: false }, timeout: { attempt: 100, total: 1_000 }, bulkhead: { concurrency: 1, queue: 2 } }, { host });
      const calls = [0, 1].map(() => stack.execute(({ signal }) => hang(signal)));
      await Promise.all([Promise.allSettled(calls), fake.pass(5_000)]);
      assert.equal(fake.timers.length, 0);
      await fake.pass(60_000);
      assert.equal(await stack.execute(() => "fine"), "fine");
    }
  });
}

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
  assert.equal(DEFAULTS.deadline[0], 30_000, "as config/read.ts has it");
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

// ——— what fetch is given ———

async function sentWith(input: unknown, init: unknown, options: unknown = {}, config = {}, answers = [status(200)]) {
  const { host, guard } = shim();
  const upstream = new Upstream(...answers);
  const pending = guard({ retry: { backoff: { base: 1 } }, ...config }, { fetch: upstream.fetch }).fetch(input as string, init as RequestInit, options as object);
  await Promise.all([pending.catch(() => {}), quiet().then(() => host.pass(1_000))]);
  return { sent: upstream.sent, pending };
}

test("an init that inherits its members keeps them: a Request, Object.create, a class with getters", async () => {
  const members = { method: "POST", headers: { "x-a": "1", "idempotency-key": "k" }, body: "text" };
  class Getters {
    get method() { return members.method; }
    get headers() { return members.headers; }
    get body() { return members.body; }
  }
  for (const config of [{}, { timeout: {} }, { retry: false as const, breaker: {} }]) {
    for (const init of [() => new Request(URL_A, members), () => Object.create(members) as object, () => new Getters()]) {
      const { sent: [{ init: sent } = assert.fail()] } = await sentWith("https://b.example/", init(), {}, config);
      const request = new Request("https://b.example/", sent); // as fetch reads it: a stream needs its duplex
      assert.deepEqual([request.method, request.headers.get("x-a"), await request.text()], ["POST", "1", "text"]);
      const { sent: [prepared = assert.fail()] } = await sentWith("https://b.example/", init(), { getBody: () => "fresh" }, config);
      const fresh = new Request("https://b.example/", prepared.init);
      assert.deepEqual([fresh.method, fresh.headers.get("x-a"), await fresh.text()], ["POST", "1", "fresh"]);
    }
    const { sent } = await sentWith(URL_A, new Request(URL_A, { method: "POST", body: "x" }), {}, config, [status(503), status(200)]);
    assert.equal(sent.length, 1, "its method says that it may not be repeated");
  }
});

test("headers that can be read only once are read once", async () => {
  for (const config of [{}, { timeout: {} }, { retry: false as const, breaker: {} }]) {
    const headers = new Map([["idempotency-key", "k"], ["x-a", "1"]]).entries();
    const { sent } = await sentWith(URL_A, { method: "POST", headers, body: "x" }, {}, config, [status(503), status(200)]);
    assert.equal(sent.length, "retry" in config ? 1 : 2);
    for (const { init } of sent) assert.equal(new Headers(init?.headers).get("x-a"), "1");
  }
});

test("a repeat sends what was given at the call, though the caller has changed it since", async () => {
  for (const headers of [new Headers({ a: "1" }), { a: "1" }, [["a", "1"]]]) {
    const { host, guard } = shim();
    const upstream = new Upstream(status(503), status(200));
    const url = new URL(URL_A);
    const init = { method: "PUT", body: "first", headers: headers as HeadersInit };
    const pending = guard({ retry: { backoff: { base: 1 } } }, { fetch: upstream.fetch }).fetch(url, init);
    url.pathname = "/changed";
    init.body = "changed";
    if (headers instanceof Headers) headers.set("a", "changed");
    else if (Array.isArray(headers)) headers[0] = ["a", "changed"];
    else headers.a = "changed";
    await host.pass(1_000);
    await pending;
    assert.deepEqual(upstream.sent.map((each) => [each.url, each.body, new Headers(each.init?.headers).get("a")]), Array(2).fill([URL_A, "first", "1"]));
  }
});

test("a caller leaves at once what does not heed its signal: getBody, prepare, a fetch of its own", async () => {
  const never = (): Promise<never> => new Promise(() => {});
  for (const [fetch, options] of [[never, {}], [undefined, { getBody: never }], [undefined, { prepare: never }]] as const) {
    const controller = new AbortController();
    const pending = shim().guard({ retry: {} }, fetch && { fetch }).fetch(URL_A, { method: "PUT", signal: controller.signal }, options);
    await quiet();
    controller.abort("gone");
    assert.deepEqual(await standOf(pending), { state: "rejected", reason: "gone" });
  }
});

test("a breaker's key may look like a URL and be none", async () => {
  const { guard } = shim();
  const stack = guard({ breaker: {} });
  for (const key of ["tenant://42", "https://b.example/tenant"]) {
    await reasonOf(stack.execute(() => Promise.reject(new Error("lost")), { key }));
    assert.equal(stack.breaker(key).failures, 1);
  }
  await reasonOf(stack.execute(() => Promise.reject(new Error("lost")), { key: "https://c.example" }));
  assert.equal(stack.breaker("https://c.example/any/path").failures, 1);
  stack.breaker("other://1").forceOpen();
  assert.deepEqual([stack.breaker("other://1").state, stack.breaker().state], ["forced-open", "closed"]);
});

test("whatever makes a string is a URL, as for fetch; no options are none", async () => {
  for (const input of [new String(URL_A), { toString: () => URL_A }, new URL(URL_A)]) {
    for (const config of [{}, { retry: false as const, breaker: {} }]) assert.equal((await sentWith(input, null, null, config)).sent[0]?.url, URL_A);
  }
  const { pending } = await sentWith({ toString: fail }, {});
  assert.equal(((await reasonOf(pending)) as Error).message, "hostile");
  assert.equal(await shim().guard({ retry: {} }).execute(() => 1, null as never), 1);
});

test("a signal that is none rejects with a TypeError, and nothing is admitted", async () => {
  const { guard } = shim();
  const stack = guard({ retry: {}, timeout: {} });
  for (const signal of [{}, "signal", 5, new AbortController()]) {
    assert.ok((await reasonOf(stack.fetch(URL_A, { signal: signal as never }))) instanceof TypeError);
    assert.ok((await reasonOf(stack.execute(() => 1, { signal: signal as never }))) instanceof TypeError);
  }
  assert.equal(stack.metrics().keys.length, 0);
});

test("a host may keep its time beside its methods", async () => {
  const clock = { time: 5_000, now() { return this.time; } };
  const guard = makersFor({ module: engineModule, host: () => new FakeHost() }).forbear({ rateLimiter: { rate: 1 } }, { host: clock });
  await guard.execute(() => 1);
  clock.time += 1_000;
  assert.equal(await guard.execute(() => 2), 2);
});

test("a host may be an instance of a class", async () => {
  class Clock {
    #time = 5_000;
    now(): number {
      return ++this.#time;
    }
  }
  const guard = makersFor({ module: engineModule, host: () => new FakeHost() }).forbear({ retry: {} }, { host: new Clock() });
  const at: number[] = [];
  guard.on("sent", (event) => at.push(event.at));
  await guard.execute(() => 1);
  await quiet();
  assert.ok(at[0]! > 5_000);
});
