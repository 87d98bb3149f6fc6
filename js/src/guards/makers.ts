// The functions users call. Each entry (entry/) says how a runtime has the engine's module, and its host; nothing happens until
// something is built.

import { readOptions, readScope, readSharedOptions, timeOf, wordOf } from "../config/options.js";
import { Engine } from "../engine/engine.js";
import { siteOf, StackGuard } from "./guard.js";
import type { OwnHost } from "../host/host.js";
import { memberOf } from "../util/members.js";
import { methodOf } from "../util/method.js";
import { NamedBudget, NamedObject } from "./shared-objects.js";
import { Stacks } from "./stacks.js";
import type {
  BreakerConfig, BudgetConfig, Bulkhead, BulkheadConfig, CircuitBreaker, ConcurrencyLimiter, ConcurrencyLimiterConfig, Config, Guard, Host,
  Options, RateLimiter, RateLimiterConfig, Readings, RetryBudget, SharedOptions, Throttler, ThrottlerConfig,
} from "../types.js";

/** What a runtime contributes. */
export interface Runtime {
  /** The engine's module; asked for when something is built, and again after a trap. */
  module: () => WebAssembly.Module;
  host: () => OwnHost;
}

export interface Makers {
  /** Builds a guard. Reads no clock, sets no timer, draws no randomness. Throws a ConfigError. */
  forbear(config: Config, options?: Options): Guard;
  /** A drop-in for fetch, guarded. */
  wrapFetch(config: Config, options?: Options): Guard["fetch"];
  /** A retry budget to give to several stacks. */
  retryBudget(config?: BudgetConfig, options?: SharedOptions): RetryBudget;
  /** A throttler to give to several stacks. */
  throttler(config?: ThrottlerConfig, options?: SharedOptions): Throttler;
  /** A circuit breaker to give to several stacks. */
  circuitBreaker(config?: BreakerConfig, options?: SharedOptions): CircuitBreaker;
  /** A concurrency limiter to give to several stacks. */
  concurrencyLimiter(config?: ConcurrencyLimiterConfig, options?: SharedOptions): ConcurrencyLimiter;
  /** A bulkhead to give to several stacks. */
  bulkhead(config?: BulkheadConfig, options?: SharedOptions): Bulkhead;
  /** A rate limiter to give to several stacks. */
  rateLimiter(config?: RateLimiterConfig, options?: SharedOptions): RateLimiter;
}

export function makersFor(runtime: Runtime): Makers {
  let standard: Part | undefined;
  const others = new WeakMap<object, Part>();

  // One engine for each host: state that was learned on one clock means nothing on another.
  const partFor = (host: Partial<Host> | undefined): Part => {
    if (host === undefined) return (standard ??= partOf(runtime.host(), runtime.module));
    let part = others.get(host);
    if (part === undefined) others.set(host, (part = partOf(hostOf(runtime.host(), host), runtime.module)));
    return part;
  };

  const makes = <Policy extends keyof Readings, Made>(
    Made: new (engine: Engine, policy: Policy, maker: string, config: object) => Made, policy: Policy, maker: string = policy,
  ) => (config: object = {}, options: SharedOptions = {}): Made => {
    const { host } = readSharedOptions(options);
    return new Made(partFor(host).engine, policy, maker, config);
  };

  const forbear = (config: Config, given: Options = {}): Guard => {
    const options = readOptions(given);
    const { engine, stacks } = partFor(options.host);
    const stack = stacks.of(config);
    if (engine.unavailable !== undefined && options.onUnavailable === "throw") throw engine.unavailable;
    return new StackGuard(siteOf(engine, stack, options), options, readScope({}));
  };

  return {
    forbear,
    wrapFetch: (config, options) => forbear(config, options).fetch,
    retryBudget: makes(NamedBudget, "budget", "retryBudget"),
    throttler: makes(NamedObject<"throttler">, "throttler"),
    circuitBreaker: makes(NamedObject<"breaker">, "breaker", "circuitBreaker"),
    concurrencyLimiter: makes(NamedObject<"concurrencyLimiter">, "concurrencyLimiter"),
    bulkhead: makes(NamedObject<"bulkhead">, "bulkhead"),
    rateLimiter: makes(NamedObject<"rateLimiter">, "rateLimiter"),
  };
}

/** One of these functions. A call, and no destructuring: bundlers can leave out a call that is marked as pure. */
export const only = <Name extends keyof Makers>(name: Name, made: Makers): Makers[Name] => made[name];

interface Part {
  engine: Engine;
  stacks: Stacks;
}

/** What is given, over what is there. */
function hostOf(standard: OwnHost, given: Partial<Host>): OwnHost {
  const host: Record<string, unknown> = { ...standard };
  for (const name of ["now", "random", "arm", "fetch", "wallNow", "wakesOthers"] as const) {
    if (typeof memberOf(given, name) === "function") host[name] = methodOf(given, name);
  }
  const made = host as unknown as OwnHost;
  const { now, random } = made;
  if (now !== standard.now) made.now = () => timeOf(now.call(made));
  if (random !== standard.random) made.random = () => wordOf(random.call(made));
  return made;
}

function partOf(host: OwnHost, module: () => WebAssembly.Module): Part {
  const engine = new Engine(host, module);
  return { engine, stacks: new Stacks(engine) };
}
