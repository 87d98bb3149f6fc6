// Written from the engine's own tables by `npm run generate`; a test holds it to them.

/** One option of one policy: a kind of number, or words. Its range is the engine's business. */
export type OptionSpec = readonly [name: string, kind: "duration" | "count" | "number" | "flag" | readonly string[], canBeOff?: true];

/** One fact of an event or a reading that crosses as a number: a word where there is a list, else the number; below 0 none. */
export type FactSpec = string | readonly [name: string, words: readonly unknown[]];

/** One kind of event, and its facts in the order of their numbers. */
export type EventSpec = readonly [name: string, ...facts: readonly FactSpec[]];

/** The policies, by code. */
export const POLICIES = ["deadline", "retry", "budget", "hedge", "throttler", "breaker", "concurrencyLimiter", "bulkhead", "rateLimiter", "attemptTimeout"] as const;

/** Why calls end, by code. */
export const STOP_REASONS = ["completed", "not-retryable", "not-repeatable", "body-not-replayable", "attempts-exhausted", "deadline-exceeded", "retry-after-exceeds-deadline", "retry-after-too-long", "budget-exceeded", "refused", "cancelled"] as const;

/** Why calls are refused, by code. */
export const REFUSAL_REASONS = ["circuit-open", "concurrency-limited", "throttled", "bulkhead-full", "rate-limited", "deadline-exceeded", "queue-timeout", "oversized"] as const;

/** What attempts say about the upstream, by code. */
export const VERDICTS = ["success", "answered", "overload", "transient", "timeout", "rejected", "defect", "cancelled", "inconclusive"] as const;

/** How an attempt's end crosses, by code; HTTP statuses cross as they are. */
export const OUTCOMES = ["success", "answered", "too-many-requests", "unavailable", "shedding", "transient", "never-sent", "timeout", "rejected", "defect", "cancelled", "inconclusive", "given-up"] as const;

/** Why configurations are refused, by code. */
export const CONFIG_REASONS = ["out-of-range", "conflict", "unknown-option", "unknown-object", "too-many"] as const;

/** The states of a circuit, by code. */
export const BREAKER_STATES = ["closed", "open", "half-open", "forced-open", "disabled"] as const;

/** The options of each policy, in the order of their positions. */
export const OPTIONS: Record<(typeof POLICIES)[number], readonly OptionSpec[]> = {
  deadline: [
    ["total", "duration"],
  ],
  retry: [
    ["attempts", "count"],
    ["backoff.base", "duration"],
    ["backoff.cap", "duration"],
    ["backoff.factor", "number"],
    ["backoff.jitter", ["none", "full", "equal", "decorrelated"]],
    ["maxRetryAfter", "duration"],
    ["clampRetryAfter", "flag"],
    ["retryRefusals", "flag"],
    ["budget", "flag"],
    ["timeouts", "flag"],
  ],
  budget: [
    ["kind", ["ratio", "tokenBucket", "grpc", "aws", "aimd", "concurrency", "wallet"]],
    ["ratio", "number"],
    ["window", "duration"],
    ["reserve", "count"],
    ["max", "count", true],
    ["initial", "count", true],
    ["deposit", "number", true],
    ["cost", "number", true],
    ["refill", "number"],
    ["min", "count"],
    ["decrease", "number"],
  ],
  hedge: [
    ["attempts", "count"],
    ["after", "duration"],
    ["quantile", "number", true],
    ["window", "duration"],
  ],
  throttler: [
    ["multiplier", "number"],
    ["window", "duration"],
    ["maxRejection", "number"],
    ["minRequests", "count"],
    ["accounting", ["sent", "offered"]],
  ],
  breaker: [
    ["failureRate", "number"],
    ["slowRate", "number"],
    ["slowCall", "duration", true],
    ["minCalls", "count"],
    ["windowCalls", "count", true],
    ["window", "duration", true],
    ["consecutiveFailures", "count", true],
    ["openFor", "duration"],
    ["growth", "number"],
    ["maxOpenFor", "duration"],
    ["openJitter", "number"],
    ["resetAfter", "duration", true],
    ["probes", "count"],
    ["successesToClose", "count", true],
    ["halfOpenTimeout", "duration"],
    ["countRateLimited", "flag"],
  ],
  concurrencyLimiter: [
    ["algorithm", ["vegas", "gradient2", "aimd"]],
    ["initial", "count"],
    ["min", "count"],
    ["max", "count"],
    ["quantile", "number"],
    ["window", "duration"],
    ["cut", "number"],
    ["staleAfter", "duration"],
    ["queue", "count"],
    ["queueTimeout", "duration", true],
  ],
  bulkhead: [
    ["concurrency", "count"],
    ["queue", "count"],
    ["queueTimeout", "duration", true],
    ["release", ["headers", "body", "settled"]],
  ],
  rateLimiter: [
    ["rate", "count"],
    ["interval", "duration"],
    ["burst", "count", true],
    ["wait", "duration"],
    ["queue", "count"],
  ],
  attemptTimeout: [
    ["attempt", "duration"],
  ],
};

