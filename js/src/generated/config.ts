// Written from the engine's own tables and the pages of the policies by `npm run generate`; a test holds it to them.

/** Milliseconds, or a number with a unit: `"250ms"`, `"10s"`, `"2m"`, `"1h"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h"}`;

/** How long a call and its attempts may take. */
export interface TimeoutConfig {
  /**
   * Everything together: waiting in line, backoff, all attempts.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit, or `false`.
   * @defaultValue 30000
   */
  total?: Duration | false;
  /**
   * From the attempt's start until it is settled.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit, or `false`; at most `total`, where both are given.
   * @defaultValue 10000
   */
  attempt?: Duration | false;
}

/** When and how often a call is attempted again. */
export interface RetryConfig<Shared> {
  /**
   * How many attempts a call has, the first among them.
   *
   * A whole number from 1 to 15.
   * @defaultValue 3
   */
  attempts?: number;
  /** How long the call waits before a repeat. Default: that of each of its options. */
  backoff?: BackoffConfig;
  /**
   * The longest `Retry-After` that is waited for.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit.
   * @defaultValue 60000
   */
  maxRetryAfter?: Duration;
  /**
   * Whether a `Retry-After` longer than `maxRetryAfter` is shortened to that; otherwise the call stops.
   *
   * `true` or `false`.
   * @defaultValue false
   */
  clampRetryAfter?: boolean;
  /**
   * Whether forbear's own refusals are waited out.
   *
   * `true` or `false`.
   * @defaultValue false
   */
  retryRefusals?: boolean;
  /**
   * Whether repeats are paid from a budget: the one named, or a private one.
   *
   * A budget to share, the settings of a private one, or `false` for no limit.
   * @defaultValue a private budget with its own defaults
   */
  budget?: Shared | BudgetConfig | false;
  /**
   * Whether attempts whose time was up are repeated.
   *
   * `true` or `false`.
   * @defaultValue true
   */
  timeouts?: boolean;
}

/** How long a call waits between attempts. */
export interface BackoffConfig {
  /**
   * The backoff before the first repeat, before jitter.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit.
   * @defaultValue 100
   */
  base?: Duration;
  /**
   * The longest backoff; at least `backoff.base`.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit.
   * @defaultValue 20000
   */
  cap?: Duration;
  /**
   * By how much the backoff grows with each repeat; 1 keeps it constant.
   *
   * A factor from 1 to 10.
   * @defaultValue 2
   */
  factor?: number;
  /**
   * How the backoff is spread.
   *
   * One of "none", "full", "equal", "decorrelated".
   * @defaultValue "full"
   */
  jitter?: "none" | "full" | "equal" | "decorrelated";
}

/** What repeats may cost together. */
export interface BudgetConfig {
  /**
   * How it counts. Each kind reads only some of the options.
   *
   * One of "ratio", "tokenBucket", "grpc", "aws", "aimd", "concurrency", "wallet".
   * @defaultValue "ratio"
   */
  kind?: "ratio" | "tokenBucket" | "grpc" | "aws" | "aimd" | "concurrency" | "wallet";
  /**
   * The most repeats for each first attempt of a key in the window; `concurrency`: the most running repeats for each running call.
   *
   * A share from 0 to 1.
   * @defaultValue 0.1
   */
  ratio?: number;
  /**
   * How far back attempts count.
   *
   * Milliseconds from 1000 to 3600000, or a string with a unit.
   * @defaultValue 120000
   */
  window?: Duration;
  /**
   * Repeats in the window beyond the ratio, for all keys together; `wallet`: all there are; `concurrency`: so many of a key run whatever the ratio.
   *
   * A whole number from 0 to 1000.
   * @defaultValue 5
   */
  reserve?: number;
  /**
   * The most tokens a key has, `aimd`: its highest ceiling. `false`: the kind's own.
   *
   * A whole number from 1 to 100000, or `false`.
   * @defaultValue false
   */
  max?: number | false;
  /**
   * The tokens a key begins with, at most as many as it may then have. `false`: all of them.
   *
   * A whole number from 0 to 100000, or `false`.
   * @defaultValue false
   */
  initial?: number | false;
  /**
   * The tokens that each success adds. `false`: the kind's own.
   *
   * Tokens from 0 to 100, or `false`.
   * @defaultValue false
   */
  deposit?: number | false;
  /**
   * The tokens that each repeat costs, `grpc`: each failure. `false`: the kind's own.
   *
   * Tokens from 0 to 1000, or `false`.
   * @defaultValue false
   */
  cost?: number | false;
  /**
   * The tokens that each second adds.
   *
   * Tokens from 0 to 1000.
   * @defaultValue 0
   */
  refill?: number;
  /**
   * `aimd`: the least ceiling, and the first; at most `max`.
   *
   * A whole number from 1 to 100000.
   * @defaultValue 10
   */
  min?: number;
  /**
   * `aimd`: what an exhaustion leaves of the ceiling.
   *
   * A share from 0 to 0.99.
   * @defaultValue 0.5
   */
  decrease?: number;
}

