// Reads of what the engine has counted and learned, and what operators do. All of it cold.

import * as AT from "../engine/memory-layout.js";
import type { Site } from "../call/call.js";
import { permitsOf } from "../config/options.js";
import { hasPolicy } from "../config/read.js";
import { EVENTS } from "../engine/decision.js";
import type { Engine } from "../engine/engine.js";
import { ConfigError } from "../errors.js";
import { originOf } from "../http/facts.js";
import { FIGURES, POLICIES, REFUSAL_REASONS, VERDICTS, type Readings } from "../generated/vocabulary.js";
import { factsOf, type Exports, type Instance } from "../engine/instance.js";
import { NEW, OVERFLOW } from "../engine/keys.js";
import { SharedObject } from "../config/settings.js";
import type { Stack } from "../engine/stack.js";
import type { BreakerHandle, KeyMetrics, Metrics } from "../types.js";
import { show, wrong } from "../config/wording.js";

/** Reading touches nothing: no key becomes younger by being looked at. */
export function readMetrics({ engine, stack }: Site): Metrics {
  const count = engine.ask((exports) => exports.keys(), 0);
  const keys = Array.from({ length: count }, (_, key) => readKey(engine, stack, key)).filter((read) => read !== undefined);
  return { stack: stack.name, keys };
}

function readKey(engine: Engine, stack: Stack, key: number): KeyMetrics | undefined {
  const numbers = engine.ask((exports, instance) => (exports.metrics(stack.id, key) ? [...instance.numbers.subarray(AT.reads)] : undefined), undefined);
  if (numbers === undefined) return undefined;
  const take = (count: number): number[] => numbers.splice(0, count);
  const named = <Word extends string>(words: readonly Word[]): Record<Word, number> =>
    Object.fromEntries(take(words.length).map((count, i) => [words[i]!, count])) as Record<Word, number>;
  const [calls, attempts] = take(2) as [number, number];
  return {
    key: engine.keys.nameOf(key),
    calls,
    attempts,
    verdicts: named(VERDICTS),
    refusals: named(REFUSAL_REASONS),
    latencies: take(BUCKETS).map((count, i) => ({ belowMs: i === BUCKETS - 1 ? null : 2 ** i, count })),
    ...readPolicies(engine, stack, key),
  };
}

function readPolicies(engine: Engine, stack: Stack, key: number): { [Policy in keyof Readings]: Readings[Policy] | undefined } {
  const policies = Object.keys(FIGURES) as (keyof Readings)[];
  return Object.fromEntries(policies.map((policy) => [policy, read(engine, stack, policy, key)])) as never;
}

/** What a shared object's policy knows of a key. */
export function readObject<Policy extends keyof Readings>(engine: Engine, object: SharedObject & { policy: Policy }, name: string | null): Readings[Policy] {
  return read(engine, object, object.policy, engine.keys.idOf(name)) ?? unknown(object.policy);
}

/** A key that nobody has called yet is in no table, and reads so. */
function read<Policy extends keyof Readings>(
  engine: Engine, owner: Owner, policy: Policy, key: number,
): Readings[Policy] | undefined {
  const now = engine.host.now();
  return engine.ask((exports, instance) => {
    const object = objectOf(engine, owner, policy, exports, instance);
    return object >= 0 && exports.read(object, key, now) ? instance.facts(FIGURES[policy], AT.reads) : undefined;
  }, undefined) as Readings[Policy] | undefined;
}

/** Without an engine nothing is known, and nothing is refused. */
function unknown<Policy extends keyof Readings>(policy: Policy): Readings[Policy] {
  return factsOf(FIGURES[policy], new Float64Array(FIGURES[policy].length)) as unknown as Readings[Policy];
}

