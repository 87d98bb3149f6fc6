// The functions users call. Each entry (entry/) gives it the engine's module and a host; nothing happens until something is built.

import { checkOptions } from "./check.js";
import { readShared } from "./config.js";
import { Engine } from "./engine.js";
import { StackGuard } from "./guard.js";
import { SharedObject, type CircuitBreaker, type RetryBudget } from "./shared.js";
import { Stacks } from "./stacks.js";
import type { BreakerConfig, BudgetConfig, Config, Guard, Host, Options } from "./types.js";

/** What a runtime contributes. */
export interface Home {
  /** The engine's module; asked for when something is built, and again after a trap. */
  module: () => WebAssembly.Module;
  host: () => Host;
}

export interface Face {
  /** Builds a guard. Reads no clock, sets no timer, draws no randomness. Throws a ConfigError. */
  forbear(config: Config, options?: Options): Guard;
  /** A drop-in for fetch, guarded. */
  wrapFetch(config: Config, options?: Options): Guard["fetch"];
  /** A retry budget to give to several stacks. */
  retryBudget(config?: BudgetConfig): RetryBudget;
  /** A circuit breaker to give to several stacks. */
  circuitBreaker(config?: BreakerConfig): CircuitBreaker;
}

export function face(home: Home): Face {
  let standard: Part | undefined;
  const others = new WeakMap<object, Part>();

  // One engine for each host: state that was learned on one clock means nothing on another.
  const partFor = (host: Partial<Host> | undefined): Part => {
    if (host === undefined) return (standard ??= partOf(home.host(), home.module));
    let part = others.get(host);
    if (part === undefined) others.set(host, (part = partOf(hostOf(home.host(), host), home.module)));
    return part;
  };

  const share = (policy: string, maker: string, config: object): SharedObject => {
    const object = new SharedObject(policy, readShared(policy, maker, config));
    partFor(undefined).engine.check(object);
    return object;
  };

  const forbear = (config: Config, options: Options = {}): Guard => {
    checkOptions(options);
    const { engine, stacks } = partFor(options.host);
    return new StackGuard({ engine, stack: stacks.of(config), classify: options.classify }, options, {});
  };

  return {
    forbear,
    wrapFetch: (config, options) => forbear(config, options).fetch,
    retryBudget: (config = {}) => share("budget", "retryBudget", config) as RetryBudget,
    circuitBreaker: (config = {}) => share("breaker", "circuitBreaker", config) as CircuitBreaker,
  };
}

interface Part {
  engine: Engine;
  stacks: Stacks;
}

/** What is given, over what is there. An instance of a class has its methods elsewhere, and they are called on it. */
function hostOf(standard: Host, given: Partial<Host>): Host {
  const host: Record<string, unknown> = { ...standard, ...given };
  for (const name of ["now", "random", "arm", "fetch", "wallNow", "wakesOthers"] as const) {
    const method: unknown = given[name];
    if (typeof method !== "function") host[name] = standard[name];
    else if (!Object.hasOwn(given, name)) host[name] = method.bind(given);
  }
  return host as unknown as Host;
}

function partOf(host: Host, module: () => WebAssembly.Module): Part {
  const engine = new Engine(host, module);
  return { engine, stacks: new Stacks(engine) };
}
