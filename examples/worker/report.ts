// The account of both lanes that GET /stats gives.

import type { Env } from "./env";
import { readingsOf, type Chosen } from "./guards";
import { laneStats } from "./stats";
import { look } from "./upstream";

/** `upstreamCalls` is the upstream's own count, null where it cannot be asked. */
export async function stats(env: Env, chosen: Chosen) {
  const { counts, fault } = await look(env);
  const readings = readingsOf(chosen, env.UPSTREAM);
  return {
    fault,
    plain: { ...laneStats("plain"), upstreamCalls: counts?.plain ?? null, breaker: null },
    guarded: { ...laneStats("guarded"), upstreamCalls: counts?.guarded ?? null, breaker: circuit(readings), policies: chosen.choice, readings },
  };
}

/** The circuit in short. */
export function circuit({ breaker }: ReturnType<typeof readingsOf>) {
  return breaker && { state: breaker.state, retryAfterMs: breaker.retryAfterMs ?? null };
}
