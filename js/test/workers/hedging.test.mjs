// Attempts beside each other, in requests of a real runtime: whoever loses is really given up, whoever leaves leaves nothing.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { test } from "../support/test.mjs";
import { hangUp, ok, reset, slow, stallHeaders, startUpstream, status, trickle } from "../support/upstream.mjs";
import { client, until } from "./support/clients.mjs";
import { idle } from "./support/story.mjs";
import { startWorker } from "./support/workerd.mjs";

const HEDGE = { hedge: { after: 100 }, timeout: { attempt: "5s", total: "20s" } };

let worker;
let ask;
before(async () => {
  worker = await startWorker(new URL("waiting.worker.mjs", import.meta.url));
  ask = worker.ask;
});
after(() => worker?.stop());

test("the loser's connection is closed, and the winner's body is whole though it takes its time", async (t) => {
  const upstream = await startUpstream(t, stallHeaders, trickle(20, 20));
  const { status, body } = await ask("/call", { guard: { name: "two", ...HEDGE }, url: upstream.url, id: "two" });
  assert.equal(status, 200);
  assert.equal(body.split(";").length, 21);
  await upstream.seen[0].left;
  assert.equal(upstream.seen.length, 2);
  assert.equal((await ask("/")).inFlight, 0);
});

test("the first attempt may win late: then the hedge is the loser", async (t) => {
  const upstream = await startUpstream(t, slow(400, trickle(5, 20)), stallHeaders);
  const { body } = await ask("/call", { guard: { name: "late", ...HEDGE }, url: upstream.url, id: "late" });
  assert.equal(body.split(";").length, 6);
  await upstream.seen[1].left;
  assert.equal((await ask("/")).inFlight, 0);
});

test("a hedge that waits in line leaves it when the first attempt wins", async (t) => {
  const guard = { name: "line", ...HEDGE, bulkhead: { concurrency: 1, queue: 1 } };
  const open = [];
  const upstream = await startUpstream(t, (response) => open.push(response), ok);
  const first = ask("/call", { guard, url: upstream.url, id: "line-1" });
  await upstream.requests(1);
  await new Promise((resolve) => setTimeout(resolve, 600));
  assert.equal((await ask("/call", { guard, url: upstream.url, id: "line-2" })).reason, "bulkhead-full", "the hedge has the only place");
  open[0].end("fine");
  assert.equal((await first).body, "fine");
  assert.equal((await ask("/call", { guard, url: upstream.url, id: "line-3" })).status, 200);
  assert.equal(upstream.seen.length, 2, "the hedge was never sent");
  assert.equal((await ask("/")).inFlight, 0);
});

test("a client that leaves while two attempts run ends both; one that leaves before the hedge is due has none sent", async (t) => {
  const guard = { name: "gone", ...HEDGE, hedge: { after: 300 } };
  const [early, late] = [await startUpstream(t, stallHeaders), await startUpstream(t, stallHeaders)];
  const [soon, later] = [early, late].map(({ url }) => client(worker.origin, "/call", { guard, url, id: "gone" }));
  await early.requests(1);
  soon.leave();
  await late.requests(2);
  later.leave();
  await Promise.all([...early.seen, ...late.seen].map(({ left }) => left));
  assert.deepEqual([early.seen.length, late.seen.length], [1, 2]);
  await idle(ask);
});

test("five hundred hedged calls against an upstream that is slow, fails and hangs up, some of whose clients leave: all end, nothing is held", async (t) => {
  const guard = {
    name: "many", hedge: { after: 60 }, timeout: { attempt: 400, total: "20s" }, retry: { attempts: 2, budget: false, backoff: { base: 5, cap: 5 } },
    bulkhead: { concurrency: 60, queue: 1_000, queueTimeout: false },
  };
  const moods = [ok, slow(30), slow(90), slow(200), status(503), reset, hangUp, stallHeaders];
  let open = 0;
  let most = 0;
  let turn = 0;
  const upstream = await startUpstream(t, (response, ...rest) => {
    most = Math.max(most, ++open);
    response.on("close", () => open--);
    moods[(turn = (turn * 5 + 3) % 4_093) % moods.length](response, ...rest);
  });
  const requests = Array.from({ length: 20 }, (_, request) => ({ guard, url: upstream.url, ids: Array.from({ length: 25 }, (_, call) => `many-${request}-${call}`) }));
  const leaving = requests.splice(0, 4).map((order) => client(worker.origin, "/calls", order));
  const staying = requests.map((order) => ask("/calls", order));
  for (const { leave } of leaving) {
    await new Promise((resolve) => setTimeout(resolve, 60));
    leave();
  }
  const answers = (await Promise.all(staying)).flat();
  assert.equal(answers.length, 400);
  const how = (answer) => answer.status ?? answer.error;
  assert.deepEqual([...new Set(answers.map(how))].filter((what) => ![200, 503, "Error", "TypeError", "TimeoutError"].includes(what)), []);
  assert.ok(answers.filter(({ body }) => body === "fine").length > 200, JSON.stringify(answers.map(how)));
  t.diagnostic(`${upstream.seen.length} attempts, ${most} at once, ${answers.filter(({ body }) => body === "fine").length} of 400 fine`);
  await idle(ask);
  await until(() => open === 0);
});
