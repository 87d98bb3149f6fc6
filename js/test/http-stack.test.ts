// Stoic, "Resilience policies", section Testing: "the HTTP stack of the API example end to end on virtual time". Ten seconds
// in all, three attempts, a breaker, fifty a second with a burst of a hundred, eight at once with sixteen in line, two
// seconds for each attempt; before an upstream that is well, hangs, fails, and is well again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forbear, RejectedError, TimeoutError, type Config } from "../src/entry/inline.js";
import { FakeHost } from "./support/host.js";
import { hang, status } from "./support/upstream.js";

const URL_A = "https://api.example.com/rates";
const HTTP: Config = {
  name: "api.example.com",
  timeout: { total: "10s", attempt: "2s" },
  retry: { attempts: 3, backoff: { base: "200ms" } },
  breaker: { openFor: "5s" },
  rateLimiter: { rate: 50, burst: 100, wait: "10s" },
  bulkhead: { concurrency: 8, queue: 16 },
};
/** How many calls come in a second. */
const CALLS = 20;

test("the HTTP stack end to end", async () => {
  const host = new FakeHost();
  const began = host.time;
  let [running, most] = [0, 0];
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    most = Math.max(most, ++running);
    const end = onlyOnce(() => running--);
    init?.signal?.addEventListener("abort", end);
    const second = Math.floor((host.time - began) / 1_000);
    const answered = second < 10 || second >= 40 ? Promise.resolve(status(200)) : second < 20 ? hang(init?.signal ?? undefined) : Promise.resolve(status(500));
    return answered.finally(end);
  };
  const guard = forbear(HTTP, { host, fetch: fetch as typeof globalThis.fetch });

  const ends: { second: number; took: number; end: string }[] = [];
  for (let call = 0; call < 60 * CALLS; call++) {
    const at = host.time;
    const over = (end: string): void => void ends.push({ second: Math.floor((at - began) / 1_000), took: host.time - at, end });
    guard.fetch(URL_A).then(({ status }) => over(String(status)), (error: unknown) => over(wordOf(error)));
    await host.pass(1_000 / CALLS);
  }
  await host.pass(20_000);

  const during = (from: number, until: number): Set<string> => new Set(ends.filter(({ second }) => second >= from && second < until).map(({ end }) => end));
  assert.equal(ends.length, 60 * CALLS);
  assert.ok(ends.every(({ took }) => took <= 10_000));
  assert.equal(most, 8);
  assert.deepEqual([...during(0, 8)], ["200"]);
  assert.ok(during(10, 20).has("bulkhead-full"), "eight hang and sixteen wait");
  assert.ok(during(10, 20).has("circuit-open after a timeout"), "each is given up after two seconds, and its repeat finds the circuit open");
  assert.ok(!during(22, 38).has("200") && during(22, 38).has("circuit-open"));
  assert.ok(during(50, 60).has("200"));
  assert.equal(guard.breaker(URL_A).state, "closed");
  assert.equal(running, 0);
  assert.equal(host.timers.length, 0);
});

function onlyOnce(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}

function wordOf(error: unknown): string {
  if (error instanceof RejectedError) return `${error.reason}${error.cause instanceof TimeoutError ? " after a timeout" : ""}`;
  assert.ok(error instanceof TimeoutError, String(error));
  return error.name;
}
