// The account of both lanes that GET /stats gives.

import type { Env } from "./env";
import { guard } from "./guard";
import { laneStats } from "./stats";
import { look } from "./upstream";

/** What the circuit breaker says of the upstream right now. */
export function breakerNow(env: Env) {
  const breaker = guard.breaker(env.UPSTREAM);
  return { state: breaker.state, retryAfterMs: breaker.retryAfterMs ?? null };
}

/** `upstreamCalls` is the upstream's own count, null where it cannot be asked. */
export async function stats(env: Env) {
  const { counts, fault } = await look(env);
  return {
    fault,
    plain: { ...laneStats("plain"), upstreamCalls: counts?.plain ?? null, breaker: null },
    guarded: { ...laneStats("guarded"), upstreamCalls: counts?.guarded ?? null, breaker: breakerNow(env) },
  };
}
