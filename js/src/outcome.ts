// How an attempt ended, as the engine hears it: an HTTP status, or a code for what is none. Errors are read by structure
// first (brands, marks the runtime sets, error codes, DOMException names) and by their words last, since words change.

import { brandOf, type RejectedError } from "./errors.js";
import { VERDICTS } from "./generated/vocabulary.js";
import type { Classify, Settled, Verdict } from "./types.js";
import { wrong } from "./wording.js";

// By their places among OUTCOMES.
export const SUCCESS = 0;
const ANSWERED = 1;
const UNAVAILABLE = 3;
const SHEDDING = 4;
export const TRANSIENT = 5;
const UNSENT = 6;
export const TIMEOUT = 7;
const REJECTED = 8;
export const DEFECT = 9;
const CANCELLED = 10;
const INCONCLUSIVE = 11;

const OF_VERDICTS = [SUCCESS, ANSWERED, UNAVAILABLE, TRANSIENT, TIMEOUT, REJECTED, DEFECT, CANCELLED, INCONCLUSIVE];

/** What a classifier says; undefined when it has nothing to say. Throws what it throws, and where it says what it cannot. */
export function classified(classify: Classify, settled: Settled, attempt: number): number | undefined {
  const said: unknown = classify(settled, { attempt });
  if (said === undefined || said === null) return undefined;
  if (Number.isInteger(said) && (said as number) >= 100 && (said as number) <= 599) return said as number;
  const outcome = OF_VERDICTS[VERDICTS.indexOf(said as Verdict)];
  if (outcome !== undefined) return outcome;
  if (typeof said === "object") Promise.resolve(said).catch(() => {}); // async, which says nothing in time
  throw wrong("options.classify()", said, `one of ${VERDICTS.join(", ")}, a status from 100 to 599, or undefined`);
}

/** The status of a response; 0, a success, for an opaque one and for any other value. */
export function outcomeOfValue(value: unknown): number {
  if (!isResponse(value)) return SUCCESS;
  const { status } = value;
  return typeof status === "number" ? status : SUCCESS;
}

export function isResponse(value: unknown): value is Response {
  if (typeof value !== "object" || value === null) return false;
  try {
    // A Response of another realm, or of a fetch from a package, is one all the same.
    return value instanceof Response || Object.prototype.toString.call(value) === "[object Response]";
  } catch {
    return false; // a proxy that does not want to be asked
  }
}

export function outcomeOfError(error: unknown): number {
  switch (brandOf(error)) {
    case "RejectedError":
      return REJECTED;
    case "TimeoutError":
      return TIMEOUT;
    case "ConfigError":
      return DEFECT;
  }
  if (typeof error !== "object" || error === null) return TRANSIENT;
  const { name, overloaded, retryable, durableObjectReset } = error as RuntimeError;
  if (overloaded === true) return SHEDDING;
  const chain = chainOf(error);
  const code = chain.map(({ code }) => code).find((code) => typeof code === "string") as string | undefined;
  if (code !== undefined && NEVER_SENT.test(code)) return UNSENT;
  if (code === "UND_ERR_ABORTED" || name === "AbortError") return CANCELLED;
  if (name === "TimeoutError") return TIMEOUT;
  if ((code !== undefined && DEFECT_CODES.test(code)) || name === "ReferenceError") return DEFECT;
  if (code !== undefined || retryable === true || durableObjectReset === true) return TRANSIENT;
  return DEFECT_WORDS.test(chain.map(({ message }) => message).join("\n")) ? DEFECT : TRANSIENT;
}

/** How long an inner stack, which refused, asked to be left alone; −1 for no word. */
export function retryAfterOfError(error: unknown): number {
  if (brandOf(error) !== "RejectedError") return -1;
  const { retryAfterMs } = error as RejectedError;
  return typeof retryAfterMs === "number" ? retryAfterMs : -1;
}

interface RuntimeError {
  name?: unknown;
  message?: unknown;
  code?: unknown;
  cause?: unknown;
  overloaded?: unknown;
  retryable?: unknown;
  durableObjectReset?: unknown;
}

/** An error and its causes: undici hides what happened one below "fetch failed", others deeper. */
function chainOf(error: unknown): RuntimeError[] {
  const chain: RuntimeError[] = [];
  for (let link = error; chain.length < 5 && typeof link === "object" && link !== null; link = (link as RuntimeError).cause) chain.push(link);
  return chain;
}

/** Codes that say that nothing was sent: no name, no connection. Bun writes them in its own way. */
const NEVER_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket|DNSException)$/;

/** Codes of requests that could never be sent as they are. */
const DEFECT_CODES = /^(ERR_INVALID_|UND_ERR_(INVALID_ARG|REQ_CONTENT_LENGTH_MISMATCH|NOT_SUPPORTED|MAX_REDIRECT))/;

/**
 * Mistakes that have no code. Everything else is taken for a fault on the way: engines word those in too many ways
 * ("Network connection lost.", "Failed to fetch (host)", "Load failed", "terminated", …), and a well-formed request that was
 * not aborted has no other way to fail.
 */
const DEFECT_WORDS = new RegExp(
  "body (has|is|was) already|already (been )?(used|read|consumed)|body is (unusable|disturbed|locked)|disturbed or locked|one-time-use body|" +
    "duplex|cannot have (a )?body|invalid url|parsed? (as a )?url|bad port|requests to port|unknown scheme|" +
    "too many (redirects|subrequests)|redirect count exceeded|within global scope|on behalf of a different|" +
    "illegal invocation|content security policy",
  "i",
);
