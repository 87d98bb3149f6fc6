// One call through either lane, and what became of it.

import { RejectedError, reportOf, type Guard } from "forbear";
import type { Env } from "./env";
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
  /** How many attempts were sent beside one that still ran, and whether the result is one of theirs. */
  hedges: number;
  hedgeWon: boolean;
  elapsedMs: number;
  /** Requests this call sent to the upstream. */
  upstreamCalls: number;
}

export async function callPlain(env: Env): Promise<CallRecord> {
  return record("plain", env, (send, url, init) => send(url, init));
}

export async function callGuarded(env: Env, guard: Guard): Promise<CallRecord> {
  // `with` exchanges what exists only inside a request; here a fetch that counts what is really sent.
  return record("guarded", env, (send, url, init) => guard.with({ fetch: send }).fetch(url, init));
}

type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

async function record(lane: Lane, env: Env, call: (send: Fetch, url: string, init: RequestInit) => Promise<Response>): Promise<CallRecord> {
  const sent = counting();
  const startedAt = performance.now();
  let result: Partial<CallRecord>;
  try {
    const response = await call(sent.send, ...workRequest(env, lane));
    result = { outcome: response.ok ? "ok" : "failed", status: response.status, hedgeWon: sent.byHedges.has(response), ...told(response) };
    await response.arrayBuffer();
  } catch (error) {
    result = { ...failure(error), ...told(error) };
  }
  return {
    lane, outcome: "failed", status: null, error: null, reason: null, policy: null, retryAfterMs: null,
    attempts: sent.count, stopReason: null, hedges: sent.hedges, hedgeWon: false, ...result,
    elapsedMs: Math.round((performance.now() - startedAt) * 10) / 10,
    upstreamCalls: sent.count,
  };
}

/** A fetch that counts what it sends, and knows what was sent while another attempt still ran: that is a hedge. */
function counting() {
  const running = new Set<RequestInit | undefined>();
  const sent = {
    count: 0,
    hedges: 0,
    byHedges: new Set<Response>(),
    async send(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
      const hedge = [...running].some((other) => !other?.signal?.aborted);
      sent.count += 1;
      if (hedge) sent.hedges += 1;
      running.add(init);
      try {
        const response = await fetch(input, init);
        if (hedge) sent.byHedges.add(response);
        return response;
      } finally {
        running.delete(init);
      }
    },
  };
  return sent;
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
