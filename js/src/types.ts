// The types users see. The options of each policy are in generated/config.ts.

import type { Duration, GateConfigs, HedgeConfig, RetryConfig as GeneratedRetryConfig, TimeoutConfig } from "./generated/config.js";
import type { BreakerReading, EventFacts, Readings } from "./generated/vocabulary.js";

export type {
  BackoffConfig, BreakerConfig, BudgetConfig, BulkheadConfig, ConcurrencyLimiterConfig, Duration, HedgeConfig, RateLimiterConfig,
  ThrottlerConfig, TimeoutConfig,
} from "./generated/config.js";
export type {
  BreakerReading, BudgetReading, BulkheadReading, ConcurrencyLimiterReading, RateLimiterReading, Readings, ThrottlerReading,
} from "./generated/vocabulary.js";

/** What `fetch` takes in the runtime whose types are there: they differ between browsers, Node and Workers. */
export type FetchInput = Parameters<typeof globalThis.fetch>[0];
export type FetchInit = NonNullable<Parameters<typeof globalThis.fetch>[1]>;
export type FetchBody = NonNullable<FetchInit["body"]>;

export type Fetch = (input: FetchInput, init?: FetchInit) => Promise<Response>;

/** What is taken from the world outside. */
export interface Host {
  /** Milliseconds on any clock; steps back and standing still are allowed. */
  now(): number;
  /** A whole number from 0 up to 2⁵³, without it; or a share of that from 0 up to 1, as `Math.random` gives. */
  random(): number;
  /**
   * Calls `wake` once, `delayMs` from now or later, in the asynchronous context of the caller; returns how to call it off.
   * Delays may be longer than a timer of the runtime can be. An `idle` one has nobody waiting for it: a process may end before.
   */
  arm(delayMs: number, wake: () => void, idle?: boolean): () => void;
  fetch: Fetch;
  /** Milliseconds since 1970, for dates in headers; `now` where absent. */
  wallNow?(): number;
  /** Whether one call may wake another that waits in line. */
  wakesOthers(): boolean;
}

/** One stack of policies. An absent policy is off, `{}` is its defaults. */
export interface Config extends GateConfigs<{ [Policy in keyof Readings]: Shared<Policy> }> {
  /** Names the stack in errors, events and metrics. */
  name?: string;
  /** How long the call and each attempt may take. `false`: as long as they like. */
  timeout?: TimeoutConfig | false;
  /** Attempts again what failed, within a budget. */
  retry?: RetryConfig | false;
  /** Starts another attempt beside one that is slow. */
  hedge?: HedgeConfig | false;
}

/** When and how often a call is attempted again. */
export interface RetryConfig extends GeneratedRetryConfig<RetryBudget> {}

/** An object that several stacks share. */
export interface Shared<Policy extends keyof Readings> {
  readonly policy: Policy;
  /** What it knows now of a key (an origin, or any URL of it); without a key, of calls that have none. Changes nothing. */
  read(key?: string | null): Readings[Policy];
  /** Listens to what it tells, whichever stack's calls it is about. Returns how to stop. What a listener throws changes nothing. */
  on<Type extends EventType | "*">(type: Type, listener: (event: EventOf<Type>) => void): () => void;
}

/** A retry budget to give to several stacks. */
export interface RetryBudget extends Shared<"budget"> {
  /** Pays for something that no stack sends, and answers at once: whether it may be done. */
  try(key?: string | null): boolean;
}

/** A throttler to give to several stacks. */
export interface Throttler extends Shared<"throttler"> {}
/** A circuit breaker to give to several stacks. */
export interface CircuitBreaker extends Shared<"breaker"> {}
/** A concurrency limiter to give to several stacks. */
export interface ConcurrencyLimiter extends Shared<"concurrencyLimiter"> {}
/** A bulkhead to give to several stacks. */
export interface Bulkhead extends Shared<"bulkhead"> {}
/** A rate limiter to give to several stacks. */
export interface RateLimiter extends Shared<"rateLimiter"> {}