/** Attempts beside one that is slow; the first success wins. Only for requests that may be repeated freely. */
export interface HedgeConfig {
  /**
   * How many attempts run beside each other at most, the first among them.
   *
   * A whole number from 2 to 4.
   * @defaultValue 2
   */
  attempts?: number;
  /**
   * How long nothing may have answered since the latest start before the next attempt starts.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit.
   * @defaultValue 500
   */
  after?: Duration;
  /**
   * `after` is measured instead: so large a share of first attempts is to have answered by then. `false`: `after` is fixed.
   *
   * A share from 0.5 to 0.999, or `false`.
   * @defaultValue false
   */
  quantile?: number | false;
  /**
   * Over how long `after` is measured, where `quantile` is on.
   *
   * Milliseconds from 1000 to 86400000, or a string with a unit.
   * @defaultValue 60000
   */
  window?: Duration;
}

/** Refuses a share of all attempts, the larger the less the upstream accepts. */
export interface ThrottlerConfig {
  /**
   * K: how many requests there may be for each accept before anything is refused.
   *
   * A factor from 1 to 10.
   * @defaultValue 2
   */
  multiplier?: number;
  /**
   * How far back requests count, in steps of a twelfth.
   *
   * Milliseconds from 1000 to 3600000, or a string with a unit.
   * @defaultValue 120000
   */
  window?: Duration;
  /**
   * The largest share that is refused.
   *
   * A share from 0 to 0.99.
   * @defaultValue 0.9
   */
  maxRejection?: number;
  /**
   * Nothing is refused while the window holds fewer requests; at least 100 where `multiplier` is below 1.5.
   *
   * A whole number from 1 to 1000000.
   * @defaultValue 10
   */
  minRequests?: number;
  /**
   * What counts as a request: what was sent, or also what this throttler refused.
   *
   * One of "sent", "offered".
   * @defaultValue "sent"
   */
  accounting?: "sent" | "offered";
}

/** Refuses all attempts for a while after too many failed. */
export interface BreakerConfig {
  /**
   * The share of failures in the window at which the circuit opens.
   *
   * A share from 0.000001 to 1.
   * @defaultValue 0.5
   */
  failureRate?: number;
  /**
   * The share of slow calls in the window at which the circuit opens.
   *
   * A share from 0.000001 to 1.
   * @defaultValue 1
   */
  slowRate?: number;
  /**
   * A call that takes longer is slow; a timeout always is. `false`: no call is slow.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit, or `false`.
   * @defaultValue false
   */
  slowCall?: Duration | false;
  /**
   * How many calls the window must hold before rates are judged.
   *
   * A whole number from 1 to 1000000; at most `windowCalls`.
   * @defaultValue 20
   */
  minCalls?: number;
  /**
   * How many calls the window holds at most. `false`: as many as its age allows.
   *
   * A whole number from 1 to 1000, or `false`.
   * @defaultValue 100
   */
  windowCalls?: number | false;
  /**
   * How old a call in the window may be, in steps of a tenth. `false`: any age.
   *
   * Milliseconds from 10 to 86400000, or a string with a unit, or `false`.
   * @defaultValue 60000
   */
  window?: Duration | false;
  /**
   * How many failures in a row open the circuit, however few calls there are. `false`: any number is fine.
   *
   * A whole number from 1 to 1000000, or `false`.
   * @defaultValue 10
   */
  consecutiveFailures?: number | false;
  /**
   * How long the first trip lasts.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit; at most `maxOpenFor`.
   * @defaultValue 30000
   */
  openFor?: Duration;
  /**
   * By how much a repeated trip lasts longer than the one before.
   *
   * A factor from 1 to 10.
   * @defaultValue 2
   */
  growth?: number;
  /**
   * How long a trip lasts at most.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit.
   * @defaultValue 300000
   */
  maxOpenFor?: Duration;
  /**
   * A trip is shortened by up to this share of itself, at random, never lengthened.
   *
   * A share from 0 to 0.9.
   * @defaultValue 0.2
   */
  openJitter?: number;
  /**
   * How long a circuit must stay closed before its trips are forgotten. `false`: as long as `maxOpenFor`.
   *
   * Milliseconds from 1 to 604800000, or a string with a unit, or `false`.
   * @defaultValue false
   */
  resetAfter?: Duration | false;
  /**
   * How many probes pass in one half-open episode.
   *
   * A whole number from 1 to 32.
   * @defaultValue 1
   */
  probes?: number;
  /**
   * How many probes must succeed before the circuit closes. `false`: all.
   *
   * A whole number from 1 to 32, or `false`; at most `probes`.
   * @defaultValue false
   */
  successesToClose?: number | false;
  /**
   * How long a probe may take; one that is not settled by then has failed.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit.
   * @defaultValue 60000
   */
  halfOpenTimeout?: Duration;
  /**
   * Whether 429 and errors marked `.overloaded` are failures; otherwise they are successes.
   *
   * `true` or `false`.
   * @defaultValue false
   */
  countRateLimited?: boolean;
}

