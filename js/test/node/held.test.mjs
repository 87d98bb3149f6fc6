// Slots that are held until the body ends, over real bodies: callers that leave, responses that are forgotten.

import assert from "node:assert/strict";
import { forbear } from "forbear";
import { test } from "../support/test.mjs";
import { ok, stallBody, startUpstream } from "../support/upstream.mjs";
import { runProgram } from "./support.mjs";

let guards = 0;

for (const timeout of [{}, { timeout: {} }]) {
  for (const reads of ["nothing", "a beginning", "and waits"]) {
    test(`a caller that leaves gives the slot back at once (reads ${reads}${timeout.timeout ? ", racing" : ""})`, async (t) => {
      const upstream = await startUpstream(t, stallBody(), ok);
      const guard = forbear({ name: `left ${++guards}`, ...timeout, bulkhead: { concurrency: 1, release: "body" } });
      const controller = new AbortController();
      const reader = (await guard.fetch(upstream.url, { signal: controller.signal })).body.getReader();
      if (reads !== "nothing") assert.equal(new TextDecoder().decode((await reader.read()).value), "begun");
      const waiting = reads === "and waits" ? assert.rejects(reader.read(), { message: "gone" }) : undefined;
      await assert.rejects(guard.fetch(upstream.url), { reason: "bulkhead-full" });
      controller.abort(new Error("gone"));
      assert.equal(await (await guard.fetch(upstream.url)).text(), "fine");
      await waiting;
      await assert.rejects(reader.read(), { message: "gone" });
      await upstream.seen[0].left;
    });
  }
}

test("a body of fetch's can be read into one's own buffers, and its response is a clone's that says where it is from", async (t) => {
  const upstream = await startUpstream(t, ok);
  const guard = forbear({ name: "buffers", bulkhead: { concurrency: 1, release: "body" } });
  const response = await guard.fetch(upstream.url);
  const clone = response.clone();
  assert.deepEqual([clone.url, clone.type], [upstream.url, (await fetch(upstream.url)).type]);
  assert.equal(await clone.text(), "fine");
  const reader = response.body.getReader({ mode: "byob" });
  let text = "";
  for (let piece; !(piece = await reader.read(new Uint8Array(3))).done; ) text += new TextDecoder().decode(piece.value);
  assert.equal(text, "fine");
  assert.equal(await (await guard.fetch(upstream.url)).text(), "fine");
});

test("responses that are dropped unread let their connections go, as fetch's own do", async () => {
  const { code, out, err } = await runProgram("dropped", { flags: ["--expose-gc"] });
  assert.deepEqual([code, out, err], [0, "done\n", ""]);
});