/** What a guard is built with beside its policies. */
export interface Options {
  /** What really sends: a `fetch`, or an object that has one, such as a service binding. */
  fetch?: Fetch | { fetch: Fetch };
  /** Whose state a request meets: by default its URL's origin; `null` for one state for all. */
  key?: null | ((input: FetchInput, init?: FetchInit) => string | null);
  /** Reads results in place of the built-in rules; `undefined` leaves a result to them. If it throws, they decide. */
  classify?: Classify;
  /** What a caller of `fetch` gets in place of a failure: what this function gives, or a response like this one. */
  fallback?: Fallback<Response> | FallbackResponse;
  /**
   * What a caller of `fetch` gets when a call is refused or out of time: an error (the default), or a response, 503 or 504, whose
   * header `forbear-refused` says why. `shouldRetry: false` adds `x-should-retry: false`, which the SDKs of OpenAI and Anthropic heed.
   */
  refusals?: "error" | "response" | { as: "response"; shouldRetry?: boolean };
  /**
   * How much of a request's body that can be read only once (of a `Request`, or a stream) is kept, so that it can be sent again: a
   * size such as `"64KiB"` (the default), a number of bytes, or `false`. From 0 to `"8MiB"`.
   */
  replay?: `${number}${"B" | "KiB" | "MiB"}` | number | false;
  /**
   * From how long on an attempt whose caller leaves is a timeout of the upstream, where else it is no evidence: for callers that abort
   * when their own time is up, as SDKs do. A number of ms or `"20s"`, from 1 ms to 24 h. Default: never.
   */
  abortIsTimeoutAfter?: Duration | false;
  /**
   * What a guard does where there is no WebAssembly, or none may be compiled: `"unguarded"` (the default) makes calls within their
   * timeouts, and says so by a warning, by `guard.state` and by the event `unavailable`; `"throw"` throws where the guard is made.
   */
  onUnavailable?: "unguarded" | "throw";
  /** Clock, randomness, timers and fetch, where the host's own will not do. */
  host?: Partial<Host>;
}

/** A call that was refused, ran out of time, or out of repeats. */
export interface Failure {
  /** Why a policy refused it, or why it ended here; undefined where something was thrown that is no Error. */
  readonly reason: RefusalReason | StopReason | undefined;
  /** The policy that refused it, or whose time was up. */
  readonly policy: string | undefined;
  /** What it would reject with. */
  readonly error: unknown;
  /** What it would end with, if that is a response: it may be read, and given back. */
  readonly response: Response | undefined;
  /** After how long it may go better, where anybody has said so. */
  readonly retryAfterMs: number | undefined;
  /** How many were sent. */
  readonly attempts: number | undefined;
  readonly stack: string | undefined;
  readonly key: string | null;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
}

/** Gives what the caller gets in place of a failure; undefined: the failure itself. What it throws, the caller gets. */
export type Fallback<T> = (failure: Failure) => T | undefined | Promise<T | undefined>;

/** A response to be made for each call that needs one. */
export interface FallbackResponse {
  /** 200 to 599; by default 200. */
  status?: number;
  headers?: NonNullable<FetchInit["headers"]>;
  /** Not a stream, which could be read only once. */
  body?: string | ArrayBuffer | ArrayBufferView | Blob | FormData | URLSearchParams | null;
}

/** What a shared object is built with beside its settings. */
export interface SharedOptions {
  /** As a guard's: the object's reads and orders are of the guards that have the same. */
  host?: Partial<Host>;
}

/** What exists only inside a request. */
export interface RequestScope {
  fetch?: Fetch | { fetch: Fetch };
  /** Keeps the runtime from dropping a call whose client has gone: `(promise) => ctx.waitUntil(promise)`. */
  waitUntil?: (promise: Promise<unknown>) => void;
}

/** An attempt's end as a classifier sees it: tagged, so that a returned 503 and a thrown error never look alike. */
export type Settled = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

export type Verdict = "success" | "answered" | "overload" | "transient" | "timeout" | "rejected" | "defect" | "cancelled" | "inconclusive";

