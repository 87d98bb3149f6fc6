// Attempts that are prepared before they are sent: the time of `prepare` and `getBody` is the caller's own, and what is really
// sent decides who may repeat it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf, TimeoutError } from "../src/index.js";
import type { FetchOptions } from "../src/types.js";
import { reasonOf } from "./support/host.js";
import { shim } from "./support/shim.js";
import { status, Upstream } from "./support/upstream.js";

const URL_A = "https://a.example/";
const never = (): Promise<never> => new Promise(() => {});

test("a prepare or getBody that hangs ends at the attempt's limit and opens no circuit", async () => {
  for (const options of [{ prepare: never }, { getBody: never }] satisfies FetchOptions[]) {
    const { host, guard } = shim();
    const upstream = new Upstream(status(200));
    const stack = guard({ timeout: { attempt: 50 }, breaker: { consecutiveFailures: 1 }, throttler: {} }, { fetch: upstream.fetch });
    for (let call = 0; call < 20; call++) {
      const pending = reasonOf(stack.fetch(URL_A, { method: "PUT" }, options));
      await host.pass(100);
      const error = await pending;
      assert.ok(error instanceof TimeoutError, String(error));
      assert.equal(error.policy, "attemptTimeout");
    }
    const [read] = stack.metrics().keys;
    assert.deepEqual([upstream.sent.length, stack.breaker(URL_A).state, read?.verdicts.inconclusive, read?.throttler?.requests], [0, "closed", 20, 0]);
  }
});

test("a slow prepare is no slow upstream: latency begins at the send", async () => {
  const { host, guard } = shim();
  const latencies: number[] = [];
  const upstream = new Upstream(() => new Promise((resolve) => void host.arm(10, () => resolve(status(200)))));
  const stack = guard({ breaker: { slowCall: 100, slowRate: 0.5, minCalls: 1 } }, { fetch: upstream.fetch });
  stack.on("settled", ({ latencyMs }) => latencies.push(latencyMs));
  const prepare = (): Promise<void> => new Promise((resolve) => void host.arm(5_000, () => resolve()));
  const pending = stack.fetch(URL_A, {}, { prepare });
  await host.pass(6_000);
  assert.equal((await pending).status, 200);
  assert.deepEqual([latencies, stack.breaker(URL_A).state], [[10], "closed"]);
});

test("an attempt that timed out in prepare is sent again, whatever its method: nothing was sent yet", async () => {
  const { host, guard } = shim();
  const upstream = new Upstream(status(200));
  const stack = guard({ timeout: { attempt: 50 }, retry: { backoff: { base: 1 } } }, { fetch: upstream.fetch });
  const pending = stack.fetch(URL_A, { method: "POST" }, { prepare: (_, { attempt }) => (attempt === 1 ? never() : undefined) });
  await host.pass(1_000);
  assert.deepEqual([(await pending).status, upstream.sent.length, reportOf(await pending)?.attempts], [200, 1, 2]);
});

test("nothing is hedged before it is sent: a slow prepare may still make of a GET what must not arrive twice", async () => {
  for (const [method, sent] of [["POST", 1], ["GET", 2]] as const) {
    const { host, guard } = shim();
    const upstream = new Upstream(() => new Promise((resolve) => void host.arm(1_000, () => resolve(status(200)))));
    const prepare = async (request: Request): Promise<Request> => {
      await new Promise<void>((resolve) => void host.arm(200, resolve));
      return new Request(request, { method });
    };
    const pending = guard({ hedge: { after: 50 } }, { fetch: upstream.fetch }).fetch(URL_A, {}, { prepare });
    await host.pass(10_000);
    assert.deepEqual([(await pending).status, upstream.sent.length], [200, sent]);
  }
});

test("what prepare makes of a request decides whether it is repeated", async () => {
  const post = { method: "POST", headers: { "idempotency-key": "7" } };
  const cases: [RequestInit, (request: Request) => Request | void, number][] = [
    [{}, (request) => new Request(request, { method: "POST" }), 1],
    [post, (request) => request.headers.delete("idempotency-key"), 1],
    [post, () => {}, 2],
    [{}, () => {}, 2],
  ];
  for (const [init, prepare, sent] of cases) {
    const { host, guard } = shim();
    const upstream = new Upstream(status(500));
    const stack = guard({ retry: { attempts: 2, backoff: { base: 1 } }, hedge: { after: 5_000 } }, { fetch: upstream.fetch });
    const pending = stack.fetch(URL_A, init, { prepare });
    await host.pass(10_000);
    assert.deepEqual([(await pending).status, upstream.sent.length], [500, sent], `${init.method} ${prepare}`);
  }
});
