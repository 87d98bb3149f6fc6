// How an attempt ended, as the engine hears it: an HTTP status, or a code for what is none. Errors are read by structure
// first (brands, marks the runtime sets, error codes, DOMException names) and by their words last, since words change.

import { unconnected } from "../host/connections.js";
import { brandOf, type RejectedError } from "../errors.js";
import { originOf } from "./facts.js";
import { VERDICTS } from "../generated/vocabulary.js";
import type { Classify, Settled, Verdict } from "../types.js";
import { wrong } from "../config/wording.js";

// By their places among OUTCOMES.
export const SUCCESS = 0;
const ANSWERED = 1;
const UNAVAILABLE = 3;
const SHEDDING = 4;
export const TRANSIENT = 5;
export const UNSENT = 6;
const TIMEOUT = 7;
export const REJECTED = 8;
export const DEFECT = 9;
const CANCELLED = 10;
export const INCONCLUSIVE = 11;
/** The time of whoever stands around the call is up; the attempt may run on. */
export const GIVEN_UP = 12;

/** Bits beside the status of a response that came after a redirect, and from the origin that was called. */
const REDIRECTED = 1 << 12;
const SAME_ORIGIN = 1 << 13;

const OF_VERDICTS = [SUCCESS, ANSWERED, UNAVAILABLE, TRANSIENT, TIMEOUT, REJECTED, DEFECT, CANCELLED, INCONCLUSIVE];

/** What a classifier says; undefined when it has nothing to say. Throws what it throws, and where it says what it cannot. */
export function classified(classify: Classify, settled: Settled, attempt: number): number | undefined {
  const said: unknown = classify(settled, { attempt });
  if (said === undefined || said === null) return undefined;
  if (Number.isInteger(said) && (said as number) >= 100 && (said as number) <= 599) return said as number;
  const outcome = OF_VERDICTS[VERDICTS.indexOf(said as Verdict)];
  if (outcome !== undefined) return outcome;
  throw wrong("options.classify()", said, `one of ${VERDICTS.join(", ")}, a status from 100 to 599, or undefined`);
}

/** The status of a response; 0, a success, for an opaque one and for what says no status. */
export function outcomeOfResponse({ status }: Response): number {
  return Number.isInteger(status) && status >= 100 && status <= 999 ? status : SUCCESS;
}

/**
 * A response's outcome, marked where it came after redirects from `called`: whoever answered, the first server may have done
 * what was asked. Where nobody knows what was called, it was all one thing.
 */
