// The words for values that cannot be.

import { ConfigError } from "../errors.js";
import { ignore } from "../util/ignore.js";
import { SharedObject } from "./settings.js";

export function wrong(path: string, value: unknown, allowed: string, beside = ""): ConfigError {
  ignore(value); // whoever gave a promise, of an async function, hears of it here alone
  path ||= "configuration";
  return new ConfigError(`${path}: ${show(value)} is not allowed${beside}; expected ${allowed}`, { path, value, allowed });
}

/** `value` is what stands there; `elsewhere` is where the name is known. */
export function unknownName(path: string, value: unknown, name: string, known: readonly string[], elsewhere: readonly string[] = []): ConfigError {
  const allowed = known.join(", ");
  // One letter off, it is more likely the name here than one that is known elsewhere.
  const meant = known.find((word) => distance(name, word) <= 1) ?? (elsewhere.join('" or "') || nearestOf(name, known));
  return new ConfigError(`${path}: unknown; ${meant ? `did you mean "${meant}"?` : `known are ${allowed}`}`, { path, value, allowed });
}

export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value);
  if (typeof value === "function") return "a function";
  if (value instanceof SharedObject) return `a ${value.settings.root}`;
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** The known name that is hidden in this one (`circuitBreaker`), or differs by few letters. */
function nearestOf(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  const near = (word: string): number => (lower.includes(word.toLowerCase()) ? 0 : distance(name, word));
  const [nearest, letters] = known.map((word) => [word, near(word)] as const).sort(([, a], [, b]) => a - b)[0]!;
  return letters <= Math.ceil(name.length / 3) ? nearest : undefined;
}

/** How many letters differ (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const letter of a) {
    const next = [row[0]! + 1];
    for (let j = 0; j < b.length; j++) next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + Number(letter !== b[j])));
    row = next;
  }
  return row[b.length]!;
}

const LONGEST = 40;
