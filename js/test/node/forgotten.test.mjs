// Calls that are never heard of again, more of them than there are keys.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forbear } from "forbear";
import { runProgram } from "./support.mjs";

const KEYS = 1_024;

function crowded() {
  let time = 1_000;
  const host = { now: () => time, arm: () => () => {} }; // their timers are gone with them
  const guard = forbear({ timeout: { attempt: 100 }, breaker: {} }, { host });
  const events = [];
  guard.on("*", ({ type }) => events.push(type));
  for (let i = 0; i < KEYS; i++) void guard.execute(() => new Promise(() => {}), { key: `forgotten ${i}` });
  time += 3_600_000; // all leases have ended, and nobody waits for late evidence any more
  return { guard, events };
}

test("their keys make room for new ones, whose circuits are judged", async () => {
  const { guard } = crowded();
  await guard.execute(() => 1, { key: "new" });
  assert.equal(guard.breaker("new").calls, 1);
});

test("that every key is busy is told", async () => {
  const { guard, events } = crowded();
  await guard.execute(() => 1, { key: "one" });
  await guard.execute(() => 1, { key: "another" });
  assert.ok(events.includes("keysFull") || guard.breaker("another").calls === 1);
});

test("keys are kept, and not the URLs that they were cut from", async () => {
  const { code, out, err } = await runProgram("names", { flags: ["--expose-gc"] });
  assert.deepEqual([code, err], [0, ""]);
  assert.ok(Number(out) < 10, `${out} MB of a hundred`);
});
