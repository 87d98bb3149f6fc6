// Guards: what users hold.

import type { Site, Work } from "../call/call.js";
import { checkListener, permitsOf, readCall, readReplay, readRestore, readScope, type CallSettings } from "../config/options.js";
import { hasAny, readAbortLimit, readTimeout } from "../config/read.js";
import { readFallback, readRefusals, readValueFallback } from "../config/substitutes.js";
import { drive } from "../call/driver.js";
import type { Engine } from "../engine/engine.js";
import type { Stack } from "../engine/stack.js";
import { AFTER_FAILURE, asSignal, flagsOf, flagsOfRequest, originOf, signalOf } from "../http/facts.js";
import { substituted, type Substitutes } from "./fallback.js";
import { initOf, inputOf } from "../http/init.js";
import { isKept, KeptBody } from "../http/kept-body.js";
import { ignore } from "../util/ignore.js";
import { breakerHandle, nameOf, readMetrics, tryAcquire } from "./readings.js";
import { methodOf } from "../util/method.js";
import { nest } from "../engine/nesting.js";
import { Operation, type Operate } from "../call/operation.js";
import { Sending, type Sender } from "../call/sending.js";
import { restoreSnapshot, takeSnapshot } from "./snapshot.js";
import type {
  BreakerHandle, EventOf, EventType, ExecuteOptions, Fetch, FetchOptions, Guard, GuardEvent, Metrics, Options, RequestScope, Restored, RestoreOptions,
} from "../types.js";
import { wrong } from "../config/wording.js";

export class StackGuard implements Guard {
  readonly #site: Site;
  readonly #options: Options;
  readonly #scope: RequestScope;
  readonly #sender: Sender;
  /** What stands in for failures of `fetch`; undefined where nothing does. */
  readonly #substitutes: Substitutes | undefined;

