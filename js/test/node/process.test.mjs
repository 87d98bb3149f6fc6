// What forbear does to the process it runs in: it ends when its work is done, not earlier and not later, and nothing is
// left behind in it.

import assert from "node:assert/strict";
import { forbear } from "forbear";
import { test } from "../support/test.mjs";
import { ok, endless, stallHeaders, startUpstream, status } from "../support/upstream.mjs";
import { runProgram } from "./support.mjs";

test("a process ends right after its last call, whatever its timeouts are", async (t) => {
  const { url } = await startUpstream(t, ok);
  const { code, err, tailMs } = await runProgram("ends", { args: [url] });
  assert.deepEqual([code, err], [0, ""]);
  assert.ok(tailMs < 1_500, `it lived on for ${tailMs} ms`);
});

const WAITS = { backoff: "fine", backoffBeforeDeadline: "fine", attempt: "TimeoutError", deadline: "TimeoutError", again: "TimeoutError", shortAfterLong: "TimeoutError" };
for (const [wait, word] of Object.entries(WAITS)) {
  test(`a process does not end while a call waits (${wait})`, async () => {
    const { code, out, err } = await runProgram("waits", { args: [wait] });
    assert.deepEqual([code, err], [0, ""]);
    const [said, tookMs] = out.trim().split(" ");
    assert.equal(said, word);
    assert.ok(Number(tookMs) >= 395 && Number(tookMs) < 3_000, `${tookMs} ms`);
  });
}

for (const what of ["nothing", "begins", "waits"]) {
  test(`a process does not wait for bodies that hold slots and that nobody reads to their end (${what})`, async () => {
    const { code, err, tailMs } = await runProgram("unread", { args: [what] });
    assert.deepEqual([code, err], [0, ""]);
    assert.ok(tailMs < 1_500, `it lived on for ${tailMs} ms`);
  });
}

test("no rejection is left unhandled, however calls end", async (t) => {
  const [failing, stalling] = [await startUpstream(t, status(503), endless(500)), await startUpstream(t, stallHeaders)];
  const { code, out, err } = await runProgram("strict", { flags: ["--unhandled-rejections=strict"], args: [failing.url, stalling.url] });
  assert.deepEqual([code, out, err], [0, "done\n", ""]);
});

test("a thousand calls on one signal keep one listener on it, and none when they are over", async (t) => {
  const { url } = await startUpstream(t, ok);
  const { code, out, err } = await runProgram("listeners", { flags: ["--expose-gc"], args: [url] });
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(JSON.parse(out), { most: 1, left: 0 });
});

test("neither timeouts nor the caller's signal are lost to garbage collection", async (t) => {
  const { url } = await startUpstream(t, stallHeaders);
  const { code, out, err } = await runProgram("collected", { flags: ["--expose-gc"], args: [url] });
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(JSON.parse(out), [["TimeoutError", "attemptTimeout"], ["TimeoutError", "deadline"], ["TimeoutError", null], ["TimeoutError", null]]);
});

test("two hundred calls whose first answers are discarded leave no sockets behind", async (t) => {
  let turn = 0;
  const upstream = await startUpstream(t, (...given) => (turn++ % 2 === 0 ? endless(503) : ok)(...given));
  const guard = forbear({ name: "sockets", retry: { budget: false, backoff: { base: 1, cap: 1 } }, timeout: {} });
  for (let i = 0; i < 200; i++) assert.equal(await (await guard.fetch(upstream.url)).text(), "fine");
  assert.equal(upstream.seen.length, 400);
  await Promise.all(upstream.seen.filter((_, i) => i % 2 === 0).map(({ left }) => left));
  assert.ok(upstream.connections.size <= 2, `${upstream.connections.size} connections are open`);
});
