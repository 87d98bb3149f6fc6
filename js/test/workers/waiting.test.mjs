// Lines whose waiters are requests of their own: each keeps itself alive by its own timer, hints reach it only where the
// runtime hands them over, and whoever is dropped holds nobody up for longer than is promised.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { Meter } from "../support/meter.mjs";
import { test } from "../support/test.mjs";
import { ok, slow, stallHeaders, startUpstream } from "../support/upstream.mjs";
import { client, until } from "./support/clients.mjs";
import { displacement, story } from "./support/story.mjs";
import { startWorker } from "./support/workerd.mjs";

const RUNTIMES = {
  "where hints are handed over": { hinted: true },
  "where hints are not handed over": { hinted: false, date: "2024-09-01" },
  "where hints get lost": { hinted: false, deaf: true },
};
/** The grace of a lease and what rounding it adds, and how soon who waits asks. */
const LEASE_MS = 5_000 + 250 + 250;
/** What a busy machine adds at worst. */
const SLACK_MS = 2_500;

for (const runtime of Object.values(RUNTIMES)) {
  before(async () => (runtime.worker = await startWorker(new URL("waiting.worker.mjs", import.meta.url), { date: runtime.date })));
  after(() => runtime.worker?.stop());
}

for (const [where, runtime] of Object.entries(RUNTIMES)) {
  const ask = (path, body) => runtime.worker.ask(path, body && { deaf: runtime.deaf, ...body });

  test(`waiters in a bulkhead's line are served one at a time, first in, first out as far as they are heard of, ${where}`, async (t) => {
    const meter = new Meter();
    const { url } = await startUpstream(t, meter.takes(60));
    const guard = { name: "line", timeout: { total: "20s" }, bulkhead: { concurrency: 1, queue: 20, queueTimeout: false } };
    const ids = named("line", 8);
    const answers = await Promise.all(ids.map((id) => ask("/call", { guard, url, id })));
    assert.ok(answers.every(({ status }) => status === 200), JSON.stringify(answers));
    assert.equal(meter.most, 1);
    const { came, starts, inFlight } = await story(ask, "line");
    assert.equal(starts[0].by, "coming");
    const by = starts.slice(1).map(({ by }) => by);
    if (runtime.hinted) assert.ok(by.filter((what) => what === "hint").length > 4, String(by));
    else assert.ok(by.every((what) => what === "timer"), String(by));
    t.diagnostic(`displaced by ${JSON.stringify(displacement(came, starts))}, started by ${by}`);
    // Without hints whoever's timer rings after a head start of 20 ms is as good as the first, whose own rings every 50.
    if (runtime.hinted) assert.ok(displacement(came, starts).most <= 2, `${came} were sent as ${starts.map(({ id }) => id)}`);
    assert.equal(inFlight, 0);
  });

  test(`waiters in a rate limiter's line are served first in, first out, none too early, ${where}`, async (t) => {
    const { url } = await startUpstream(t, ok);
    const guard = { name: "turns", rateLimiter: { rate: 10, interval: "1s", burst: 1, wait: "20s", queue: 20 } };
    const ids = named("turns", 8);
    const answers = await Promise.all(ids.map((id) => ask("/call", { guard, url, id })));
    assert.ok(answers.every(({ status }) => status === 200), JSON.stringify(answers));
    const { came, starts, inFlight } = await story(ask, "turns");
    starts.forEach(({ at }, turn) => assert.ok(at - starts[0].at >= turn * 100, JSON.stringify(starts)));
    // On a busy machine one may come when its turn is there already, and timers ring late: then a call that ends hints at whoever's
    // turn has come. Nobody is ever too early by that.
    const by = starts.map(({ by }) => by);
    const hints = by.filter((what) => what === "hint").length;
    assert.ok(by.includes("timer") && hints <= 2, `everybody who waits knows its turn beforehand: ${by}`);
    assert.ok(displacement(came, starts).most <= 1, `${came} were sent as ${starts.map(({ id }) => id)}`);
    assert.equal(inFlight, 0);
  });

  test(`whoever stands behind one that leaves a rate limiter's line goes as soon as it may, and before newcomers, ${where}`, async (t) => {
    const { url } = await startUpstream(t, ok);
    const guard = { name: "behind", rateLimiter: { rate: 2, interval: "1s", burst: 20, wait: "1m" } };
    const call = (id, options) => ask("/call", { guard, url, id: `behind-${id}`, ...options });
    const calls = [await call("drains", { cost: 20 })];
    const dear = call("dear", { cost: 20, leaveAfterMs: 700 });
    await until(async () => (await ask("/")).came.includes("behind-dear"));
    const cheap = call("cheap");
    await until(async () => (await ask("/")).came.includes("behind-cheap"));
    assert.equal((await dear).error, "AbortError");
    calls.push(...(await Promise.all([cheap, call("newcomer")])));
    assert.ok(calls.every(({ status }) => status === 200), JSON.stringify(calls));
    const { starts } = await story(ask, "behind");
    assert.deepEqual(starts.map(({ id }) => id), ["behind-drains", "behind-cheap", "behind-newcomer"]);
    const [drained, ...after] = starts.map(({ at }) => at);
    t.diagnostic(`sent after ${after.map((at) => at - drained)} ms`);
    assert.ok(after[0] - drained < 750 + SLACK_MS && after[1] - drained >= 1_000, JSON.stringify(starts));
  });

  test(`a turn not claimed within its lease passes on: the first in line has left, and one in the middle, ${where}`, async (t) => {
    const opened = [];
    const upstream = await startUpstream(t, (response) => opened.push(response), slow(10));
    const guard = { name: "left", timeout: { total: "60s" }, bulkhead: { concurrency: 1, queue: 4, queueTimeout: false } };
    const order = (id) => ({ guard, url: upstream.url, id: `left-${id}`, deaf: runtime.deaf });
    const call = (id) => ask("/call", order(id));
    const ways = {
      holder: call,
      first: (id) => client(runtime.worker.origin, "/call", order(id)),
      second: call,
      middle: (id) => ask("/abandon", { ...order(id), afterMs: 100 }),
      last: call,
    };
    const calls = {};
    for (const [id, make] of Object.entries(ways)) {
      calls[id] = make(id);
      await until(async () => (await ask("/")).came.includes(`left-${id}`));
    }
    calls.first.leave();
    await calls.middle;
    await new Promise((resolve) => setTimeout(resolve, 300)); // they would have asked again by now
    const since = Date.now();
    opened[0].end("fine");
    await Promise.all([calls.holder, calls.second, calls.last]);
    const tookMs = Date.now() - since;
    t.diagnostic(`the two were served after ${tookMs} ms`);
    // What the dead were called for is anybody's after 20 ms, and the living ask every 50 ms.
    assert.ok(tookMs < 200 + SLACK_MS, `${tookMs} ms`);
    const { starts } = await story(ask, "left");
    assert.deepEqual(starts.map(({ id }) => id).sort(), ["left-holder", "left-last", "left-second"]);

    await ask("/ahead", { ms: LEASE_MS });
    const answers = await Promise.all(Array.from({ length: 5 }, () => call("later")));
    assert.ok(answers.every(({ status }) => status === 200), `their places are free: ${JSON.stringify(answers)}`);
  });
}

