// The steps that both shapes of a call (driver.ts, race.ts) take.

import { ALONE, FULFILLED, type Attempt, type Call } from "./call.js";
import { UNGUARDED } from "../engine/decision.js";
import type { Engine } from "../engine/engine.js";
import { brandOf } from "../errors.js";
import { classified, GIVEN_UP, retryAfterOfError, SUCCESS, TRANSIENT } from "../http/outcome.js";
import { tell } from "../report.js";
import type { Classify, StopReason } from "../types.js";

/** Begins an attempt: makes a promise of whatever it does. */
export function start<T>(attempt: Attempt<T>): Promise<T> {
  try {
    const result = attempt.call.work.begin(attempt);
    return result instanceof Promise ? result : Promise.resolve(result);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Tells the engine that a prepared attempt is sent now, and who may repeat what is sent. */
export function leaves<T>({ call, attempt }: Attempt<T>, flags: number): void {
  const { engine } = call.site;
  try {
    if (call.epoch === engine.epoch) engine.sent(call.handle, attempt, flags);
  } catch {
    // A host's clock that fails: the attempt counts from its start.
  }
}

/** Tells the engine that a call's body can be sent again, now that it is kept. */
export function bodyKept<T>({ site: { engine }, epoch, handle }: Call<T>): void {
  if (epoch === engine.epoch) engine.bodyKept(handle);
}

/**
 * Tells the engine how an attempt ended. A call of another epoch is told to go on by itself. Never throws, whatever the result
 * (getters and proxies that throw) and whatever the host's clock: the caller must get what the attempt brought.
 */
export function settle<T>(attempt: Attempt<T>): number {
  const { call, state, result } = attempt;
  const { engine, classify } = call.site;
  const fulfilled = state === FULFILLED;
  let outcome = fulfilled ? SUCCESS : TRANSIENT;
  let retryAfterMs = -1;
  try {
    const said = classify && saidBy(classify, attempt);
    outcome = said ?? call.work.outcomeOf(attempt);
    if (!fulfilled) retryAfterMs = retryAfterOfError(result);
    else if (outcome >= 400 && call.work.isResponse(result)) retryAfterMs = engine.retryAfterOf(result);
  } catch {
    // It cannot be read any further.
  }
  if (call.epoch !== engine.epoch) return UNGUARDED;
  try {
    return engine.settle(call.handle, attempt.attempt, outcome, retryAfterMs, attempt.latencyMs);
  } catch {
    abandon(call);
    return UNGUARDED;
  }
}

/** A classifier that fails is no reason for the call to fail: the built-in rules decide then. */
function saidBy<T>(classify: Classify, { call, state, result, attempt }: Attempt<T>): number | undefined {
  try {
    return classified(classify, state === FULFILLED ? { ok: true, value: result } : { ok: false, error: result }, attempt);
  } catch (error) {
    call.site.engine.events.tell(call.site.stack, "classifyFailed", { key: call.key, policy: undefined, error });
    return undefined;
  }
}

/** Gives up the engine's side of a call that goes on alone. Never throws. */
export function abandon<T>(call: Call<T>): void {
  leave(call, [], undefined);
  call.epoch = ALONE;
}

/**
 * The caller is gone. What runs is given up without evidence, with two exceptions. The caller is an outer stack whose time was
 * up: that is a timeout for whoever stands inside it, or an inner breaker would never see a stalled upstream. Or the attempt has
 * run for so long that the guard takes any abort for a timeout.
 */
export function leave<T>(call: Call<T>, running: readonly Attempt<T>[], reason: unknown): void {
  const { engine, abortLimitMs } = call.site;
  if (call.epoch !== engine.epoch) return;
  try {
    const since = brandOf(reason) === "TimeoutError" ? Infinity : abortLimitMs === Infinity ? -Infinity : engine.host.now() - abortLimitMs;
    for (const { attempt, startedAt } of running) if (startedAt <= since) engine.settle(call.handle, attempt, GIVEN_UP, -1, -1);
    if (call.epoch === engine.epoch) engine.cancel(call.handle);
  } catch {
    // A reason or a host that fails: the call's leases end by themselves.
  }
}

/** How long to wait before the same is tried again, where a budget did not pay and knows. Read before anything else may run. */
export function waitAfter(stopReason: StopReason, engine: Engine): number | undefined {
  return stopReason === "budget-exceeded" ? engine.retryAfterMs : undefined;
}

export function report<T>(call: Call<T>, result: unknown, attempts: number, stopReason: StopReason, retryAfterMs?: number): void {
  const { startedAt, key, site: { engine, stack } } = call;
  if (!isError(result) && !call.work.isResponse(result)) return;
  const told = { attempts, elapsedMs: Math.max(0, engine.now - startedAt), stopReason, stack: stack.name, key };
  tell(result, retryAfterMs === undefined ? told : { ...told, retryAfterMs });
}

function isError(result: unknown): result is Error {
  try {
    return result instanceof Error;
  } catch {
    return false; // a proxy that does not want to be asked
  }
}