export function breakerHandle({ engine, stack }: Site, name: string | null): BreakerHandle {
  insistOn(stack, "breaker");
  const handle = {};
  for (const fact of Object.keys(unknown("breaker")) as (keyof Readings["breaker"])[]) {
    const get = (): unknown => (read(engine, stack, "breaker", engine.keys.idOf(name)) ?? unknown("breaker"))[fact];
    Object.defineProperty(handle, fact, { get, enumerable: true });
  }
  ACTIONS.forEach((order, action) => {
    const act = (): void => {
      if (engine.unavailable !== undefined) throw engine.unavailable;
      const key = engine.intern(name);
      if (key === NEW) throw new Error(`there is no room for the key ${show(name)}: all others are busy (in use, or their circuits not closed)`);
      const random = engine.host.random();
      operate(engine, stack, "breaker", (object, exports, now) => exports.breaker_do(object, key, action, now, random), 0);
    };
    Object.defineProperty(handle, order, { value: act });
  });
  // What Node and its like print, in place of [Getter] for each of them.
  Object.defineProperty(handle, Symbol.for("nodejs.util.inspect.custom"), { value: () => ({ ...handle }) });
  return handle as BreakerHandle;
}

/** Takes permits of a stack's rate limiter, or none. After the engine has died nothing is limited; where there is none, nothing is given. */
export function tryAcquire({ engine, stack }: Site, permits: number, name: string | null): boolean {
  insistOn(stack, "rateLimiter");
  const count = permitsOf("tryAcquire", permits);
  const key = limitedKey(engine, name);
  return operate(engine, stack, "rateLimiter", (object, exports, now) => exports.try_acquire(object, key, count, now), engine.unavailable === undefined ? 1 : 0) !== 0;
}

/** Pays from a budget for something that no stack sends. Without an engine nothing is paid for. */
export function pay(engine: Engine, budget: SharedObject, name: string | null): boolean {
  const key = limitedKey(engine, name);
  return operate(engine, budget, "budget", (object, exports, now) => exports.spend(object, key, now), 0) !== 0;
}

/** Whose state is meant: an origin, by any URL of it, or any other name; null for that of calls without a key. */
export function nameOf(engine: Engine, path: string, key: string | null): string | null {
  if (key !== null && typeof key !== "string") throw wrong(path, key, "a string, or null");
  // A key may look like a URL and be none.
  const isName = key === null || engine.keys.idOf(key) !== NEW || !key.includes("://");
  return isName ? key : (originOf(key) ?? key);
}

/** As calls do, a newcomer that finds all keys busy shares one with others like it. */
function limitedKey(engine: Engine, name: string | null): number {
  const key = engine.intern(name);
  return key === NEW ? OVERFLOW : key;
}

function insistOn(stack: Stack, policy: keyof Readings): void {
  if (hasPolicy(stack.settings, policy)) return;
  const guard = stack.name === undefined ? "this guard" : `the guard ${show(stack.name)}`;
  const allowed = `${policy}: {}, or with options, in its configuration`;
  throw new ConfigError(`${guard} has no ${policy}; expected ${allowed}`, { path: policy, allowed });
}

/** What an operator does belongs to no stack's verb, so whose it is, and who hears of it, is said beside it. */
function operate(
  engine: Engine, owner: Owner, policy: keyof Readings, act: (object: number, exports: Exports, now: number) => number, otherwise: number,
): number {
  let answer = otherwise;
  engine.events.operator = owner;
  try {
    engine.say((exports, now, instance) => {
      answer = act(objectOf(engine, owner, policy, exports, instance), exports, now);
      return EVENTS;
    });
  } finally {
    engine.events.operator = undefined;
  }
  return answer;
}

/** The number of an object in this instance; −1 where the stack has none of this policy. */
function objectOf(engine: Engine, owner: Owner, policy: keyof Readings, exports: Exports, instance: Instance): number {
  if (owner instanceof SharedObject) return engine.objectId(instance, owner);
  return exports.object_of(owner.id, POLICIES.indexOf(policy));
}

/** Who has the object: a stack, its own or shared, or whoever shares it. */
type Owner = Stack | SharedObject;

/** An operator's orders, by code. */
const ACTIONS = ["reset", "forceOpen", "forceClosed", "disable", "enable"] as const;
const BUCKETS = 16;