/** A verdict, or an HTTP status to be read as one. */
export type Classify = (settled: Settled, attempt: { readonly attempt: number }) => Verdict | number | undefined;

/** What one call may say for itself. */
export interface CallOptions {
  /**
   * Whether the request may be sent again though it may have been processed. By default the method and its headers say so.
   * `false`: only what surely never reached the upstream is sent again, and no answer of its own counts as that.
   */
  idempotent?: boolean;
  /** `false`: this call is one attempt, whatever happens; nor is it hedged. */
  retry?: boolean;
  key?: string | null;
  /** Limits this call; only shortens the stack's own total. */
  timeout?: Duration;
  waitUntil?: (promise: Promise<unknown>) => void;
  /** How many permits the call costs where permits are counted. */
  cost?: number;
}

export interface FetchOptions extends CallOptions {
  /** A fresh body for every attempt, which makes a request repeatable whose body is a stream. */
  getBody?: () => FetchBody | Promise<FetchBody>;
  /** Sees each attempt's request before it is sent; may change its headers, or return another to send. */
  prepare?: (request: Request, attempt: { readonly attempt: number }) => Request | void | Promise<Request | void>;
  /** In place of the guard's; `false`: none. */
  fallback?: Fallback<Response> | FallbackResponse | false;
}

export interface ExecuteOptions<F = unknown> extends CallOptions {
  /** What the caller gets in place of a failure: this value, or what this function gives. */
  fallback?: Fallback<F> | F;
  /** The caller's own way to leave. */
  signal?: AbortSignal;
}

/** What an operation is told about the attempt it is. */
export interface Attempt {
  /** 1 for the first. */
  readonly attempt: number;
  /** Aborts when this attempt is given up or the caller leaves. */
  readonly signal: AbortSignal;
  /** Freezes the latency this attempt is judged by, for instance at the first byte of a stream. */
  mark(): void;
}

export type StopReason =
  | "completed" | "not-retryable" | "not-repeatable" | "body-not-replayable" | "attempts-exhausted" | "deadline-exceeded"
  | "retry-after-exceeds-deadline" | "retry-after-too-long" | "budget-exceeded" | "refused" | "cancelled"
  /** The engine could not judge this call, so its result was handed over as it came. */
  | "unguarded";

export type RefusalReason =
  | "circuit-open" | "concurrency-limited" | "throttled" | "bulkhead-full" | "rate-limited" | "deadline-exceeded"
  | "queue-timeout" | "oversized";

/** How a call went, by `reportOf` of the response or the error it ended with. */
export interface Report {
  /** How many were sent. */
  readonly attempts: number;
  /** On the host's clock: whole where that is. */
  readonly elapsedMs: number;
  readonly stopReason: StopReason;
  /** With `budget-exceeded`: after how long the budget would pay, if nothing else is sent meanwhile; undefined where nobody knows. */
  readonly retryAfterMs?: number | undefined;
  /** The stack's name, if it has one. */
  readonly stack: string | undefined;
  readonly key: string | null;
  /** True where the result is a fallback's. */
  readonly fallback?: true;
}

/** What each kind of event tells beside what all of them do. Times are whole milliseconds, rounded up. */
export interface Facts extends EventFacts {
  /** The engine died and was replaced: what it had learned is gone, and the calls in hand go on unguarded. */
  trap: { readonly error: unknown };
  unavailable: { readonly error: unknown };
  /** `options.key` threw, or gave something else than a string or null: the call has no key. */
  keyFailed: { readonly error: unknown };
  /** `options.classify` threw, or gave what it cannot: the built-in rules have read the result. */
  classifyFailed: { readonly error: unknown };
  /** A call failed for this reason, and its caller got a fallback. */
  fallback: { readonly reason: Failure["reason"] };
}

export type EventType = keyof Facts;

/** Something that happened. `event.type` tells which facts it carries. */
export type GuardEvent<Type extends EventType = EventType> = Type extends EventType ? EventBase<Type> & Facts[Type] : never;

