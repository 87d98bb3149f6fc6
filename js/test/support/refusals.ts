// How to be refused, for each reason there is, by a guard on a fake host.

import type { CallOptions, Config, Guard, RefusalReason } from "../../src/index.js";
import type { FakeHost } from "./host.js";
import { status, Upstream } from "./upstream.js";

export interface Refusal {
  reason: RefusalReason;
  policy: string;
  /** The refusing policy's word, where it can give one. */
  retryAfterMs?: number;
  config: Config;
  /** What the refused call must be. */
  call?: CallOptions;
  /** How often the upstream fails before the next call is refused; otherwise one call hangs there. */
  failures?: number;
}

const bulkhead = { concurrency: 1 };

export const REFUSALS: readonly Refusal[] = [
  { reason: "circuit-open", policy: "breaker", retryAfterMs: 5_000, config: { breaker: { consecutiveFailures: 1, openFor: "5s", openJitter: 0 } }, failures: 1 },
  { reason: "throttled", policy: "throttler", config: { throttler: { minRequests: 10 } }, failures: 10 },
  { reason: "concurrency-limited", policy: "concurrencyLimiter", config: { concurrencyLimiter: { initial: 1, min: 1 } } },
  { reason: "bulkhead-full", policy: "bulkhead", config: { bulkhead } },
  { reason: "queue-timeout", policy: "bulkhead", config: { bulkhead: { ...bulkhead, queue: 1, queueTimeout: 100 } } },
  { reason: "deadline-exceeded", policy: "deadline", config: { bulkhead: { ...bulkhead, queue: 1 }, timeout: { total: 100 } } },
  { reason: "rate-limited", policy: "rateLimiter", retryAfterMs: 1_000, config: { rateLimiter: { rate: 1 } } },
  { reason: "oversized", policy: "rateLimiter", config: { rateLimiter: { rate: 1 } }, call: { cost: 2 } },
];

/** Fails as often as the refusal needs it, and then hangs. */
export function upstreamFor({ failures = 0 }: Refusal): Upstream {
  return new Upstream(...Array.from({ length: failures }, () => status(500)), "hang");
}

/** Brings the guard to where it refuses the next call: at once, or when that has waited for 100 ms. */
export async function provoke({ failures }: Refusal, guard: Guard, host: FakeHost, url: string): Promise<void> {
  for (let failure = 0; failure < (failures ?? 0); failure++) await guard.fetch(url);
  if (failures === undefined) void guard.fetch(url).catch(() => {});
  await host.pass(0);
}