/** Which options each kind of budget reads: a bit for each position. */
export const BUDGET_READS = [15, 497, 497, 497, 2033, 11, 13] as const;

/** What each option is when it is absent; `null` is off. For tests: absent options do not cross. */
export const DEFAULTS: Record<(typeof POLICIES)[number], readonly (number | null)[]> = {
  deadline: [30000],
  retry: [3, 100, 20000, 2, 1, 60000, 0, 0, 1, 1],
  budget: [0, 0.1, 120000, 5, null, null, null, null, 0, 10, 0.5],
  hedge: [2, 500, null, 60000],
  throttler: [2, 120000, 0.9, 10, 0],
  breaker: [0.5, 1, null, 20, 100, 60000, 10, 30000, 2, 300000, 0.2, null, 1, null, 60000, 0],
  concurrencyLimiter: [0, 20, 4, 200, 0.9, 1000, 0.9, 60000, 0, 5000],
  bulkhead: [25, 0, 5000, 0],
  rateLimiter: [50, 1000, null, 0, 100],
  attemptTimeout: [10000],
};

/** The one that the shim needs: how long an attempt may take where nobody says. */
export const ATTEMPT_TIMEOUT_MS = 10000;

/** So many letters of a Retry-After or a Date are read; a longer one says nothing. */
export const LONGEST_FIELD = 4000;

/** So many keys have state of their own. */
export const MAX_KEYS = 1024;

/** The engine's part of a snapshot is no longer, in bytes. */
export const MAX_SNAPSHOT = 8388608;

/** The kinds of events, by code. */
export const EVENTS: readonly EventSpec[] = [
  ["sent", "attempt"],
  ["settled", "attempt", ["verdict", VERDICTS], "latencyMs"],
  ["retry", "attempt", "delayMs"],
  ["done", ["reason", STOP_REASONS], "attempts", "elapsedMs"],
  ["rejected", ["reason", REFUSAL_REASONS], "retryAfterMs"],
  ["stale", "attempt"],
  ["leaseEnded", "attempts"],
  ["callsFull", "calls"],
  ["keysFull", "keys"],
  ["restoredFresh"],
  ["opened", ["trigger", ["failure-rate", "slow-rate", "consecutive-failures", "probe-failed", "probe-timeout", "forced"]], "calls", "failures", "slow", "openForMs"],
  ["halfOpen", "probes"],
  ["closed", ["reason", ["probes-succeeded", "forced", "disabled"]]],
  ["reset"],
  ["recorded", ["counted", ["success", "failure"]], ["slow", [false, true]]],
  ["ignored", ["reason", ["cancelled", "rejection", "stale", "inconclusive"]]],
  ["rateChanged", "rate", "requests", "accepts"],
  ["limitChanged", "limit", ["why", ["headroom", "latency", "probe", "overload", "timeout", "stale"]], "inFlight", "latencyMs", "baselineMs"],
  ["exhausted", "firsts", "repeats", "tokens", "retryAfterMs"],
  ["hedge", ["step", ["started", "attempt-failed", "won", "budget-exhausted", "deadline-skip", "all-failed"]], "attempt", "latencyMs"],
  ["waited", "waitedMs"],
  ["oversized", "permits"],
];

