// Drives a call: asks the engine, does what it says, tells it how that ended. Nothing here decides.
//
// Most calls are one attempt that succeeds, in a stack where only the caller can end it early. That is the plain shape
// below: two verbs, and no promise, controller or timer of our own. Whatever else the engine says makes it a race
// (race.ts), which can do everything.

import { reasonOf } from "./body.js";
import { Attempt, Call, FULFILLED, REJECTED, type Operation, type Site } from "./call.js";
import { DONE, SEND, UNGUARDED } from "./engine.js";
import { brandOf } from "./errors.js";
import { STOP_REASONS } from "./generated/vocabulary.js";
import { classified, isResponse, outcomeOfError, outcomeOfValue, retryAfterOfError, TIMEOUT } from "./outcome.js";
import { Race } from "./race.js";
import { tell } from "./report.js";
import type { Settled, StopReason } from "./types.js";

export function drive<T>(
  site: Site, operation: Operation<T>, key: string | null, flags: number, timeoutMs: number, cost: number,
  signal: AbortSignal | undefined, racing: boolean,
): Promise<T> {
  if (signal?.aborted) return Promise.reject(reasonOf(signal));
  const decision = site.engine.admit(site.stack, key, flags, timeoutMs, cost);
  const call = new Call(site, operation, key, signal, racing);
  return decision === FIRST_ATTEMPT && !racing ? plain(call) : new Race(call, decision).promise;
}

function plain<T>(call: Call<T>): Promise<T> {
  const attempt = new Attempt(call, 1, call.startedAt);
  let result: PromiseLike<T> | T;
  try {
    result = call.operation(attempt);
  } catch (error) {
    result = Promise.reject(error);
  }
  return (result instanceof Promise ? result : Promise.resolve(result)).then(
    (value) => plainEnd(attempt, FULFILLED, value) as T,
    (error) => plainEnd(attempt, REJECTED, error) as T,
  );
}

function plainEnd<T>(attempt: Attempt<T>, state: number, result: unknown): unknown {
  const { call } = attempt;
  if (state === REJECTED && call.signal?.aborted) {
    const reason = reasonOf(call.signal);
    leave(call, [1], reason);
    throw reason;
  }
  attempt.state = state;
  attempt.result = result;
  const decision = settle(attempt);
  if (decision !== FIRST_IS_DONE) return new Race(call, decision, attempt).promise;
  report(call, result, 1, STOP_REASONS[call.site.engine.reason]!);
  if (state === REJECTED) throw result;
  return result;
}

// ——— steps that both shapes share ———

/** Tells the engine how an attempt ended. A call of another epoch is told to go on by itself. */
export function settle<T>(attempt: Attempt<T>): number {
  const { call, state, result } = attempt;
  const { engine, classify } = call.site;
  let outcome: number;
  let retryAfterMs = -1;
  if (state === FULFILLED) {
    const said = classify && classified(classify, { ok: true, value: result }, attempt.attempt);
    outcome = said ?? outcomeOfValue(result);
    if (outcome >= 400 && isResponse(result)) retryAfterMs = engine.retryAfterOf(result);
  } else {
    const said = classify && classified(classify, { ok: false, error: result } satisfies Settled, attempt.attempt);
    outcome = said ?? outcomeOfError(result);
    retryAfterMs = retryAfterOfError(result);
  }
  if (call.epoch !== engine.epoch) return UNGUARDED;
  return engine.settle(call.handle, attempt.attempt, outcome, retryAfterMs, attempt.latencyMs);
}

/**
 * The caller is gone. What runs is given up without evidence, unless the caller is an outer stack whose time was up: that
 * is a timeout for whoever stands inside it, or an inner breaker would never see a stalled upstream.
 */
export function leave<T>(call: Call<T>, running: readonly number[], reason: unknown): void {
  const { engine } = call.site;
  if (call.epoch !== engine.epoch) return;
  if (brandOf(reason) === "TimeoutError") for (const attempt of running) engine.settle(call.handle, attempt, TIMEOUT, -1, -1);
  if (call.epoch === engine.epoch) engine.cancel(call.handle);
}

export function report<T>(call: Call<T>, result: unknown, attempts: number, stopReason: StopReason): void {
  if (typeof result !== "object" || result === null || !(result instanceof Error || isResponse(result))) return;
  const { site, key } = call;
  const { engine, stack } = site;
  tell(result, { attempts, elapsedMs: Math.max(0, engine.now - call.startedAt), stopReason, stack: stack.name, key });
}

const FIRST_ATTEMPT = SEND | (1 << 3);
const FIRST_IS_DONE = DONE | (1 << 3);
