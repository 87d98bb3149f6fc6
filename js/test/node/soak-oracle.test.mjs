// The soak's judge sees what it is there to see.

import assert from "node:assert/strict";
import { faultsOf } from "../soak/oracle.mjs";
import { FAULTS } from "../soak/faults.mjs";
import { watchPauses } from "../soak/pauses.mjs";
import { test } from "../support/test.mjs";

const order = { id: "7", guard: "plain", method: "GET", call: {}, read: "text" };

/** A call with these sends, each met by the fault of a name, that ended with the last one's answer. */
function called(asked, ...met) {
  const sends = met.map((name, i) => ({ at: 10 * i, number: i + 1, fault: FAULTS.find((fault) => fault.name === name), body: undefined }));
  const tries = sends.map(() => ({ status: 200, tookMs: 5 }));
  return { order: { ...order, ...asked }, sends, answer: { tookMs: 50, tries, status: 200, report: { attempts: sends.length, stopReason: "completed" } }, stepsBack: 0, pausedMs: 0 };
}

test("what may be sent again depends on the request and on what was sent before", () => {
  const again = ["sent again though it must not be"];
  for (const [asked, first, broken] of [
    [{}, "fails", []],
    [{ method: "POST" }, "fails", again],
    [{ method: "POST", key: "k" }, "fails", []],
    [{ method: "POST" }, "has too many requests", []],
    [{ method: "GET", call: { idempotent: false } }, "is too early", again],
    [{ method: "POST", call: { idempotent: false } }, "is not reached by its gateway", []],
    [{ call: { retry: false } }, "fails", again],
    [{ method: "POST" }, "redirects to what asks to come again", again],
    [{ method: "PUT", body: "stream" }, "fails", []],
    [{ method: "POST", body: "request" }, "has too many requests", again],
    [{}, "answers", again],
    [{}, "asks for eternity", again],
  ]) {
    assert.deepEqual(faultsOf(called(asked, first, "answers")), broken, `${JSON.stringify(asked)} after "${first}"`);
  }
});

test("an attempt that was given up may be repeated if its request may, and one that the runtime repeats is not the guard's", () => {
  const call = called({}, "answers", "answers");
  call.answer.tries[0] = { error: "TimeoutError: attempt 1 took too long", tookMs: 400 };
  assert.deepEqual(faultsOf(call), []);
  call.order.method = "POST";
  assert.deepEqual(faultsOf(call), ["sent again though it must not be"]);
  for (const send of call.sends) send.number = 1;
  assert.deepEqual(faultsOf(call), []);
});

test("a hedge may stand beside what is idempotent, but for a key alone", () => {
  assert.deepEqual(faultsOf(called({ guard: "hedged" }, "answers", "answers")), []);
  assert.deepEqual(faultsOf(called({ guard: "hedged", method: "POST", key: "k" }, "answers", "answers")), ["sent again though it must not be"]);
  assert.deepEqual(faultsOf(called({ guard: "hedged", method: "POST", key: "k", call: { idempotent: true } }, "answers", "answers")), []);
});

test("every other rule is broken by what it forbids", () => {
  const broken = (change, asked = {}, ...met) => {
    const call = called(asked, ...(met.length ? met : ["answers"]));
    change(call);
    return faultsOf(call);
  };
  assert.deepEqual(broken(() => {}), []);
  assert.deepEqual(broken(() => {}, {}, "fails", "fails", "fails", "answers"), ["sent more often than there are attempts"]);
  assert.deepEqual(broken(() => {}, {}, "is unavailable for a second", "answers"), ["sent again sooner than the upstream asked"]);
  assert.deepEqual(broken(({ sends }) => (sends[0].body = "body of 8"), { method: "PUT", body: "text" }), ["sent another body"]);
  assert.deepEqual(broken(({ answer }) => (answer.tookMs = Infinity)), ["ended too late"]);
  assert.deepEqual(broken(({ answer }) => (answer.whose = "8")), ["ended with an answer to somebody else"]);
  const error = { name: "RejectedError", reason: "circuit-open", message: "circuit-open" };
  assert.deepEqual(broken(({ answer }) => (answer.error = error)), ["refused by a guard that has nothing to refuse"]);
  assert.deepEqual(broken(({ answer }) => (answer.error = { ...error, name: "Error", message: "Cannot perform I/O on behalf of a different request." })), ["ended with an error that nobody knows"]);
  const twice = ({ answer }) => Object.assign(answer, { status: undefined, tries: [{ error: "TypeError" }, { error: "TypeError" }], report: { attempts: 2 } });
  assert.deepEqual(broken(twice, { guard: "mistaken", mistake: "a body on GET" }), ["a caller's mistake was repeated"]);
});

test("a call may end as much later as its machine was paused, and a busy machine's late beats are no pause", () => {
  let now = 0;
  let beat;
  const pauses = watchPauses({ now: () => now, every: (act) => (beat = act), end: () => {} });
  for (const late of [0, 300, 900, 0]) {
    now += 100 + late;
    beat();
  }
  assert.equal(pauses.ms(), 0);
  now += 100 + 7_000;
  assert.equal(pauses.ms(), 7_000, "also before the timer of the beat has rung");
  now += 90;
  beat();
  assert.equal(pauses.ms(), 7_000);

  const call = called({}, "answers");
  call.answer.tookMs = 9_000;
  assert.deepEqual(faultsOf(call), ["ended too late"]);
  call.pausedMs = pauses.ms();
  assert.deepEqual(faultsOf(call), []);
});
