// Bodies that can be read only once: what is kept of them, when, and for how long.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf } from "../src/index.js";
import { reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { hang, status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";
const RETRY = { retry: { backoff: { base: 1 }, budget: false as const }, timeout: {} };

/** A request whose body is this stream, and how often it was cloned. */
function requestOf(body: BodyInit, init: RequestInit = {}): { request: Request; clones: () => number } {
  const request = new Request(URL_A, { method: "PUT", body, duplex: "half", ...init } as RequestInit);
  let clones = 0;
  request.clone = () => {
    clones++;
    return Request.prototype.clone.call(request);
  };
  return { request, clones: () => clones };
}

/** A stream that is given its chunks by the test. */
function openStream(): { stream: ReadableStream<Uint8Array>; controller: ReadableStreamDefaultController<Uint8Array>; cancelled: () => unknown } {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let cancelled: unknown;
  const stream = new ReadableStream<Uint8Array>({ start: (own) => void (controller = own), cancel: (reason) => void (cancelled = reason ?? "cancelled") });
  return { stream, controller, cancelled: () => cancelled };
}

test("nothing is cloned where no repeat could come of it", async () => {
  const cases: [config: object, request: ReturnType<typeof requestOf>, options: object, call: object][] = [
    [{ breaker: {} }, requestOf("x"), {}, {}],
    [{ hedge: {} }, requestOf("x"), {}, {}],
    [RETRY, requestOf("x"), { replay: false }, {}],
    [RETRY, requestOf("x"), { replay: 0 }, {}],
    [RETRY, requestOf("x"), {}, { retry: false }],
    [RETRY, requestOf("x"), {}, { idempotent: false }],
    [RETRY, requestOf("x", { method: "POST" }), {}, {}],
    [RETRY, requestOf("x", { headers: { "content-length": "65537" } }), {}, {}],
    [RETRY, requestOf("x"), {}, { getBody: () => "x" }],
  ];
  for (const [config, { request, clones }, options, call] of cases) {
    const { host, guard } = shim();
    const pending = guard(config, { fetch: new Upstream(status(200)).fetch, ...options }).fetch(request, undefined, call);
    await host.pass(1_000);
    await pending;
    assert.equal(clones(), 0, JSON.stringify([config, options, call]));
  }
});

test("a call that is refused does not touch the body", async () => {
  const { guard } = shim();
  const upstream = new Upstream(status(200));
  const guarded = guard({ ...RETRY, breaker: {} }, { fetch: upstream.fetch });
  guarded.breaker(URL_A.slice(0, -1)).forceOpen();
  const { request, clones } = requestOf("x");
  assert.equal(((await reasonOf(guarded.fetch(request))) as Error).name, "RejectedError");
  assert.deepEqual([clones(), request.bodyUsed, upstream.sent.length], [0, false, 0]);
});

test("a body that is still coming when the attempt fails is not sent again, and its copy is not read any further", async () => {
  const { host, guard } = shim();
  const { stream, controller, cancelled } = openStream();
  controller.enqueue(new Uint8Array(10));
  const { request } = requestOf(stream);
  const pending = guard(RETRY, { fetch: new Upstream(status(503)).fetch }).fetch(request);
  await host.pass(1_000);
  assert.equal(reportOf(await pending)?.stopReason, "body-not-replayable");
  assert.equal(cancelled(), undefined, "the other branch is the attempt's");
  await request.body!.cancel("mine");
  assert.notEqual(cancelled(), undefined);
});

test("a caller that leaves while the body comes leaves nothing behind", async () => {
  const { guard } = shim();
  const { stream, cancelled } = openStream();
  const caller = new AbortController();
  const { request } = requestOf(stream, { signal: caller.signal });
  const pending = guard(RETRY, { fetch: new Upstream(hang).fetch }).fetch(request);
  caller.abort("gone");
  assert.equal(await reasonOf(pending), "gone");
  await request.body!.cancel();
  assert.notEqual(cancelled(), undefined, "both branches are given up");
});

test("a body that fails, or that was read before, says so by what is sent, and nowhere else", async () => {
  const { host, guard } = shim();
  const mine = new Error("the source failed");
  const { stream, controller } = openStream();
  controller.error(mine);
  const read = async (input: RequestInfo | URL): Promise<Response> => new Response(await (input as Request).text());
  const guarded = guard(RETRY, { fetch: read });
  const failing = reasonOf(guarded.fetch(requestOf(stream).request));
  await host.pass(1_000);
  assert.equal(await failing, mine);
  const { request } = requestOf("x");
  await request.text();
  const used = reasonOf(guarded.fetch(request));
  await host.pass(1_000);
  assert.equal(((await used) as Error).name, "TypeError");
});

test("a body that comes byte by byte is kept whole", async () => {
  const { host, guard } = shim();
  const bytes = Uint8Array.from({ length: 1_000 }, (_, i) => i % 256);
  const { stream, controller } = openStream();
  for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
  controller.close();
  const bodies: Uint8Array[] = [];
  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    bodies.push(new Uint8Array(await new Request(input, init).arrayBuffer()));
    return status(bodies.length < 3 ? 500 : 200);
  };
  const pending = guard(RETRY, { fetch }).fetch(requestOf(stream).request);
  await host.pass(1_000);
  assert.equal((await pending).status, 200);
  assert.deepEqual(bodies, [bytes, bytes, bytes]);
});

test("all bodies of an isolate together take at most 8 MiB: one that finds no room is sent once", async () => {
  const { host, guard } = shim();
  const guarded = guard(RETRY, { fetch: new Upstream(hang).fetch, replay: "8MiB" });
  const large = new Uint8Array(5 * 2 ** 20);
  const caller = new AbortController();
  const first = reasonOf(guarded.fetch(requestOf(large, { signal: caller.signal }).request));
  await host.pass(1);
  const failing = guard(RETRY, { fetch: new Upstream(status(503)).fetch, replay: "8MiB" });
  const second = failing.fetch(requestOf(large).request);
  await host.pass(1_000);
  assert.equal(reportOf(await second)?.attempts, 1);
  caller.abort("gone");
  assert.equal(await first, "gone");
  const third = failing.fetch(requestOf(large).request);
  await host.pass(1_000);
  assert.equal(reportOf(await third)?.attempts, 3, "the first has given its room back");
});

test("a prepared request is made anew around the kept body", async () => {
  const { host, guard } = shim();
  const bodies: string[] = [];
  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    bodies.push(`${request.headers.get("x-attempt")} ${await request.text()}`);
    return status(500);
  };
  const prepare = (request: Request, { attempt }: { attempt: number }): void => request.headers.set("x-attempt", String(attempt));
  const pending = guard(RETRY, { fetch }).fetch(requestOf("body").request, undefined, { prepare });
  await host.pass(1_000);
  await pending;
  assert.deepEqual(bodies, ["1 body", "2 body", "3 body"]);
});

test("replay is false, a number of bytes, or a size with its unit", () => {
  const { guard } = shim();
  for (const replay of [false, 0, 1, 8_388_608, "0B", "64KiB", "8MiB"] as const) guard(RETRY, { replay });
  for (const replay of ["64", "64KB", "1.5MiB", " 1B", "9MiB", 8_388_609, -1, 1.5, NaN, true, null, {}]) {
    assert.throws(() => guard(RETRY, { replay } as never), { name: "ConfigError", message: /^options\.replay: .+ is not allowed; expected false, or a size from 0 to "8MiB", such as "64KiB"$/ });
  }
});