/** Limits how many attempts run at once, and finds the limit by measuring. */
export interface ConcurrencyLimiterConfig {
  /**
   * How the limit follows what is measured.
   *
   * One of "vegas", "gradient2", "aimd".
   * @defaultValue "vegas"
   */
  algorithm?: "vegas" | "gradient2" | "aimd";
  /**
   * The limit while nothing is known; between `min` and `max`.
   *
   * A whole number from 1 to 10000.
   * @defaultValue 20
   */
  initial?: number;
  /**
   * The least limit; at most `max`.
   *
   * A whole number from 1 to 10000.
   * @defaultValue 4
   */
  min?: number;
  /**
   * The greatest limit.
   *
   * A whole number from 1 to 10000.
   * @defaultValue 200
   */
  max?: number;
  /**
   * Which latency of a window stands for it.
   *
   * A share from 0.01 to 1.
   * @defaultValue 0.9
   */
  quantile?: number;
  /**
   * How long a window lasts at least; ten results at least, too.
   *
   * Milliseconds from 1 to 3600000, or a string with a unit.
   * @defaultValue 1000
   */
  window?: Duration;
  /**
   * What an overload or a timeout leaves of the limit.
   *
   * A share from 0.1 to 0.99.
   * @defaultValue 0.9
   */
  cut?: number;
  /**
   * How long the limit is trusted without new results.
   *
   * Milliseconds from 1000 to 86400000, or a string with a unit.
   * @defaultValue 60000
   */
  staleAfter?: Duration;
  /**
   * How many more attempts may wait; the next is refused. 0: nobody waits.
   *
   * A whole number from 0 to 10000.
   * @defaultValue 0
   */
  queue?: number;
  /**
   * How long an attempt may wait. `false`: as long as its call has time.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit, or `false`.
   * @defaultValue 5000
   */
  queueTimeout?: Duration | false;
}

/** Limits how many attempts run at once to a fixed number. */
export interface BulkheadConfig {
  /**
   * How many attempts run at once, for each key.
   *
   * A whole number from 1 to 1000000.
   * @defaultValue 25
   */
  concurrency?: number;
  /**
   * How many more attempts may wait; the next is refused. 0: nobody waits.
   *
   * A whole number from 0 to 10000.
   * @defaultValue 0
   */
  queue?: number;
  /**
   * How long an attempt may wait. `false`: as long as its call has time.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit, or `false`.
   * @defaultValue 5000
   */
  queueTimeout?: Duration | false;
  /**
   * When an attempt gives its slot back. `headers`: when it is settled or given up. `body`: the one whose result the caller gets, when its body ends. `settled`: when it is settled, even if it was given up before.
   *
   * One of "headers", "body", "settled".
   * @defaultValue "headers"
   */
  release?: "headers" | "body" | "settled";
}

/** Limits how many attempts start in an interval. */
export interface RateLimiterConfig {
  /**
   * How many permits there are in each `interval`.
   *
   * A whole number from 1 to 1000000.
   * @defaultValue 50
   */
  rate?: number;
  /**
   * The time in which `rate` permits are earned.
   *
   * Milliseconds from 1 to 86400000, or a string with a unit; at most 2⁶³ ns for the larger of `rate` and `burst`.
   * @defaultValue 1000
   */
  interval?: Duration;
  /**
   * How many unused permits are kept at most. `false`: one interval's worth.
   *
   * A whole number from 1 to 1000000, or `false`.
   * @defaultValue false
   */
  burst?: number | false;
  /**
   * How long an attempt may wait for its turn. 0: it is refused at once.
   *
   * Milliseconds from 0 to 86400000, or a string with a unit.
   * @defaultValue 0
   */
  wait?: Duration;
  /**
   * How many attempts may wait; the next is refused.
   *
   * A whole number from 0 to 10000.
   * @defaultValue 100
   */
  queue?: number;
}

/** The policies of a configuration that stand under their own names. `Objects` are those that several guards share. */
export interface GateConfigs<Objects extends Record<"throttler" | "breaker" | "concurrencyLimiter" | "bulkhead" | "rateLimiter", unknown>> {
  /** Refuses a share of all attempts, the larger the less the upstream accepts. */
  throttler?: ThrottlerConfig | Objects["throttler"] | false;
  /** Refuses all attempts for a while after too many failed. */
  breaker?: BreakerConfig | Objects["breaker"] | false;
  /** Limits how many attempts run at once, and finds the limit by measuring. */
  concurrencyLimiter?: ConcurrencyLimiterConfig | Objects["concurrencyLimiter"] | false;
  /** Limits how many attempts run at once to a fixed number. */
  bulkhead?: BulkheadConfig | Objects["bulkhead"] | false;
  /** Limits how many attempts start in an interval. */
  rateLimiter?: RateLimiterConfig | Objects["rateLimiter"] | false;
}