export function afterRedirects(outcome: number, value: Response, called?: string): number {
  if (outcome < 400 || !value.redirected) return outcome;
  return outcome | REDIRECTED | (called === undefined || originOf(called) === originOf(value.url) ? SAME_ORIGIN : 0);
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

/** What a fetch gives in a response's place, such as a test's plain object, is one as soon as it has a status. */
export function hasStatus(value: unknown): value is Response {
  if (isResponse(value)) return true;
  try {
    return typeof value === "object" && typeof (value as Response | null)?.status === "number";
  } catch {
    return false; // as above
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
  const codes = chain.map(({ code }) => code).filter((code) => typeof code === "string");
  if (codes.some((code) => DEFECT_CODES.test(code) || TLS_CODES.test(code)) || DEFECT_NAMES.test(`${name as string}`)) return DEFECT;
  if (chain.some(isUnsent)) return UNSENT;
  if (codes[0] === "UND_ERR_ABORTED" || name === "AbortError") return CANCELLED;
  if (name === "TimeoutError") return TIMEOUT;
  if (codes.length > 0 || retryable === true || durableObjectReset === true) return TRANSIENT;
  const words = chain.map(({ message }) => message).join("\n");
  return DEFECT_WORDS.test(words) ? DEFECT : UNSENT_WORDS.test(words) ? UNSENT : TRANSIENT;
}

/** Whether an error has a code, which tells more than any words: nothing is left to find out by looking at what was sent. */
export function hasCode(error: unknown): boolean {
  return chainOf(error).some(({ code }) => typeof code === "string");
}

/** How long an inner stack, which refused, asked to be left alone; −1 for no word. */
export function retryAfterOfError(error: unknown): number {
  if (brandOf(error) !== "RejectedError") return -1;
  const { retryAfterMs } = error as RejectedError;
  return typeof retryAfterMs === "number" ? retryAfterMs : -1;
}

export interface RuntimeError {
  name?: unknown;
  message?: unknown;
  code?: unknown;
  syscall?: unknown;
  cause?: unknown;
  /** Of an AggregateError: one of each address that was tried. */
  errors?: unknown;
  overloaded?: unknown;
  retryable?: unknown;
  durableObjectReset?: unknown;
}

/** An error and its causes: undici hides what happened one below "fetch failed", others deeper. */
export function chainOf(error: unknown): RuntimeError[] {
  const chain: RuntimeError[] = [];
  for (let link = error; chain.length < 5 && typeof link === "object" && link !== null; link = (link as RuntimeError).cause) chain.push(link);
  return chain;
}

/** Whether one link of a chain says that nothing was sent. */
function isUnsent(link: RuntimeError): boolean {
  const { code, syscall, message, errors } = link;
  if (unconnected(link) !== undefined) return true;
  if (Array.isArray(errors) && errors.length > 0) return errors.every((each) => chainOf(each).some(isUnsent));
  return UNSENT_CODES.test(`${code as string}`) || UNSENT_CALLS.test(`${syscall as string}`) || (code !== undefined && UNSENT_WORDS.test(`${message as string}`));
}

/** Codes that say that nothing was sent: no name, no connection, no stream in one. Bun writes some in its own way. */
const UNSENT_CODES = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket|DNSException|ERR_HTTP2_(GOAWAY|INVALID)_SESSION)$/;

/** What the system was doing for Node when it failed: whatever the code is, there was no connection. */
const UNSENT_CALLS = /^(connect|getaddrinfo|query[A-Z]\w*)$/;

/** The same where a code does not tell it: Node's TLS and HTTP/2, and Deno. */
const UNSENT_WORDS = /before secure TLS connection|NGHTTP2_REFUSED_STREAM|client error \(Connect\)/;

/** Codes of requests that could never be sent as they are, or that their `redirect` forbids to follow. */
const DEFECT_CODES = /^(ERR_INVALID_|ERR_BODY_ALREADY_USED|UND_ERR_(INVALID_ARG|REQ_CONTENT_LENGTH_MISMATCH|NOT_SUPPORTED|MAX_REDIRECT)|TooManyRedirects|UnexpectedRedirect)/;

/**
 * Codes of certificates that are not accepted and of sides that speak no TLS in common, which no repeat mends: read as the
 * statuses 526 and 525 are. Not those of a connection that broke.
 */
const TLS_CODES = /(^|_)CERT(IFICATE)?(_|$)|^CRL_|^UNABLE_TO_(GET|DECRYPT|DECODE|VERIFY)_|^(HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|EPROTO)$|^ERR_(SSL|TLS)_(?!.*(UNEXPECTED_EOF|BAD_RECORD_MAC|DECRYPTION_FAILED|HANDSHAKE_TIMEOUT))/;

/** Deno's for what it was not allowed to do. */
const DEFECT_NAMES = /^(ReferenceError|NotCapable|PermissionDenied)$/;

/**
 * Mistakes that have no code, and that looking at the request (mistake.ts) does not find. Everything else is taken for a fault
 * on the way: engines word those in too many ways ("Network connection lost.", "Failed to fetch (host)", "Load failed",
 * "terminated", …).
 */
const DEFECT_WORDS = new RegExp(
  "body (has|is|was) already|already (been )?(used|read|consumed)|used body|body is (unusable|disturbed|locked)|disturbed or locked|" +
    "one-time-use body|duplex|cannot have (a )?body|invalid url|parsed? (as a )?url|bad port|requests to port|" +
    "unknown scheme|url scheme|api cannot load|integrity (mismatch|metadata)|" +
    "too many (redirects|subrequests)|redirect count exceeded|number of redirects|unexpected redirect|redirect mode|" +
    "peer('s)? certificate|certificate for this server|received fatal alert|received corrupt message|" +
    "within global scope|on behalf of a different|illegal invocation|content security policy",
  "i",
);
