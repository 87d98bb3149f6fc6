// Written from the engine's own tables by `npm run generate`; a test holds it to them.

/** One option of one policy. Durations are in milliseconds; `default: null` means off. */
export interface OptionSpec {
  readonly name: string;
  readonly kind: "duration" | "count" | "ratio" | "flag" | "word";
  readonly min: number;
  readonly max: number;
  readonly off: boolean;
  readonly default: number | null;
  readonly words?: readonly string[];
}

/** One kind of event. A field of kind `millis` is −1 when there is none. */
export interface EventSpec {
  readonly name: string;
  readonly fields: readonly { readonly name: string; readonly kind: "count" | "millis" | "word"; readonly words?: readonly string[] }[];
}

/** The policies, by code. */
export const POLICIES = ["deadline", "retry", "budget", "hedge", "breaker", "attemptTimeout"] as const;

/** Why calls end, by code. */
export const STOP_REASONS = ["completed", "not-retryable", "not-repeatable", "body-not-replayable", "attempts-exhausted", "deadline-exceeded", "retry-after-exceeds-deadline", "retry-after-too-long", "budget-exceeded", "refused", "cancelled"] as const;

/** Why calls are refused, by code. */
export const REFUSAL_REASONS = ["circuit-open", "concurrency-limited", "throttled", "bulkhead-full", "rate-limited", "deadline-exceeded", "queue-timeout", "oversized"] as const;

/** What attempts say about the upstream, by code. */
export const VERDICTS = ["success", "answered", "overload", "transient", "timeout", "rejected", "defect", "cancelled"] as const;

/** How an attempt's end crosses, by code; HTTP statuses cross as they are. */
export const OUTCOMES = ["success", "answered", "too-many-requests", "unavailable", "shedding", "transient", "never-sent", "timeout", "rejected", "defect", "cancelled"] as const;

/** Why configurations are refused, by code. */
export const CONFIG_REASONS = ["out-of-range", "conflict", "unknown-option", "unknown-object", "too-many"] as const;

/** The states of a circuit, by code. */
export const BREAKER_STATES = ["closed", "open", "half-open", "forced-open", "disabled"] as const;

/** The options of each policy, in the order of their positions. */
export const OPTIONS: Record<(typeof POLICIES)[number], readonly OptionSpec[]> = {
  deadline: [
    { name: "total", kind: "duration", min: 1, max: 86400000, off: false, default: 30000 },
  ],
  retry: [
    { name: "attempts", kind: "count", min: 1, max: 15, off: false, default: 3 },
    { name: "backoff.base", kind: "duration", min: 1, max: 86400000, off: false, default: 100 },
    { name: "backoff.cap", kind: "duration", min: 1, max: 86400000, off: false, default: 20000 },
    { name: "backoff.factor", kind: "ratio", min: 1, max: 10, off: false, default: 2 },
    { name: "backoff.jitter", kind: "word", min: 0, max: 3, off: false, default: 1, words: ["none", "full", "equal", "decorrelated"] },
    { name: "maxRetryAfter", kind: "duration", min: 1, max: 86400000, off: false, default: 60000 },
    { name: "clampRetryAfter", kind: "flag", min: 0, max: 1, off: false, default: 0 },
    { name: "retryRefusals", kind: "flag", min: 0, max: 1, off: false, default: 0 },
    { name: "budget", kind: "flag", min: 0, max: 1, off: false, default: 1 },
  ],
  budget: [
    { name: "ratio", kind: "ratio", min: 0, max: 1, off: false, default: 0.1 },
    { name: "window", kind: "duration", min: 1000, max: 3600000, off: false, default: 120000 },
    { name: "reserve", kind: "count", min: 0, max: 1000, off: false, default: 5 },
  ],
  hedge: [
    { name: "attempts", kind: "count", min: 2, max: 4, off: false, default: 2 },
    { name: "after", kind: "duration", min: 1, max: 86400000, off: false, default: 500 },
  ],
  breaker: [
    { name: "failureRate", kind: "ratio", min: 0.000001, max: 1, off: false, default: 0.5 },
    { name: "slowRate", kind: "ratio", min: 0.000001, max: 1, off: false, default: 1 },
    { name: "slowCall", kind: "duration", min: 1, max: 86400000, off: true, default: null },
    { name: "minCalls", kind: "count", min: 1, max: 1000000, off: false, default: 20 },
    { name: "windowCalls", kind: "count", min: 1, max: 1000, off: true, default: 100 },
    { name: "window", kind: "duration", min: 10, max: 86400000, off: true, default: 60000 },
    { name: "consecutiveFailures", kind: "count", min: 1, max: 1000000, off: true, default: 10 },
    { name: "openFor", kind: "duration", min: 1, max: 86400000, off: false, default: 30000 },
    { name: "growth", kind: "ratio", min: 1, max: 10, off: false, default: 2 },
    { name: "maxOpenFor", kind: "duration", min: 1, max: 86400000, off: false, default: 300000 },
    { name: "openJitter", kind: "ratio", min: 0, max: 0.9, off: false, default: 0.2 },
    { name: "resetAfter", kind: "duration", min: 1, max: 604800000, off: true, default: null },
    { name: "probes", kind: "count", min: 1, max: 32, off: false, default: 1 },
    { name: "successesToClose", kind: "count", min: 1, max: 32, off: true, default: null },
    { name: "halfOpenTimeout", kind: "duration", min: 1, max: 86400000, off: false, default: 60000 },
    { name: "countRateLimited", kind: "flag", min: 0, max: 1, off: false, default: 0 },
  ],
  attemptTimeout: [
    { name: "attempt", kind: "duration", min: 1, max: 86400000, off: false, default: 10000 },
  ],
};

