// `release: "body"`: a slot that is held until the body ends, and a body that never suffers for it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf, type RejectedError } from "../src/index.js";
import type { StackGuard } from "../src/guards/guard.js";
import { FakeHost, quiet, reasonOf, standOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { countingSignal, status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";
const KEY = "https://a.example";
const BULKHEAD = { bulkhead: { concurrency: 1, release: "body" } } as const;
const SHAPES = [BULKHEAD, { ...BULKHEAD, timeout: {} }];

/** One slot, nobody waits for it, and an upstream that answers in turn. */
function oneSlot(...answers: ConstructorParameters<typeof Upstream>) {
  const { host, guard } = shim();
  const stack = guard(BULKHEAD, { fetch: new Upstream(...answers).fetch });
  return { host, stack, isFree: () => isFree(stack) };
}

/** Whether there is a slot, told by whoever wants it. */
async function isFree(stack: StackGuard): Promise<boolean> {
  return stack.execute(() => 1, { key: KEY }).then(() => true, ({ reason }: RejectedError) => (assert.equal(reason, "bulkhead-full"), false));
}

/** A body that tells when it is cancelled, and what it is told then. */
function open(type?: "bytes") {
  let controller!: ReadableStreamDefaultController<Uint8Array> | ReadableByteStreamController;
  let cancelled: unknown;
  const body = new ReadableStream({ type: type as "bytes", start: (its) => void (controller = its), cancel: (reason) => void (cancelled = reason) });
  return { body, push: (text: string) => controller.enqueue(bytes(text)), controller: () => controller, cancelled: () => cancelled };
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

test("a slot is held until the body ends; the response is another that says the same", async () => {
  const given = new Response("one two", { status: 201, statusText: "Made", headers: [["x-kept", "yes"], ["set-cookie", "a=1"], ["set-cookie", "b=2"]] });
  Object.defineProperties(given, { url: { value: URL_A }, redirected: { value: true }, type: { value: "cors" } });
  const { host, stack, isFree } = oneSlot(given);
  const response = await stack.fetch(URL_A);
  for (const each of [response, response.clone(), response.clone().clone()]) {
    assert.deepEqual([each.status, each.statusText, each.headers.get("x-kept"), each.headers.getSetCookie()], [201, "Made", "yes", ["a=1", "b=2"]]);
    assert.deepEqual([each.url, each.redirected, each.type, each.ok, each.bodyUsed], [URL_A, true, "cors", true, false]);
  }
  assert.ok(response instanceof Response);
  assert.equal(reportOf(response)?.stopReason, "completed");
  assert.equal(await isFree(), false);
  assert.equal(await response.text(), "one two");
  assert.equal(await isFree(), true);
  assert.equal(host.timers.length, 0);
});

test("a body that is cancelled gives its slot back at once, and its upstream hears why", async () => {
  for (const begun of [false, true]) {
    const { body, push, cancelled } = open();
    const { stack, isFree } = oneSlot(async () => new Response(body));
    const reader = (await stack.fetch(URL_A)).body!.getReader();
    if (begun) push("one");
    if (begun) await reader.read();
    await reader.cancel("enough");
    assert.equal(cancelled(), "enough");
    assert.equal(await isFree(), true);
  }
});

test("a body that fails gives its slot back, and fails with its own error", async () => {
  const { body, controller } = open();
  const { stack, isFree } = oneSlot(async () => new Response(body));
  const response = await stack.fetch(URL_A);
  const text = reasonOf(response.text());
  const lost = new Error("lost");
  controller().error(lost);
  assert.equal(await text, lost);
  assert.equal(await isFree(), true);
});

test("a body that nobody reads, or reads no further, does not hold its slot for ever, and no timer waits for it", async () => {
  for (const begun of [false, true]) {
    const { body, push } = open();
    const { host, stack, isFree } = oneSlot(async () => new Response(body));
    const response = await stack.fetch(URL_A);
    assert.equal(host.timers.length, 0);
    push("one");
    if (begun) await response.body!.getReader().read();
    await host.pass(14_000);
    assert.equal(await isFree(), false);
    await host.pass(12_000);
    assert.equal(await isFree(), true);
    assert.equal(host.timers.length, 0);
  }
});

test("a slow body that somebody waits for holds its slot, however long it pauses", async () => {
  const { body, push, controller } = open();
  const { host, stack, isFree } = oneSlot(async () => new Response(body));
  const text = (await stack.fetch(URL_A)).text();
  for (const piece of ["one ", "two"]) {
    await host.pass(60_000);
    assert.equal(await isFree(), false);
    assert.ok(host.timers.length <= 1);
    push(piece);
  }
  controller().close();
  assert.equal(await text, "one two");
  assert.equal(await isFree(), true);
  assert.equal(host.timers.length, 0);
});

test("a slow reader holds its slot as long as it comes back within fourteen seconds", async () => {
  const { body, push } = open();
  const { host, stack, isFree } = oneSlot(async () => new Response(body));
  const reader = (await stack.fetch(URL_A)).body!.getReader();
  for (let piece = 0; piece < 10; piece++) {
    await host.pass(14_000);
    push("x");
    await reader.read();
    assert.ok(host.timers.length <= 1);
  }
  await host.pass(14_000);
  assert.equal(await isFree(), false);
});

test("what has no body gives its slot back at once, and is the very object that fetch gave", async () => {
  const used = new Response("used");
  await used.text();
  const locked = new Response("locked");
  locked.body!.getReader();
  for (const given of [new Response(null), new Response(null, { status: 204 }), used, locked, { status: 200 }, 5, undefined]) {
    const { host, guard } = shim();
    const stack = guard(BULKHEAD);
    assert.equal(await stack.execute<unknown>(async () => given, { key: KEY }), given);
    assert.equal(await isFree(stack), true);
    assert.equal(host.timers.length, 0);
  }
});

test("a response that no other can stand for is handed over as it is, its body free, and gives its slot back at its headers", async () => {
  const beyond = Object.defineProperty(new Response("beyond"), "status", { value: 999 });
  const foreign = (body: object) => ({ [Symbol.toStringTag]: "Response", status: 200, headers: new Headers(), body });
  const fail = (): never => {
    throw new Error("hostile");
  };
  const hostile = { ...foreign(new Response("x").body!), get headers() { return fail(); } };
  for (const given of [beyond, foreign({ pipe() {} }), foreign({ getReader: fail }), foreign({ get getReader() { return fail(); } }), hostile]) {
    const { host, guard } = shim();
    const stack = guard(BULKHEAD, { classify: () => "success" });
    const { controller, signal, listeners } = countingSignal();
    assert.equal(await stack.execute<unknown>(async () => given, { signal, key: KEY }), given);
    if (given instanceof Response) assert.equal(await given.text(), "beyond");
    assert.equal(await isFree(stack), true);
    assert.deepEqual([host.timers.length, listeners()], [0, 0]);
    controller.abort();
  }
});

test("the last failure's body holds its slot too, when it is what the caller gets", async () => {
  for (const code of [404, 429, 500, 503]) {
    for (const more of [{}, { retry: { attempts: 2, backoff: { base: 1 } } }, { timeout: {} }]) {
      const { host, guard } = shim();
      const stack = guard({ ...BULKHEAD, ...more }, { fetch: async () => status(code) });
      const pending = stack.fetch(URL_A);
      await host.pass(5_000);
      const response = await pending;
      assert.equal(await isFree(stack), false, `${code} ${JSON.stringify(more)}`);
      assert.equal(await response.text(), `status ${code}`);
      assert.equal(await isFree(stack), true);
    }
  }
});

test("a failure without a response gives its slot back at once", async () => {
  for (const config of SHAPES) {
    const { host, guard } = shim();
    const stack = guard(config);
    const lost = new Error("lost");
    assert.equal(await reasonOf(stack.execute(() => Promise.reject(lost), { key: KEY })), lost);
    assert.equal(await isFree(stack), true);
    assert.equal(host.timers.length, 0);
  }
});

// ——— the caller's signal ———

test("a caller that leaves gives the slot back at once, whether its body is being read, was read in part, or not at all", async () => {
  for (const config of SHAPES) {
    for (const reads of [0, 1, 2]) {
      const { guard } = shim();
      const { controller, signal, listeners } = countingSignal();
      const { body, push } = open();
      const stack = guard(config, { fetch: async () => new Response(body) });
      const reader = (await stack.fetch(URL_A, { signal })).body!.getReader();
      push("one");
      for (let read = 0; read < reads; read++) void reader.read();
      await quiet();
      assert.equal(await isFree(stack), false);
      controller.abort("gone");
      assert.equal(await isFree(stack), true);
      assert.equal(listeners(), 0);
    }
  }
});

test("a caller that leaves after the slot was lost still aborts the body", async () => {
  const { host, guard } = shim();
  const { controller, signal, listeners } = countingSignal();
  const { body, push } = open();
  const upstream = new Upstream(async () => new Response(body));
  const stack = guard({ ...BULKHEAD, timeout: {} }, { fetch: upstream.fetch });
  const reader = (await stack.fetch(URL_A, { signal })).body!.getReader();
  await host.pass(60_000);
  assert.equal(await isFree(stack), true);
  push("one");
  await reader.read();
  controller.abort("gone");
  assert.equal(upstream.sent[0]?.signal?.reason, "gone");
  assert.deepEqual([listeners(), host.timers.length], [0, 0]);
});

test("a body that has ended leaves no listener on the caller's signal", async () => {
  const { guard } = shim();
  const { signal, listeners } = countingSignal();
  const stack = guard(BULKHEAD, { fetch: async () => status(200) });
  for (const end of ["text", "cancel"] as const) {
    for (let i = 0; i < 10; i++) {
      const response = await stack.fetch(URL_A, { signal });
      assert.equal(listeners(), 1);
      await (end === "text" ? response.text() : response.body!.cancel());
      assert.equal(listeners(), 0);
    }
  }
});

test("a caller that leaves in the very moment of the handing over holds nothing", async () => {
  const { host, guard } = shim();
  const controller = new AbortController();
  const stack = guard({ hedge: { after: 10, attempts: 2 }, bulkhead: { concurrency: 2, release: "body" } }, {
    fetch: async (_, init) => {
      if (host.time > 1_000) return new Response("two");
      return new Promise((_, reject) => init!.signal!.addEventListener("abort", () => (controller.abort("gone"), reject(new Error("aborted")))));
    },
  });
  const pending = stack.fetch(URL_A, { signal: controller.signal });
  await host.pass(20);
  assert.equal((await standOf(pending)).state, "fulfilled");
  const both = await Promise.all([1, 2].map(() => stack.execute(async () => (await quiet(), 1), { key: KEY })));
  assert.deepEqual(both, [1, 1]);
});

// ——— readers of one's own ———

test("a body of bytes can be read into one's own buffers, as it could before", async () => {
  const { body, push, controller } = open("bytes");
  const { stack, isFree } = oneSlot(async () => new Response(body));
  const reader = (await stack.fetch(URL_A)).body!.getReader({ mode: "byob" });
  const first = reader.read(new Uint8Array(3));
  push("abcde");
  assert.equal(new TextDecoder().decode((await first).value), "abc");
  assert.equal(new TextDecoder().decode((await reader.read(new Uint8Array(3))).value), "de");
  const last = reader.read(new Uint8Array(3));
  await quiet();
  controller().close();
  (controller() as ReadableByteStreamController).byobRequest?.respond(0);
  assert.deepEqual([(await last).done, (await last).value?.byteLength], [true, 0]);
  assert.equal(await isFree(), true);
});

test("a body of bytes comes whole, however small and large its pieces are", async () => {
  const { body, push, controller } = open("bytes");
  const { stack, isFree } = oneSlot(async () => new Response(body));
  const text = (await stack.fetch(URL_A)).text();
  let sent = "";
  for (const size of [1, 5_000, 3, 200_000, 1, 70_000, 2]) {
    const piece = String.fromCharCode(97 + (size % 26)).repeat(size);
    push(piece);
    sent += piece;
    await quiet();
  }
  controller().close();
  assert.equal(await text, sent);
  assert.equal(await isFree(), true);
});

test("pieces that are no bytes come through as they are", async () => {
  const { body, controller } = open();
  const { stack, isFree } = oneSlot(async () => new Response(body));
  const reader = (await stack.fetch(URL_A)).body!.getReader();
  const piece = { any: "thing" } as never;
  controller().enqueue(piece);
  assert.equal((await reader.read()).value, piece);
  controller().close();
  assert.equal((await reader.read()).done, true);
  assert.equal(await isFree(), true);
});

test("a stream that only looks like one of bytes keeps what it gives: pieces of a pool, pieces that are given twice, empty ones", async () => {
  const pool = bytes("one two");
  const pieces = () => [pool.subarray(0, 4), new Uint8Array(0), pool.subarray(4)][Symbol.iterator]();
  const packages = () => {
    const rest = pieces();
    return { locked: false, getReader: (_options?: object) => ({ read: async () => rest.next(), releaseLock() {} }) };
  };
  class Careless extends ReadableStream<Uint8Array<ArrayBuffer>> {
    override getReader = (_options?: object): never => super.getReader() as never;
  }
  const careless = () => new Careless({ start: (controller) => ([...pieces()].forEach((piece) => controller.enqueue(piece)), controller.close()) });
  for (const body of [packages, careless]) {
    const { stack, isFree } = oneSlot();
    for (let time = 0; time < 2; time++) {
      const given = { [Symbol.toStringTag]: "Response", status: 200, headers: new Headers(), body: body() };
      const response = await stack.execute(async () => given as unknown as Response, { key: KEY });
      assert.equal(await isFree(), false);
      assert.equal(await response.text(), "one two");
      assert.equal(await isFree(), true);
    }
    assert.deepEqual(pool, bytes("one two"));
  }
});

test("both branches of a tee must be done with before the slot is free", async () => {
  const { stack, isFree } = oneSlot(async () => new Response("x"));
  const [a, b] = (await stack.fetch(URL_A)).body!.tee();
  void a.cancel();
  await quiet();
  assert.equal(await isFree(), false);
  void b.cancel();
  assert.equal(await isFree(), true);
});

// ——— a host or an engine that fails ———

for (const name of ["now", "random", "arm", "disarm"] as const) {
  test(`a host whose ${name} throws while the body is read: the body comes whole, its end and its cancelling reach the upstream`, async () => {
    for (const end of ["text", "cancel", "beat", "abort"] as const) {
      for (let good = 0; good < 4; good++) {
        const host = new FakeHost();
        const { body, push, controller, cancelled } = open();
        const stack = shim(host).guard(BULKHEAD, { fetch: async () => new Response(body) });
        const leaving = new AbortController();
        const response = await stack.fetch(URL_A, { signal: leaving.signal });
        const { now, random, arm } = host;
        let calls = 0;
        const faulty = <A extends unknown[], R>(real: (...args: A) => R) => (...args: A): R => {
          if (calls++ >= good) throw new Error("hostile");
          return real(...args);
        };
        if (name === "disarm") host.arm = (...args) => faulty(arm(...args));
        else Object.assign(host, { [name]: faulty(host[name] as never) });
        const reader = response.body!.getReader();
        push("one");
        assert.deepEqual((await reader.read()).value, bytes("one"));
        if (end === "beat") {
          void reader.read();
          await host.pass(60_000);
        } else if (end === "cancel") {
          await reader.cancel("enough");
          assert.equal(cancelled(), "enough");
        } else {
          if (end === "abort") leaving.abort();
          push("two");
          controller().close();
          assert.deepEqual((await reader.read()).value, bytes("two"));
          assert.equal((await reader.read()).done, true);
        }
        Object.assign(host, { now, random, arm });
        host.time += 60_000;
        assert.equal(await isFree(stack), true);
      }
    }
  });
}

test("an arm that fires at once, or gives nothing to call off with, does a body no harm", async () => {
  for (const arm of [(_: number, wake: () => void) => (wake(), () => {}), () => 5, () => undefined]) {
    const { host, stack, isFree } = oneSlot(async () => status(200));
    host.arm = arm as never;
    assert.equal(await (await stack.fetch(URL_A)).text(), "status 200");
    assert.equal(await isFree(), true);
  }
});

test("an arm that wakes twice, or wakes who was called off, is heard once: a body has one timer", async () => {
  const { body, push } = open();
  const { host, stack, isFree } = oneSlot(async () => new Response(body));
  const { arm } = host;
  host.arm = (...args) => (arm(...args), arm(...args), () => {});
  const reader = (await stack.fetch(URL_A)).body!.getReader();
  void reader.read();
  await host.pass(100_000);
  assert.deepEqual([host.armed, host.timers.length], [2 * 11, 2]);
  push("one");
  await reader.cancel();
  await host.pass(20_000);
  assert.deepEqual([host.armed, host.timers.length, await isFree()], [2 * 11, 0, true]);
});

test("an engine that dies while the body is read does it no harm", async () => {
  const { host, engine, guard } = shim();
  const { body, push, controller } = open();
  const stack = guard(BULKHEAD, { fetch: async () => new Response(body) });
  const text = (await stack.fetch(URL_A)).text();
  engine.ask((exports) => exports.debug_trap(), undefined);
  await host.pass(60_000);
  push("one");
  controller().close();
  assert.equal(await text, "one");
  assert.deepEqual([await isFree(stack), host.timers.length], [true, 0]);
});
