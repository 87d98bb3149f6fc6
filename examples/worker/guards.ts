// The guards behind the page's switches: one for each choice, made when it is first asked for.
//
// A Worker of yours needs none of this: it has one guard for each upstream, as guard.ts makes it. Here visitors put theirs
// together, in more ways than the 256 stacks an engine holds. So guards stand on a shelf with an engine of its own, and
// when it is full both are given up: what those guards had learned is forgotten, and nothing grows.

import { forbear, type Guard, type Host } from "forbear";
import { guard } from "./guard";
import { configOf, PRESETS, type Choice } from "./policies";

export interface Chosen {
  readonly choice: Choice;
  readonly guard: Guard;
  /** The latest of what its policies told, oldest first. */
  readonly told: Told[];
}

/** What a policy told: its kind, when, its facts, and a number that grows. */
export type Told = { seq: number; type: string; at: number };

const MOST_GUARDS = 200;
const MOST_TOLD = 256;
/** What is worth a line. What every call tells (`sent`, `done`, …) is in the calls' own records. */
const WORTH_TELLING = ["opened", "halfOpen", "closed", "hedge", "limitChanged", "rateChanged", "exhausted", "waited"] as const;

const usual = watched(PRESETS.usual, guard);
let shelf = freshShelf();
let told = 0;

/** The guard of a choice: the same one for the same choice. */
export function guardFor(choice: Choice): Chosen {
  const code = codeOf(choice);
  if (code === codeOf(usual.choice)) return usual;
  let chosen = shelf.guards.get(code);
  if (chosen === undefined) {
    if (shelf.guards.size === MOST_GUARDS) shelf = freshShelf();
    // Guards of a host of their own have an engine of their own, which goes when the last of them does.
    chosen = watched(choice, forbear(configOf(choice), { host: shelf.host }));
    shelf.guards.set(code, chosen);
  }
  return chosen;
}

/** All guards begin afresh, but for what the usual one's budget remembers. */
export function forgetGuards(key: string): void {
  shelf = freshShelf();
  usual.guard.breaker(key).reset();
  usual.told.length = 0;
}

/** What the guard's policies know of the upstream now; null where a policy is off, or knows nothing yet. */
export function readingsOf({ choice, guard }: Chosen, key: string) {
  const known = guard.metrics().keys.find((metrics) => metrics.key === key);
  return {
    budget: known?.budget ?? null,
    throttler: known?.throttler ?? null,
    breaker: choice.breaker === "off" ? null : { ...guard.breaker(key) },
    concurrencyLimiter: known?.concurrencyLimiter ?? null,
    bulkhead: known?.bulkhead ?? null,
    rateLimiter: known?.rateLimiter ?? null,
  };
}

export function toldAfter({ told }: Chosen, seq: number): Told[] {
  return told.filter((one) => one.seq > seq);
}

export function lastTold(): number {
  return told;
}

function watched(choice: Choice, guard: Guard): Chosen {
  const chosen: Chosen = { choice, guard, told: [] };
  for (const type of WORTH_TELLING) {
    guard.on(type, ({ stack, key, ...facts }) => {
      if (chosen.told.length === MOST_TOLD) chosen.told.shift();
      chosen.told.push({ ...facts, seq: (told += 1) });
    });
  }
  return chosen;
}

function freshShelf() {
  return { guards: new Map<string, Chosen>(), host: {} as Partial<Host> };
}

function codeOf(choice: Choice): string {
  return Object.values(choice).join();
}
