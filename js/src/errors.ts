// Errors that forbear itself makes. They are told apart by a brand and not by their class: two copies of the package, or
// two realms, must recognise each other's. `instanceof` asks for the brand too.

import type { RefusalReason } from "./types.js";

const BRAND: unique symbol = /* @__PURE__ */ Symbol.for("forbear.error") as never;

interface Details {
  /** The stack's name. (`stack` is taken: it is every error's trace.) */
  stackName: string | undefined;
  key: string | null;
  cause?: unknown;
}

abstract class BrandedError extends Error {
  abstract readonly [BRAND]: string;

  static override [Symbol.hasInstance](value: unknown): boolean {
    return brandOf(value) === this.prototype[BRAND];
  }
}

/** A policy refused the call, or its next attempt. `cause` is then what the last attempt brought: its error, or `{ status, headers }`. */
export class RejectedError extends BrandedError {
  get [BRAND](): "RejectedError" {
    return "RejectedError";
  }

  override readonly name = "RejectedError";
  readonly reason: RefusalReason;
  readonly policy: string;
  readonly stackName: string | undefined;
  readonly key: string | null;
  /** After this time the refusing policy would not refuse; unknown where undefined. */
  readonly retryAfterMs: number | undefined;

  constructor(details: Details & { reason: RefusalReason; policy: string; retryAfterMs: number | undefined }) {
    const { reason, policy, stackName, key, retryAfterMs, cause } = details;
    super(`${reason}${where(stackName, key)}${retryAfterMs === undefined ? "" : `, try again in ${retryAfterMs} ms`}`, causeOf(cause));
    this.reason = reason;
    this.policy = policy;
    this.stackName = stackName;
    this.key = key;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Time was up: for the whole call (`policy` is "deadline") or for its last attempt ("attemptTimeout"). */
export class TimeoutError extends BrandedError {
  get [BRAND](): "TimeoutError" {
    return "TimeoutError";
  }

  override readonly name = "TimeoutError";
  readonly policy: "deadline" | "attemptTimeout";
  readonly stackName: string | undefined;
  readonly key: string | null;
  readonly attempt: number;
  readonly elapsedMs: number;

  constructor(details: Details & { policy: "deadline" | "attemptTimeout"; attempt: number; elapsedMs: number }) {
    const { policy, stackName, key, attempt, elapsedMs, cause } = details;
    const what = policy === "deadline" ? "the call" : `attempt ${attempt}`;
    super(`${what} took too long${where(stackName, key)}, ended after ${elapsedMs} ms`, causeOf(cause));
    this.policy = policy;
    this.stackName = stackName;
    this.key = key;
    this.attempt = attempt;
    this.elapsedMs = elapsedMs;
  }
}

/** A configuration that cannot be: which value, and what may stand there. */
export class ConfigError extends BrandedError {
  get [BRAND](): "ConfigError" {
    return "ConfigError";
  }

  override readonly name = "ConfigError";
  /** Where in the configuration, such as `retry.backoff.base`. */
  readonly path: string;
  readonly value: unknown;
  /** What may stand there, in words. */
  readonly allowed: string | undefined;

  constructor(message: string, details: { path?: string; value?: unknown; allowed?: string; cause?: unknown } = {}) {
    super(message, causeOf(details.cause));
    this.path = details.path ?? "";
    this.value = details.value;
    this.allowed = details.allowed;
  }
}

/** The brand of an error made by any copy of forbear; undefined for all others. */
export function brandOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const brand: unknown = (value as { [BRAND]?: unknown })[BRAND];
  return typeof brand === "string" ? brand : undefined;
}

function where(stackName: string | undefined, key: string | null): string {
  return `${stackName === undefined ? "" : ` in ${stackName}`}${key === null ? "" : ` for ${key}`}`;
}

function causeOf(cause: unknown): ErrorOptions | undefined {
  return cause === undefined ? undefined : { cause };
}