test("nothing is lost when the request that holds a slot is dropped: it passes on when its lease has ended, and no earlier", async (t) => {
  const guard = { name: "held", timeout: { attempt: 500, total: "30s" }, bulkhead: { concurrency: 2, queue: 5, queueTimeout: false } };
  const served = await Promise.all(Object.values(RUNTIMES).map(async ({ worker, deaf }) => {
    const upstream = await startUpstream(t, stallHeaders, stallHeaders, ok);
    const order = (id) => ({ guard, url: upstream.url, id, deaf });
    const byReset = client(worker.origin, "/call", order("held-1"));
    await upstream.requests(1);
    const byAbort = worker.ask("/abandon", { ...order("held-2"), afterMs: 200 });
    await upstream.requests(2);
    const since = Date.now();
    byReset.leave();
    await byAbort;
    const answers = await Promise.all(["held-3", "held-4", "held-5"].map((id) => worker.ask("/call", order(id))));
    return { answers, tookMs: Date.now() - since };
  }));
  for (const { answers, tookMs } of served) {
    assert.ok(answers.every(({ status }) => status === 200), JSON.stringify(answers));
    assert.ok(tookMs > 4_900 && tookMs < 500 + LEASE_MS + SLACK_MS, `${tookMs} ms`);
  }
});

test("nothing is lost when requests that wait for their turns are dropped: the others have theirs when they were told to, or sooner", async (t) => {
  const guard = { name: "dropped turns", rateLimiter: { rate: 1, interval: "1s", burst: 1, wait: "20s", queue: 4 } };
  await Promise.all(Object.values(RUNTIMES).map(async ({ worker, deaf }) => {
    const { url } = await startUpstream(t, ok);
    const order = (id) => ({ guard, url, id: `dropped-${id}`, deaf });
    const calls = [];
    const leaving = [];
    for (let turn = 0; turn < 5; turn++) {
      if (turn === 1) leaving.push(client(worker.origin, "/call", order(turn)));
      else if (turn === 3) leaving.push(worker.ask("/abandon", { ...order(turn), afterMs: 50 }));
      else calls.push(worker.ask("/call", order(turn)));
      await until(async () => (await worker.ask("/")).came.includes(`dropped-${turn}`));
    }
    leaving[0].leave();
    const answers = await Promise.all([...calls, leaving[1]]);
    assert.ok(answers.slice(0, 3).every(({ status }) => status === 200), JSON.stringify(answers));
    const { starts } = await story(worker.ask, "dropped");
    assert.deepEqual(starts.map(({ id }) => id), ["dropped-0", "dropped-2", "dropped-4"]);
    starts.forEach(({ at }, place) => {
      // Their own permits come every other second, and those of the dead are theirs too, once nobody waits for the dead.
      const afterMs = at - starts[0].at;
      assert.ok(afterMs >= place * 1_000 && afterMs < place * 2_000 + SLACK_MS, `${afterMs} ms after the first`);
    });
  }));
});

// ——— helpers ———

function named(prefix, count) {
  return Array.from({ length: count }, (_, number) => `${prefix}-${number}`);
}