  constructor(site: Site, options: Options, scope: RequestScope) {
    this.#site = site;
    this.#options = options;
    this.#scope = scope;
    const own = scope.fetch ?? options.fetch;
    const replay = readReplay(options.replay);
    nest(this.fetch, site.stack, scope.fetch === undefined ? "options.fetch" : "with.fetch", own);
    this.#sender = {
      send: senderOf(own ?? site.engine.host.fetch), isRuntimes: (own ?? options.host?.fetch) === undefined, repeating: site.stack.repeating,
      replay: hasAny(site.stack.settings, "retry") ? replay : 0,
    };
    this.#substitutes = orNone(readFallback("options.fallback", options.fallback), readRefusals(options.refusals));
  }

  readonly fetch = (givenInput: Input, givenInit?: RequestInit | null, givenOptions?: FetchOptions | null): Promise<Response> => {
    try {
      const { stack } = this.#site;
      const { key } = this.#options;
      const sender = this.#sender;
      const options = readCall(givenOptions);
      const input = inputOf(givenInput, stack.repeating);
      const init = initOf(givenInit, stack.repeating);
      const signal = signalOf(input, init);
      const prepared = options.prepare !== undefined || options.getBody !== undefined;
      // The runtime's fetch ends with its signal. Functions of the caller's need not: only a race ends at once.
      const racing = stack.racing || options.timeout !== undefined || (signal !== undefined && (prepared || !sender.isRuntimes));
      let name = options.key;
      if (name === undefined) name = key === undefined ? originOf(input) : this.#keyOf(givenInput, init);
      const substitutes = options.fallback === undefined ? this.#substitutes : orNone(readFallback("fallback", options.fallback), this.#substitutes?.refusals);
      const flags = flagsOfRequest(input, init, options, prepared);
      const kept = sender.replay > 0 && isKept({ input, init }, flags, sender.isRuntimes) ? new KeptBody(sender.replay) : undefined;
      const promise = this.#drive(new Sending(sender, input, init, options, racing, kept), name, flags, signal, racing, options, substitutes);
      if (kept !== undefined) whenOver(promise, () => kept.end());
      return promise;
    } catch (error) {
      return Promise.reject(error); // a drop-in for fetch never throws
    }
  };

  execute<T, F = T>(operation: Operate<T>, givenOptions?: ExecuteOptions<F> | null): Promise<T | F> {
    try {
      if (typeof operation !== "function") throw wrong("execute", operation, "a function");
      const options = readCall(givenOptions);
      const { timeout, key = null } = options;
      const signal = asSignal(options.signal);
      // An operation need not heed its signal; only in a race does the caller's leaving end the call at once.
      const racing = this.#site.stack.racing || timeout !== undefined || signal !== undefined;
      return this.#drive(new Operation(operation), key, flagsOf(AFTER_FAILURE, true, options), signal, racing, options, orNone(readValueFallback(options.fallback)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  with(scope: RequestScope): Guard {
    const { fetch = this.#scope.fetch, waitUntil = this.#scope.waitUntil } = readScope(scope);
    return new StackGuard(this.#site, this.#options, { fetch, waitUntil });
  }

  on<Type extends EventType | "*">(type: Type, listener: (event: EventOf<Type>) => void): () => void {
    checkListener(type, listener);
    return this.#site.engine.events.listen(this.#site.stack, type, listener as (event: GuardEvent) => void);
  }

  get state(): "guarded" | "unavailable" {
    return this.#site.engine.unavailable === undefined ? "guarded" : "unavailable";
  }

  metrics(): Metrics {
    return readMetrics(this.#site);
  }

  snapshot(): Uint8Array {
    return takeSnapshot(this.#site);
  }

  restore(bytes: Uint8Array, options: RestoreOptions = {}): Restored | false {
    if (!ArrayBuffer.isView(bytes)) throw wrong("restore", bytes, "a Uint8Array");
    return restoreSnapshot(this.#site, bytes, readRestore(options).orders === true);
  }

  breaker(key: string | null = null): BreakerHandle {
    return breakerHandle(this.#site, nameOf(this.#site.engine, "breaker", key));
  }

  tryAcquire(permits = 1, key: string | null = null): boolean {
    return tryAcquire(this.#site, permits, nameOf(this.#site.engine, "tryAcquire", key));
  }

  /** A function that fails is no reason for the call to fail: it has no key then. */
  #keyOf(input: Input, init: RequestInit | undefined): string | null {
    try {
      const key: unknown = this.#options.key?.(input, init) ?? null;
      if (key === null || typeof key === "string") return key;
      throw wrong("options.key()", key, "a string, or null");
    } catch (error) {
      const { engine, stack } = this.#site;
      engine.events.tell(stack, "keyFailed", { key: null, policy: undefined, error });
      return null;
    }
  }

  #drive<T>(
    work: Work<T>, key: string | null, flags: number, signal: AbortSignal | undefined, racing: boolean, options: CallSettings,
    substitutes: Substitutes | undefined,
  ): Promise<T> {
    const { timeout, cost, waitUntil = this.#scope.waitUntil } = options;
    const timeoutMs = timeout === undefined ? -1 : readTimeout(timeout);
    const permits = cost === undefined ? 1 : permitsOf("cost", cost);
    let promise = drive(this.#site, work, key, flags, timeoutMs, permits, signal, racing);
    if (substitutes !== undefined) promise = substituted(promise, this.#site, key, signal, substitutes);
    if (waitUntil !== undefined) anchor(waitUntil, promise);
    return promise;
  }
}

export function siteOf(engine: Engine, stack: Stack, { classify, abortIsTimeoutAfter }: Options): Site {
  return { engine, stack, classify, abortLimitMs: readAbortLimit(abortIsTimeoutAfter) };
}

function orNone(replace: Substitutes["replace"], refusals?: Substitutes["refusals"]): Substitutes | undefined {
  return replace === undefined && refusals === undefined ? undefined : { replace, refusals };
}

/** A fetch to be called as a plain function: a service binding's own must be called on its binding. */
function senderOf(fetch: Fetch | { fetch: Fetch }): Fetch {
  return typeof fetch === "function" ? fetch : (input, init) => methodOf(fetch, "fetch")(input, init);
}

function whenOver(promise: Promise<unknown>, act: () => void): void {
  promise.then(act, act);
}

/** Keeps the runtime from dropping the call. A hint: where it fails, the call's leases end by themselves. */
function anchor(waitUntil: (promise: Promise<unknown>) => void, promise: Promise<unknown>): void {
  try {
    ignore(waitUntil(promise.catch(() => {})));
  } catch {
    // Called too late, or not on its context.
  }
}

type Input = RequestInfo | URL;
