// Drives a call: asks the engine, does what it says, tells it how that ended. Nothing here decides.
//
// Most calls are one attempt that succeeds, in a stack where only the caller can end it early. That is the plain shape
// below: two verbs, and no promise, controller or timer of our own. Whatever else the engine says makes it a race
// (race.ts), which can do everything.

import { reasonOf } from "./body.js";
import { Attempt, Call, FULFILLED, REJECTED, type Site, type Work } from "./call.js";
import { FIRST_DONE, FIRST_SENT } from "../engine/decision.js";
import { STOP_REASONS } from "../generated/vocabulary.js";
import { Race } from "./race.js";
import { leave, report, settle, start, waitAfter } from "./steps.js";

export function drive<T>(
  site: Site, work: Work<T>, key: string | null, flags: number, timeoutMs: number, cost: number,
  signal: AbortSignal | undefined, racing: boolean,
): Promise<T> {
  if (signal?.aborted) return Promise.reject(reasonOf(signal));
  const decision = site.engine.admit(site.stack, key, flags, timeoutMs, cost);
  const call = new Call(site, work, key, signal, racing, timeoutMs);
  if (racing || decision !== FIRST_SENT) return new Race(call, decision).promise;
  const attempt = new Attempt(call, 1, call.startedAt);
  return start(attempt).then(
    (value) => end(attempt, FULFILLED, value) as T,
    (error) => end(attempt, REJECTED, error) as T,
  );
}

/** The end of a plain call's attempt. */
function end<T>(attempt: Attempt<T>, state: number, result: unknown): unknown {
  const { call } = attempt;
  if (state === REJECTED && call.signal?.aborted) {
    const reason = reasonOf(call.signal);
    leave(call, [attempt], reason);
    throw reason;
  }
  attempt.state = state;
  attempt.result = result;
  const decision = settle(attempt);
  if (decision !== FIRST_DONE) return new Race(call, decision, attempt).promise;
  if (typeof result === "object") { // nothing else can carry a report
    const { engine } = call.site;
    const reason = STOP_REASONS[engine.reason]!;
    report(call, result, 1, reason, waitAfter(reason, engine));
  }
  if (state === REJECTED) throw result;
  return result;
}