/** What each kind of event tells. */
export interface EventFacts {
  sent: { readonly attempt: number };
  settled: { readonly attempt: number; readonly verdict: (typeof VERDICTS)[number]; readonly latencyMs: number };
  retry: { readonly attempt: number; readonly delayMs: number };
  done: { readonly reason: (typeof STOP_REASONS)[number]; readonly attempts: number; readonly elapsedMs: number };
  rejected: { readonly reason: (typeof REFUSAL_REASONS)[number]; readonly retryAfterMs: number | undefined };
  stale: { readonly attempt: number };
  leaseEnded: { readonly attempts: number };
  callsFull: { readonly calls: number };
  keysFull: { readonly keys: number };
  restoredFresh: {  };
  opened: { readonly trigger: "failure-rate" | "slow-rate" | "consecutive-failures" | "probe-failed" | "probe-timeout" | "forced"; readonly calls: number; readonly failures: number; readonly slow: number; readonly openForMs: number | undefined };
  halfOpen: { readonly probes: number };
  closed: { readonly reason: "probes-succeeded" | "forced" | "disabled" };
  reset: {  };
  recorded: { readonly counted: "success" | "failure"; readonly slow: boolean };
  ignored: { readonly reason: "cancelled" | "rejection" | "stale" | "inconclusive" };
  rateChanged: { readonly rate: number; readonly requests: number; readonly accepts: number };
  limitChanged: { readonly limit: number; readonly why: "headroom" | "latency" | "probe" | "overload" | "timeout" | "stale"; readonly inFlight: number; readonly latencyMs: number; readonly baselineMs: number | undefined };
  exhausted: { readonly firsts: number; readonly repeats: number; readonly tokens: number | undefined; readonly retryAfterMs: number | undefined };
  hedge: { readonly step: "started" | "attempt-failed" | "won" | "budget-exhausted" | "deadline-skip" | "all-failed"; readonly attempt: number; readonly latencyMs: number | undefined };
  waited: { readonly waitedMs: number };
  oversized: { readonly permits: number };
}

/** What there is to read of each policy about a key, in the order of the numbers. */
export const FIGURES: Record<keyof Readings, readonly FactSpec[]> = {
  budget: ["firsts", "repeats", "tokens"],
  throttler: ["requests", "accepts", "rejection"],
  breaker: [["state", BREAKER_STATES], "calls", "failures", "slow", "failureRate", "slowRate", "consecutiveFailures", "trips", "retryAfterMs"],
  concurrencyLimiter: ["limit", "inFlight", "queued", "baselineMs"],
  bulkhead: ["inFlight", "queued"],
  rateLimiter: ["available", "queued"],
};

export interface BudgetReading {
  /** First attempts of the key in the window, or its calls that run; 0 where tokens are counted. */
  readonly firsts: number;
  /** Repeats of the key that were paid for in the window, or those that run; 0 where tokens are counted. */
  readonly repeats: number;
  /** Whole tokens that the key has left; of a wallet, the repeats that it has left for all keys. Undefined for other kinds. */
  readonly tokens: number | undefined;
}

export interface ThrottlerReading {
  /** Requests in the window. */
  readonly requests: number;
  /** Those among them that the upstream accepted. */
  readonly accepts: number;
  /** The share of attempts that is refused, 0 to 1. */
  readonly rejection: number;
}

export interface BreakerReading {
  /** What it does with calls. */
  readonly state: (typeof BREAKER_STATES)[number];
  /** Calls in the window. */
  readonly calls: number;
  /** Failures among them. */
  readonly failures: number;
  /** Slow ones among them. */
  readonly slow: number;
  /** `failures` as a share of `calls`, 0 to 1; 0 of no calls. */
  readonly failureRate: number;
  /** `slow` as a share of `calls`, 0 to 1; 0 of no calls. */
  readonly slowRate: number;
  /** How many failures came last, one after the other. */
  readonly consecutiveFailures: number;
  /** How often in a row it has opened. */
  readonly trips: number;
  /** How long it goes on refusing, if it does and that is known. */
  readonly retryAfterMs: number | undefined;
}

export interface ConcurrencyLimiterReading {
  /** How many attempts may run at once. */
  readonly limit: number;
  /** How many do. */
  readonly inFlight: number;
  /** How many wait for a slot. */
  readonly queued: number;
  /** How long they take without a queue, where that is known. */
  readonly baselineMs: number | undefined;
}

export interface BulkheadReading {
  /** How many slots are taken. */
  readonly inFlight: number;
  /** How many attempts wait for one. */
  readonly queued: number;
}

export interface RateLimiterReading {
  /** How many permits there are. */
  readonly available: number;
  /** How many attempts wait for their turn. */
  readonly queued: number;
}

/** What each policy reads as, by its name. */
export interface Readings {
  budget: BudgetReading;
  throttler: ThrottlerReading;
  breaker: BreakerReading;
  concurrencyLimiter: ConcurrencyLimiterReading;
  bulkhead: BulkheadReading;
  rateLimiter: RateLimiterReading;
}
