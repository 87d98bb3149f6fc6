// What can be chosen of the guarded lane: each policy off, or on with one of a few settings, and presets of all of them.
// A query says it: `?preset=limits&hedge=100ms&bulkhead=off`. Nothing but these words ever reaches a guard.

import type { Config } from "forbear";

/** Settings by the word that chooses them. Times are short, so that a visitor sees what they do within seconds. */
export const SETTINGS = {
  total: { "1s": "1s", "3s": "3s", "10s": "10s" },
  attempt: { "300ms": "300ms", "1s": "1s" },
  retry: {
    "2": { attempts: 2, backoff: { base: "50ms", cap: "1s" } },
    "3": { attempts: 3, backoff: { base: "50ms", cap: "1s" } },
    "5": { attempts: 5, backoff: { base: "50ms", cap: "1s" } },
  },
  /** Repeats for each call, as a share. It is a setting of retry; hedges alone have the default one. */
  budget: { "0.1": { ratio: 0.1 }, "0.5": { ratio: 0.5 } },
  hedge: { "100ms": { after: "100ms" }, "300ms": { after: "300ms" } },
  throttler: { "2": { multiplier: 2, window: "10s" }, "1.5": { multiplier: 1.5, window: "10s" } },
  breaker: {
    "5s": { openFor: "5s", maxOpenFor: "5s", slowCall: "800ms" },
    "15s": { openFor: "15s", maxOpenFor: "15s", slowCall: "800ms" },
  },
  concurrencyLimiter: {
    vegas: { algorithm: "vegas", initial: 8, min: 1 },
    gradient2: { algorithm: "gradient2", initial: 8, min: 1 },
    aimd: { algorithm: "aimd", initial: 8, min: 1 },
  },
  /** So many at once, and so many in line. */
  bulkhead: { "2": { concurrency: 2 }, "2-10": { concurrency: 2, queue: 10 }, "10-20": { concurrency: 10, queue: 20 } },
  /** So many a second, and how long a turn is waited for. */
  rateLimiter: { "10": { rate: 10 }, "10-1s": { rate: 10, wait: "1s" }, "30-1s": { rate: 30, wait: "1s" } },
} as const;

export type Policy = keyof typeof SETTINGS;
/** A word for every policy; `off` is one for each. */
export type Choice = { readonly [P in Policy]: string };

const OFF = Object.fromEntries(Object.keys(SETTINGS).map((policy) => [policy, "off"])) as Choice;
const USUAL: Choice = { ...OFF, total: "3s", attempt: "1s", retry: "3", budget: "0.1", breaker: "5s" };

export const PRESETS: Readonly<Record<string, Choice>> = {
  off: OFF,
  usual: USUAL,
  limits: { ...OFF, total: "3s", attempt: "1s", throttler: "2", concurrencyLimiter: "vegas", bulkhead: "10-20", rateLimiter: "30-1s" },
  everything: { ...USUAL, hedge: "300ms", throttler: "2", concurrencyLimiter: "vegas", bulkhead: "10-20", rateLimiter: "30-1s" },
};

/** What was wrong with a query: which parameter, what it held, what it may hold. */
export interface Misfit {
  error: string;
  field: string;
  value: string | null;
  allowed: string;
}

/** Reads a query. Without one it is the usual guard. */
export function readChoice(query: URLSearchParams): { choice: Choice } | { misfit: Misfit } {
  const given = new Map<string, string>();
  for (const [name, value] of query) {
    if (name !== "preset" && !Object.hasOwn(SETTINGS, name)) return misfit(name, value, ["preset", ...Object.keys(SETTINGS)], `there is no parameter "${brief(name)}"`);
    if (given.has(name)) return misfit(name, value, [`one ${name}`], `${name} is given twice`);
    const words = name === "preset" ? Object.keys(PRESETS) : ["off", ...Object.keys(SETTINGS[name as Policy])];
    if (!words.includes(value)) return misfit(name, value, words, `${name} cannot be "${brief(value)}"`);
    given.set(name, value);
  }
  const preset = PRESETS[given.get("preset") ?? "usual"];
  given.delete("preset");
  const choice = { ...preset, ...Object.fromEntries(given) };
  return { choice: choice.retry === "off" ? { ...choice, budget: "off" } : choice };
}

export function configOf(choice: Choice): Config {
  const retry = setting(choice, "retry");
  return {
    timeout: { total: setting(choice, "total"), attempt: setting(choice, "attempt") },
    retry: retry && { ...retry, budget: setting(choice, "budget") },
    hedge: setting(choice, "hedge"),
    throttler: setting(choice, "throttler"),
    breaker: setting(choice, "breaker"),
    concurrencyLimiter: setting(choice, "concurrencyLimiter"),
    bulkhead: setting(choice, "bulkhead"),
    rateLimiter: setting(choice, "rateLimiter"),
  };
}

type Setting<P extends Policy> = (typeof SETTINGS)[P][keyof (typeof SETTINGS)[P]];

function setting<P extends Policy>(choice: Choice, policy: P): Setting<P> | false {
  const word = choice[policy];
  return word !== "off" && SETTINGS[policy][word as keyof (typeof SETTINGS)[P]];
}

function misfit(field: string, value: string, words: string[], what: string): { misfit: Misfit } {
  const allowed = words.join(", ");
  return { misfit: { error: `${what}; allowed: ${allowed}`, field: brief(field), value: brief(value), allowed } };
}

/** What strangers wrote is not repeated at length. */
function brief(text: string): string {
  return text.length > LONGEST_ECHO ? `${text.slice(0, LONGEST_ECHO)}…` : text;
}

const LONGEST_ECHO = 40;
