// What a `fetch` of the user's gives in a response's place.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf } from "../src/index.js";
import type { Fetch } from "../src/types.js";
import { quiet } from "./support/host.js";
import { shim } from "./support/shim.js";

const URL_A = "https://a.example/";

test("a plain object with a status that a fetch gives is read by it, and by its Retry-After", async () => {
  const { host, guard } = shim();
  const sent: number[] = [];
  const busy = { ok: false, status: 503, headers: new Map([["retry-after", "7"]]) };
  const fetch = (async () => (sent.push(host.time), busy)) as unknown as Fetch;
  const stack = guard({ retry: { attempts: 2, backoff: { jitter: "none" } }, breaker: { window: "10m" } }, { fetch });
  const ended = stack.fetch(URL_A);
  await host.pass(60_000);
  assert.equal(await ended, busy);
  assert.equal(reportOf(await ended)!.attempts, 2);
  assert.ok(sent[1]! - sent[0]! >= 7_000, String(sent));
  assert.equal(stack.metrics().keys[0]!.verdicts.overload, 2);
  assert.equal(stack.breaker(URL_A).failures, 2);
});

test("without headers, or with any that are none, its status counts all the same", async () => {
  for (const headers of [undefined, null, {}, { "retry-after": "7" }, { get: 5 }, { get: () => 5 }, { get: () => { throw new Error("no"); } }]) {
    const { host, guard } = shim();
    let sent = 0;
    const stack = guard({ retry: { attempts: 2 } }, { fetch: (async () => (sent++, { status: 503, headers })) as unknown as Fetch });
    const ended = stack.fetch(URL_A);
    await host.pass(60_000);
    assert.equal((await ended).status, 503);
    assert.equal(sent, 2);
  }
});

test("what says no status is a success, from a fetch too", async () => {
  for (const value of [{ ok: false }, { status: "503" }, { status: 5 }, { status: -503 }, { status: NaN }, { status: 503.5 }, { status: 2 ** 32 + 503 }, null, "503", 503,
    new Proxy({}, { get: (_, name) => { if (name !== "then") throw new Error("no"); } })]) {
    const { guard } = shim();
    const stack = guard({ breaker: {} }, { fetch: (async () => value) as unknown as Fetch });
    assert.equal(await stack.fetch(URL_A).then((given) => Object.is(given, value)), true);
    assert.equal(stack.metrics().keys[0]!.verdicts.success, 1);
  }
});

test("from execute a plain object is a success, whatever it says", async () => {
  const { guard } = shim();
  const stack = guard({ retry: {}, breaker: {} });
  const result = { ok: false, status: 503 };
  assert.equal(await stack.execute(() => result), result);
  assert.deepEqual([stack.metrics().keys[0]!.verdicts.success, reportOf(result)], [1, undefined]);
});

test("an answer that comes after its attempt was given up is told as stale, where anybody listens", async () => {
  const { host, guard } = shim();
  const answers: ((response: Response) => void)[] = [];
  const fetch: Fetch = () => new Promise((resolve) => answers.push(resolve));
  const stack = guard({ name: "slow", timeout: { attempt: 100 }, retry: { attempts: 2, backoff: { jitter: "none" } } }, { fetch });
  const heard: unknown[] = [];
  const stop = stack.on("stale", ({ attempt, key, stack, policy }) => heard.push([attempt, key, stack, policy]));
  const ended = stack.fetch(URL_A);
  await host.pass(150);
  answers[0]!(new Response("late"));
  await host.pass(100);
  answers[1]!(new Response("in time"));
  assert.equal(await (await ended).text(), "in time");
  await quiet();
  assert.deepEqual(heard, [[1, "https://a.example", "slow", undefined]]);
  stop();
});
