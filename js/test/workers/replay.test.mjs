// Bodies that can be read only once, sent again by workerd: a script's own, and those that come in and are passed on.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { replayScenarios } from "../support/replay.mjs";
import { test } from "../support/test.mjs";
import { reset, startUpstream, status } from "../support/upstream.mjs";
import { startWorker } from "./support/workerd.mjs";

let worker;
before(async () => {
  worker = await startWorker(new URL("replay.worker.mjs", import.meta.url));
});
after(() => worker?.stop());

replayScenarios({ name: "workerd", perform: (order) => worker.ask("/", order) });

test("a request that comes in with a body is passed on again, with its length", async (t) => {
  const upstream = await startUpstream(t, reset, status(201));
  const response = await fetch(`${worker.origin}/pass`, { method: "PUT", body: "passed on", headers: { "x-upstream": upstream.url } });
  assert.equal(response.status, 201);
  assert.deepEqual(upstream.seen.map(({ body, headers }) => [body, headers["content-length"]]), Array(2).fill(["passed on", "9"]));
  assert.doesNotMatch(worker.log(), /did not read the body|multiple branches/);
});
