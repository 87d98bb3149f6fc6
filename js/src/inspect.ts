// Reads of what the engine has counted and learned, and an operator's hand on its circuits. All of it cold.

import type { Site } from "./call.js";
import type { Engine } from "./engine.js";
import { ConfigError } from "./errors.js";
import { BREAKER_STATES, POLICIES, REFUSAL_REASONS, VERDICTS } from "./generated/vocabulary.js";
import { AT } from "./instance.js";
import { NEW, WHOLE } from "./keys.js";
import type { Stack } from "./stacks.js";
import type { BreakerHandle, BreakerReading, BreakerState, KeyMetrics, Metrics, RefusalReason, Verdict } from "./types.js";

/** Reading touches nothing: no key becomes younger by being looked at. */
export function readMetrics({ engine, stack }: Site): Metrics {
  const keys = engine.ask((exports) => {
    const count = exports.keys();
    return Array.from({ length: count }, (_, key) => readKey(engine, stack, key)).filter((read) => read !== undefined);
  }, []);
  return { stack: stack.name, keys };
}

function readKey(engine: Engine, stack: Stack, key: number): KeyMetrics | undefined {
  const numbers = engine.ask(({ metrics }, instance) => (metrics(stack.id, key) ? reads(instance.numbers) : undefined), undefined);
  if (numbers === undefined) return undefined;
  const latencies = VERDICTS.length + REFUSAL_REASONS.length + 2;
  return {
    key: engine.keys.nameOf(key),
    calls: numbers[0]!,
    attempts: numbers[1]!,
    verdicts: counts<Verdict>(VERDICTS, numbers, 2),
    refusals: counts<RefusalReason>(REFUSAL_REASONS, numbers, 2 + VERDICTS.length),
    latencies: numbers
      .slice(latencies, latencies + BUCKETS)
      .map((count, i) => ({ belowMs: i === BUCKETS - 1 ? Infinity : 2 ** i, count })),
    breaker: readBreaker(engine, stack, key),
  };
}

export function breakerHandle({ engine, stack }: Site, name: string | null): BreakerHandle {
  const { on, shares } = stack.settings;
  if (!on.includes(BREAKER) && !shares.some(({ policy }) => policy === BREAKER)) {
    throw new ConfigError("this stack has no breaker", { path: "breaker" });
  }
  return new Circuit(engine, stack, name);
}

class Circuit implements BreakerHandle {
  readonly #engine: Engine;
  readonly #stack: Stack;
  readonly #name: string | null;

  constructor(engine: Engine, stack: Stack, name: string | null) {
    this.#engine = engine;
    this.#stack = stack;
    this.#name = name;
  }

  get state(): BreakerState {
    return this.#read().state;
  }
  get calls(): number {
    return this.#read().calls;
  }
  get failures(): number {
    return this.#read().failures;
  }
  get slow(): number {
    return this.#read().slow;
  }
  get trips(): number {
    return this.#read().trips;
  }
  get retryAfterMs(): number | undefined {
    return this.#read().retryAfterMs;
  }

  reset(): void {
    this.#order(0);
  }
  forceOpen(): void {
    this.#order(1);
  }
  forceClosed(): void {
    this.#order(2);
  }
  disable(): void {
    this.#order(3);
  }
  enable(): void {
    this.#order(4);
  }

  /** A key that nobody has called yet reads as a circuit that nothing has happened to. */
  #read(): BreakerReading {
    const key = this.#engine.keys.idOf(this.#name);
    return (key === NEW ? undefined : readBreaker(this.#engine, this.#stack, key)) ?? UNTOUCHED;
  }

  #order(action: number): void {
    const { host, events } = this.#engine;
    const key = internKey(this.#engine, this.#name);
    const now = (this.#engine.now = host.now());
    const random = host.random();
    events.operator = this.#stack;
    this.#engine.ask((exports, instance) => {
      exports.breaker_do(this.#stack.id, key, action, now, random);
      events.drain(exports, instance);
    }, undefined);
    events.operator = undefined;
  }
}

/** The number of a name, given now if it has none. */
export function internKey(engine: Engine, name: string | null): number {
  const known = engine.keys.idOf(name);
  if (known !== NEW || name === null) return known;
  const id = engine.ask((exports) => exports.key_intern(), NEW);
  engine.keys.learn(name, id);
  return id === NEW ? WHOLE : id;
}

function readBreaker(engine: Engine, stack: Stack, key: number): BreakerReading | undefined {
  const now = engine.host.now();
  const read = engine.ask(({ breaker_read }, instance) => (breaker_read(stack.id, key, now) ? reads(instance.numbers) : undefined), undefined);
  if (read === undefined) return undefined;
  const [state, calls, failures, slow, trips, after] = read as [number, number, number, number, number, number];
  return { state: BREAKER_STATES[state]!, calls, failures, slow, trips, retryAfterMs: after < 0 ? undefined : after };
}

function reads(numbers: Float64Array): number[] {
  return Array.from(numbers.subarray(AT.reads));
}

function counts<Word extends string>(words: readonly Word[], numbers: readonly number[], from: number): Record<Word, number> {
  return Object.fromEntries(words.map((word, i) => [word, numbers[from + i]!])) as Record<Word, number>;
}

const BREAKER = POLICIES.indexOf("breaker");
const BUCKETS = 16;
const UNTOUCHED: BreakerReading = { state: "closed", calls: 0, failures: 0, slow: 0, trips: 0, retryAfterMs: undefined };
