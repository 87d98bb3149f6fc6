// What a request says about itself, before its first attempt: whose state it meets, who may repeat it, and whether its
// body can be sent again. Nothing is cloned or read.

import type { CallSettings } from "../config/options.js";

/** Bits 0–1 of a call's flags: who may send the request again though it may have been processed. */
export const ONLY_UNPROCESSED = 0;
export const AFTER_FAILURE = 1;
export const FREELY = 2;
const ONLY_UNSENT = 3;
export const REPEAT = 3;
/** Bit 2: its body can be sent again. */
export const REPLAYABLE = 4;
/** Bit 3: each attempt is prepared before it is sent. */
const PREPARED = 8;
/** Bit 4: it is one attempt, whatever happens. */
export const SINGLE = 16;

export function flagsOf(repeat: number, replayable: boolean, { idempotent, retry }: CallSettings): number {
  const word = idempotent === undefined ? repeat : idempotent ? FREELY : ONLY_UNSENT;
  return word | (replayable ? REPLAYABLE : 0) | (retry === false ? SINGLE : 0);
}

export function flagsOfRequest(input: RequestInfo | URL, init: RequestInit | undefined, options: CallSettings, prepared: boolean): number {
  const request = isRequest(input) ? input : undefined;
  const method = init?.method ?? request?.method ?? "GET";
  let repeat = ONLY_UNPROCESSED;
  if (IDEMPOTENT.has(method) || IDEMPOTENT.has(String(method).toUpperCase())) repeat = FREELY;
  // The key makes repeating safe one after the other; two at once are a conflict for most upstreams, so nobody hedges.
  else if (hasKey(init?.headers ?? request?.headers)) repeat = AFTER_FAILURE;
  return flagsOf(repeat, options.getBody !== undefined || isReplayable(init?.body, request), options) | (prepared ? PREPARED : 0);
}

/** Whether there is an `Idempotency-Key` that says anything (src/http.rs has the same rule for other hosts). */
function hasKey(headers: HeadersInit | undefined): boolean {
  try {
    const key = new Headers(headers).get("idempotency-key");
    return key !== null && !/^[\s",]*$|^(undefined|null)$/.test(key);
  } catch {
    return false; // fetch will say what is wrong with them
  }
}

/** Strings and buffers can be sent again. Streams are gone after the first attempt, and so is a Request's own body. */
export function isReplayable(body: unknown, request: Request | undefined): boolean {
  if (body === undefined || body === null) {
    if (request === undefined || request.body === null) return true;
    // Firefox has no `body` on requests: there its method tells whether it can have one.
    return request.body === undefined && (request.method === "GET" || request.method === "HEAD");
  }
  if (typeof body !== "object") return true;
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return true;
  return body instanceof Blob || body instanceof URLSearchParams || body instanceof FormData;
}

export function signalOf(input: RequestInfo | URL, init: RequestInit | undefined): AbortSignal | undefined {
  return asSignal(init?.signal === undefined && isRequest(input) ? input.signal : init?.signal);
}

/** A TypeError where it is none, as from fetch. Known by what it has: there are other realms' and other makers'. */
export function asSignal(given: unknown): AbortSignal | undefined {
  if (given === undefined || given === null) return undefined;
  const signal = given as AbortSignal;
  if (typeof signal.addEventListener !== "function" || typeof signal.aborted !== "boolean") throw new TypeError("signal: not an AbortSignal");
  return signal;
}

/**
 * The origin of a URL, whose state the call meets. Taken by scanning the string, since `new URL` costs ten times more;
 * only what is not plainly an origin already goes that way. Null where there is none (a relative URL outside a page).
 */
export function originOf(input: RequestInfo | URL): string | null {
  const url = typeof input === "string" ? input : isRequest(input) ? input.url : input.href;
  // Mostly it is the same as the last time; and the same string is found sooner among the keys.
  if (lastOrigin !== undefined && url.startsWith(lastOrigin) && url[lastOrigin.length] === "/") return lastOrigin;
  const end = url.indexOf("/", AFTER_SLASHES);
  const start = end < 0 ? url : url.slice(0, end);
  if (PLAIN_ORIGIN.test(start) && (isNamed(start) || ADDRESS.test(start))) return (lastOrigin = start);
  try {
    const { origin } = urlOf(url);
    return origin === "null" ? null : origin;
  } catch {
    return null; // fetch will say what is wrong with it
  }
}

/** Whether the last label begins with a letter. Any other may be a part of an address, which can be written in many ways. */
function isNamed(origin: string): boolean {
  let at = origin.length - 1;
  for (let code = 0; code !== DOT && code !== SLASH; at--) code = origin.charCodeAt(at);
  return origin.charCodeAt(at + 2) >= LETTER_A;
}

/** Throws where it is none. In a page it may be relative. */
export function urlOf(url: string | URL): URL {
  return new URL(url, (globalThis as { location?: { href: string } }).location?.href);
}

export function isRequest(input: unknown): input is Request {
  return typeof input === "object" && input !== null && "method" in input;
}

let lastOrigin: string | undefined;
const IDEMPOTENT = /* @__PURE__ */ new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "QUERY"]);
const DOT = 46;
const SLASH = 47;
const LETTER_A = 97;
const AFTER_SLASHES = "https://".length;
/** Lower case, no user, no default port. */
const PLAIN_ORIGIN = /^https?:\/\/[a-z0-9.-]+(:(?!80$|443$)[1-9]\d{1,4})?$/;
/** Four numbers as the URL standard writes them. */
const ADDRESS = /^https?:\/\/(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?=\d)|(?=$|:))){4}(?:$|:)/;
