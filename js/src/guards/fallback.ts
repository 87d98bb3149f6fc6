// What a caller gets in place of a failure: what its fallback gives, or a response that says why the call was refused.
// All of this happens after the call has ended: no policy learns of it.

import { discard } from "../call/body.js";
import type { Site } from "../call/call.js";
import type { Refusals, Replace } from "../config/substitutes.js";
import { brandOf, type RejectedError } from "../errors.js";
import { isResponse } from "../http/outcome.js";
import { reportOf, tell } from "../report.js";
import type { Failure, Report } from "../types.js";

/** What stands in for failures of a call. */
export interface Substitutes {
  readonly replace: Replace | undefined;
  readonly refusals: Refusals | undefined;
}

/** The call's promise, with what stands in for its failure. */
export function substituted<T>(
  promise: Promise<T>, site: Site, key: string | null, signal: AbortSignal | undefined, { replace, refusals }: Substitutes,
): Promise<T> {
  const after = async (result: unknown, thrown: boolean): Promise<T> => {
    const report = reportOf(result);
    if (hasFailed(result, thrown, report, signal)) {
      const given = replace && (await replaced(replace, failureOf(site, key, signal, result, thrown, report), site, report));
      if (given !== undefined) return given as T;
      const refusal = refusals && refusalAsResponse(result, refusals);
      if (refusal !== undefined) {
        if (report !== undefined) tell(refusal, report);
        return refusal as T;
      }
    }
    if (thrown) throw result;
    return result as T;
  };
  return promise.then((value) => after(value, false), (error) => after(error, true));
}

/** Whether a call was refused, ran out of time, or out of repeats. What its caller did is none of these. */
function hasFailed(result: unknown, thrown: boolean, report: Report | undefined, signal: AbortSignal | undefined): boolean {
  if (thrown && signal?.aborted === true && signal.reason === result) return false;
  if (report === undefined) return thrown; // a value, or what was thrown and is no Error
  const { stopReason } = report;
  if (stopReason === "unguarded") return thrown || (isResponse(result) && result.status >= 500);
  return !NO_FAILURE.includes(stopReason);
}

const NO_FAILURE = ["completed", "not-retryable", "cancelled"];

function failureOf(
  { engine, stack: { name: stack } }: Site, key: string | null, signal: AbortSignal | undefined, result: unknown, thrown: boolean, report: Report | undefined,
): Failure {
  const response = !thrown && isResponse(result) ? result : undefined;
  const { reason, policy, retryAfterMs }: Partial<RejectedError> = brandOf(result) === undefined ? {} : (result as RejectedError);
  return {
    reason: reason ?? report?.stopReason, policy, error: thrown ? result : undefined, response,
    retryAfterMs: report?.retryAfterMs ?? retryAfterMs ?? (response && askedBy(response, engine)),
    attempts: report?.attempts, stack, key, signal,
  };
}

function askedBy(response: Response, engine: Site["engine"]): number | undefined {
  try {
    const ms = engine.retryAfterOf(response);
    return ms < 0 ? undefined : ms;
  } catch {
    return undefined; // a host without a clock
  }
}

/** What the caller's function gives. A response that it leaves aside is not read any more. */
async function replaced(replace: Replace, failure: Failure, { engine: { events }, stack }: Site, report: Report | undefined): Promise<unknown> {
  const { response, key, policy, reason } = failure;
  let given: unknown;
  try {
    given = await replace(failure);
  } catch (error) {
    discard(response);
    throw error;
  }
  if (given === undefined) return undefined;
  if (given !== response) discard(response);
  if (isResponse(given) && report !== undefined) tell(given, { ...report, fallback: true });
  if (events.listening) events.tell(stack, "fallback", { key, policy, reason });
  return given;
}

/** A refusal as a response: 503, or 504 where time was up, as the middleware has them. */
function refusalAsResponse(error: unknown, { shouldRetry }: Refusals): Response | undefined {
  const brand = brandOf(error);
  if (brand !== "RejectedError" && brand !== "TimeoutError") return undefined;
  const { reason, policy, retryAfterMs } = error as Partial<RejectedError>;
  const isLate = reason === undefined || reason === "deadline-exceeded";
  const headers = new Headers();
  if (reason !== undefined) headers.set("forbear-refused", `${reason};policy=${policy}`);
  if (retryAfterMs !== undefined) headers.set("retry-after", String(Math.ceil(retryAfterMs / 1_000)));
  if (shouldRetry !== undefined) headers.set("x-should-retry", String(shouldRetry));
  return new Response(null, { status: isLate ? 504 : 503, headers });
}
