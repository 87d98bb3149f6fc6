// Errors that forbear itself makes. They are told apart by a brand and not by their class: two copies of the package, or
// two realms, must recognise each other's. `instanceof` asks for the brand too.

import type { RefusalReason } from "./types.js";

const BRAND: unique symbol = /* @__PURE__ */ Symbol.for("forbear.error") as never;

// Their names are written down, since minified classes have none that says anything, and consoles show it.

abstract class BrandedError extends Error {
  abstract readonly [BRAND]: string;

  /** `facts` become properties of the error; its cause among them only where there is one. */
  constructor(message: string, { cause, ...facts }: { readonly cause?: unknown }) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = this[BRAND];
    Object.assign(this, facts);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // A class that is derived from one of ours is nobody else's.
    return Object.hasOwn(this.prototype, BRAND) ? brandOf(value) === this.prototype[BRAND] : Function.prototype[Symbol.hasInstance].call(this, value);
  }
}

/** Which call it was. */
interface CallFacts {
  /** The stack's name. (`stack` is taken: it is every error's trace.) */
  readonly stackName: string | undefined;
  readonly key: string | null;
}

interface RejectedFacts extends CallFacts {
  readonly reason: RefusalReason;
  readonly policy: string;
  /** After this time the refusing policy would not refuse; unknown where undefined. */
  readonly retryAfterMs: number | undefined;
}

interface TimeoutFacts extends CallFacts {
  readonly policy: "deadline" | "attemptTimeout";
  readonly attempt: number;
  /** Of the whole call. */
  readonly elapsedMs: number;
}

interface ConfigFacts {
  /** Where in the configuration, such as `retry.backoff.base`. */
  readonly path: string;
  readonly value: unknown;
  /** What may stand there, in words. */
  readonly allowed: string | undefined;
}

/** A policy refused the call, or its next attempt. `cause` is then what the last attempt brought: its error, or `{ status, headers }`. */
export class RejectedError extends BrandedError {
  static override readonly name = "RejectedError";

  get [BRAND](): "RejectedError" {
    return "RejectedError";
  }

  constructor(facts: RejectedFacts & { cause?: unknown }) {
    const { reason, retryAfterMs } = facts;
    const cure = reason === "oversized" ? ": its cost is more than the rate limiter's burst" : "";
    super(`${reason}${where(facts)}${retryAfterMs === undefined ? cure : `, try again in ${retryAfterMs} ms`}`, facts);
  }
}
export interface RejectedError extends RejectedFacts {
  readonly name: "RejectedError";
}

/** Time was up: for the whole call (`policy` is "deadline") or for its last attempt ("attemptTimeout"). */
export class TimeoutError extends BrandedError {
  static override readonly name = "TimeoutError";

  get [BRAND](): "TimeoutError" {
    return "TimeoutError";
  }

  constructor(facts: TimeoutFacts & { cause?: unknown }) {
    const { policy, attempt, elapsedMs } = facts;
    const what = policy === "deadline" ? "the call" : `attempt ${attempt}`;
    super(`${what} took too long${where(facts)}, ended ${elapsedMs} ms after the call began`, facts);
  }
}
export interface TimeoutError extends TimeoutFacts {
  readonly name: "TimeoutError";
}

/** A configuration that cannot be: which value, and what may stand there. */
export class ConfigError extends BrandedError {
  static override readonly name = "ConfigError";

  get [BRAND](): "ConfigError" {
    return "ConfigError";
  }

  constructor(message: string, facts: Partial<ConfigFacts> & { cause?: unknown } = {}) {
    super(message, { path: "", value: undefined, allowed: undefined, ...facts } satisfies ConfigFacts & { cause?: unknown });
  }
}
export interface ConfigError extends ConfigFacts {
  readonly name: "ConfigError";
}

/** This host has no WebAssembly, or may not compile any: there will be no engine. */
export class Unavailable extends ConfigError {}

/** The brand of an error made by any copy of forbear; undefined for all others. */
export function brandOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const brand: unknown = (value as { [BRAND]?: unknown })[BRAND];
  return typeof brand === "string" ? brand : undefined;
}

function where({ stackName, key }: CallFacts): string {
  return oneLine(`${stackName === undefined ? "" : ` in ${stackName}`}${key === null ? "" : ` for ${key}`}`);
}

/** A message stays one line of a log, whatever stands in a name. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, " ");
}