/** The kinds of events, by code, each with its facts in the order of their numbers. */
export const EVENTS: readonly EventSpec[] = [
  { name: "sent", fields: [{ name: "attempt", kind: "count" }] },
  { name: "settled", fields: [{ name: "attempt", kind: "count" }, { name: "verdict", kind: "word", words: ["success", "answered", "overload", "transient", "timeout", "rejected", "defect", "cancelled"] }, { name: "latencyMs", kind: "millis" }] },
  { name: "retry", fields: [{ name: "attempt", kind: "count" }, { name: "delayMs", kind: "millis" }] },
  { name: "done", fields: [{ name: "reason", kind: "word", words: ["completed", "not-retryable", "not-repeatable", "body-not-replayable", "attempts-exhausted", "deadline-exceeded", "retry-after-exceeds-deadline", "retry-after-too-long", "budget-exceeded", "refused", "cancelled"] }, { name: "attempts", kind: "count" }, { name: "elapsedMs", kind: "millis" }] },
  { name: "rejected", fields: [{ name: "reason", kind: "word", words: ["circuit-open", "concurrency-limited", "throttled", "bulkhead-full", "rate-limited", "deadline-exceeded", "queue-timeout", "oversized"] }, { name: "retryAfterMs", kind: "millis" }] },
  { name: "stale", fields: [{ name: "attempt", kind: "count" }] },
  { name: "leaseEnded", fields: [{ name: "attempts", kind: "count" }] },
  { name: "callsFull", fields: [{ name: "calls", kind: "count" }] },
  { name: "keysFull", fields: [{ name: "keys", kind: "count" }] },
  { name: "restoredFresh", fields: [] },
  { name: "opened", fields: [{ name: "trigger", kind: "word", words: ["failure-rate", "slow-rate", "consecutive-failures", "probe-failed", "probe-timeout", "forced"] }, { name: "calls", kind: "count" }, { name: "failures", kind: "count" }, { name: "slow", kind: "count" }, { name: "openForMs", kind: "millis" }] },
  { name: "halfOpen", fields: [{ name: "probes", kind: "count" }] },
  { name: "closed", fields: [{ name: "reason", kind: "word", words: ["probes-succeeded", "forced", "disabled"] }] },
  { name: "reset", fields: [] },
  { name: "recorded", fields: [{ name: "counted", kind: "word", words: ["success", "failure"] }, { name: "slow", kind: "count" }] },
  { name: "ignored", fields: [{ name: "reason", kind: "word", words: ["cancelled", "rejection", "stale"] }] },
  { name: "exhausted", fields: [{ name: "firsts", kind: "count" }, { name: "repeats", kind: "count" }] },
];
