// One call through either lane, and what became of it.

import { RejectedError, reportOf } from "forbear";
import type { Env } from "./env";
import { guard } from "./guard";
import type { Lane } from "./stats";
import { workRequest } from "./upstream";

/** What happened to one call. `status` is the upstream's, null when no response came. */
export interface CallRecord {
  lane: Lane;
  /** `ok`: a 2xx. `failed`: any other response, or an error. `refused`: forbear did not let the call (or its last attempt) out. */
  outcome: "ok" | "failed" | "refused";
  status: number | null;
  error: string | null;
  /** Of a refusal: why, which policy, and when asking again makes sense. */
  reason: string | null;
  policy: string | null;
  retryAfterMs: number | null;
  /** Of the guarded lane: how many attempts, and why there were no more. */
  attempts: number;
  stopReason: string | null;
  elapsedMs: number;
  /** Requests this call sent to the upstream. */
  upstreamCalls: number;
}

export async function callPlain(env: Env): Promise<CallRecord> {
  return record("plain", env, (send, url, init) => send(url, init));
}

export async function callGuarded(env: Env): Promise<CallRecord> {
  // `with` exchanges what exists only inside a request; here a fetch that counts what is really sent.
  return record("guarded", env, (send, url, init) => guard.with({ fetch: send }).fetch(url, init));
}

type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

async function record(lane: Lane, env: Env, call: (send: Fetch, url: string, init: RequestInit) => Promise<Response>): Promise<CallRecord> {
  let upstreamCalls = 0;
  const send: Fetch = (input, init) => {
    upstreamCalls += 1;
    return fetch(input, init);
  };
  const startedAt = performance.now();
  let result: Partial<CallRecord>;
  try {
    const response = await call(send, ...workRequest(env, lane));
    result = { outcome: response.ok ? "ok" : "failed", status: response.status, ...told(response) };
    await response.arrayBuffer();
  } catch (error) {
    result = { ...failure(error), ...told(error) };
  }
  return {
    lane, outcome: "failed", status: null, error: null, reason: null, policy: null, retryAfterMs: null,
    attempts: upstreamCalls, stopReason: null, ...result,
    elapsedMs: Math.round((performance.now() - startedAt) * 10) / 10,
    upstreamCalls,
  };
}

function failure(error: unknown): Partial<CallRecord> {
  if (error instanceof RejectedError) {
    return { outcome: "refused", error: error.message, reason: error.reason, policy: error.policy, retryAfterMs: error.retryAfterMs ?? null };
  }
  return { outcome: "failed", error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
}

/** The guard's own account of the call. A plain fetch has none. */
function told(result: unknown): Partial<CallRecord> {
  const report = reportOf(result);
  return report ? { attempts: report.attempts, stopReason: report.stopReason } : {};
}
