// Reads of what the engine has counted and learned, and an operator's hand on its circuits. All of it cold.

import * as AT from "./answer.js";
import type { Site } from "./call.js";
import type { Engine } from "./engine.js";
import { EVENTS } from "./decision.js";
import { ConfigError } from "./errors.js";
import { BREAKER_STATES, POLICIES, REFUSAL_REASONS, VERDICTS } from "./generated/vocabulary.js";
import type { Exports } from "./instance.js";
import { NEW } from "./keys.js";
import type { Stack } from "./stack.js";
import type { BreakerHandle, BreakerReading, BreakerState, KeyMetrics, Metrics } from "./types.js";
import { show } from "./wording.js";

/** Reading touches nothing: no key becomes younger by being looked at. */
export function readMetrics({ engine, stack }: Site): Metrics {
  const count = engine.ask((exports) => exports.keys(), 0);
  const keys = Array.from({ length: count }, (_, key) => readKey(engine, stack, key)).filter((read) => read !== undefined);
  return { stack: stack.name, keys };
}

function readKey(engine: Engine, stack: Stack, key: number): KeyMetrics | undefined {
  const numbers = read(engine, ({ metrics }) => metrics(stack.id, key));
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
    breaker: readBreaker(engine, stack, key),
  };
}

export function breakerHandle({ engine, stack }: Site, name: string | null): BreakerHandle {
  const { on, shares } = stack.settings;
  const breaker = POLICIES.indexOf("breaker");
  if (!on.includes(breaker) && !shares.some(({ policy }) => policy === breaker)) {
    throw new ConfigError("this stack has no breaker", { path: "breaker" });
  }
  const handle = {};
  for (const fact of Object.keys(UNTOUCHED)) {
    const get = (): unknown => {
      const key = engine.keys.idOf(name);
      return ((key !== NEW && readBreaker(engine, stack, key)) || UNTOUCHED)[fact as keyof BreakerReading];
    };
    Object.defineProperty(handle, fact, { get, enumerable: true });
  }
  ACTIONS.forEach((order, action) => {
    const act = (): void => {
      const key = engine.intern(name);
      if (key === NEW) throw new Error(`there is no room for the key ${show(name)}: all others are busy (in use, or their circuits not closed)`);
      engine.events.operator = stack;
      engine.say((exports, now, random) => (exports.breaker_do(stack.id, key, action, now, random), EVENTS));
      engine.events.operator = undefined;
    };
    Object.defineProperty(handle, order, { value: act });
  });
  return handle as BreakerHandle;
}

function readBreaker(engine: Engine, stack: Stack, key: number): BreakerReading | undefined {
  const now = engine.host.now();
  const numbers = read(engine, ({ breaker_read }) => breaker_read(stack.id, key, now));
  if (numbers === undefined) return undefined;
  const [state, calls, failures, slow, trips, after, consecutiveFailures] = numbers as [number, number, number, number, number, number, number];
  const retryAfterMs = after < 0 ? undefined : after;
  return readingOf(BREAKER_STATES[state]!, calls, failures, slow, consecutiveFailures, trips, retryAfterMs);
}

function readingOf(
  state: BreakerState, calls: number, failures: number, slow: number, consecutiveFailures: number, trips: number, retryAfterMs: number | undefined,
): BreakerReading {
  const rate = (count: number): number => (calls > 0 ? count / calls : 0);
  return { state, calls, failures, slow, failureRate: rate(failures), slowRate: rate(slow), consecutiveFailures, trips, retryAfterMs };
}

/** The numbers that a read leaves, if it finds what it is asked for. */
function read(engine: Engine, question: (exports: Exports) => number): number[] | undefined {
  return engine.ask((exports, { numbers }) => (question(exports) ? [...numbers.subarray(AT.reads)] : undefined), undefined);
}

/** An operator's orders, by code. */
const ACTIONS = ["reset", "forceOpen", "forceClosed", "disable", "enable"] as const;
const BUCKETS = 16;
/** What a key that nobody has called yet reads as. */
const UNTOUCHED = /* @__PURE__ */ readingOf("closed", 0, 0, 0, 0, 0, undefined);