/** What a listener to this kind of event hears; `"*"` are all kinds. */
export type EventOf<Type extends EventType | "*"> = GuardEvent<Type extends EventType ? Type : EventType>;

interface EventBase<Type> {
  readonly type: Type;
  /** On the host's clock. */
  readonly at: number;
  readonly stack: string | undefined;
  readonly key: string | null;
  /** The policy that tells it; undefined where the engine itself does. */
  readonly policy: string | undefined;
}

export type BreakerState = "closed" | "open" | "half-open" | "forced-open" | "disabled";

/** What was counted for one key, and what each policy that is on knows of it; undefined for all others. */
export interface KeyMetrics extends PolicyReadings {
  readonly key: string | null;
  readonly calls: number;
  readonly attempts: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  readonly refusals: Readonly<Record<RefusalReason, number>>;
  /** Settled attempts by latency; a refused call is in none. The last bucket's bound is null: there is none. */
  readonly latencies: readonly { readonly belowMs: number | null; readonly count: number }[];
}

type PolicyReadings = { readonly [Policy in keyof Readings]: Readings[Policy] | undefined };

export interface Metrics {
  readonly stack: string | undefined;
  readonly keys: readonly KeyMetrics[];
}

/** The circuit of one key: what it reads now, and an operator's hand on it. */
export interface BreakerHandle extends BreakerReading {
  forceOpen(): void;
  forceClosed(): void;
  /** Back to closed, with nothing learned. */
  reset(): void;
  /** Counts, but never refuses. */
  disable(): void;
  enable(): void;
}

export interface RestoreOptions {
  /** Whether what operators ordered holds here too: circuits that were forced open or disabled. For bytes that nobody else can write. */
  orders?: boolean;
}

/** What became of a snapshot: names of policies, such as `breaker` and `budget`. */
export interface Restored {
  /** Those that took over what was saved. */
  readonly restored: readonly string[];
  /** Those whose saved state was dropped: they are configured differently here, are not here at all, or could not have written it. */
  readonly dropped: readonly string[];
}

export interface Guard {
  /** `fetch`, guarded. A function of its own: it may be handed on as it is. */
  readonly fetch: (input: FetchInput, init?: FetchInit, options?: FetchOptions) => Promise<Response>;
  /**
   * Any operation, guarded. Calling this is the caller's word that retry may repeat `operation` (hedging may not);
   * `idempotent: false` withdraws it, `true` allows hedging too.
   */
  execute<T, F = T>(operation: (attempt: Attempt) => PromiseLike<T> | T, options?: ExecuteOptions<F>): Promise<T | F>;
  /** The same guard with what exists only inside a request. Cheap. */
  with(scope: RequestScope): Guard;
  /** Listens to one kind of event, or to all (`"*"`). Returns how to stop. What a listener throws changes nothing. */
  on<Type extends EventType | "*">(type: Type, listener: (event: EventOf<Type>) => void): () => void;
  /** `"unavailable"` where there is no WebAssembly: calls are made within their timeouts, and are not guarded. */
  readonly state: "guarded" | "unavailable";
  metrics(): Metrics;
  /**
   * What the stack's policies have learned, to be restored in another isolate, process or on another day. Time stands still
   * between: a circuit that was open for ten more seconds is so after it is restored, whenever that is.
   */
  snapshot(): Uint8Array;
  /**
   * Takes over a snapshot, and says which policies did. False when the bytes are damaged or foreign: then nothing has changed.
   * Whoever can write the bytes can say what these policies could have learned; what operators ordered is left out, unless
   * asked for.
   */
  restore(bytes: Uint8Array, options?: RestoreOptions): Restored | false;
  /** The circuit of a key (an origin, or any URL of it); without a key, the one of calls that have none. */
  breaker(key?: string | null): BreakerHandle;
  /**
   * Takes so many permits (1) of the rate limiter for something that is no call, and answers at once: all of them, if they are
   * there and nobody waits for one, or none.
   */
  tryAcquire(permits?: number, key?: string | null): boolean;
}
