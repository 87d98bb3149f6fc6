// What callers give to fetch, as every attempt reads it: members that an init inherits become its own (a Request as init, or
// an instance of a class), what can be read only once is read once, and where attempts may be repeated none of it changes
// between them. Bodies are not copied.

import type { CallSettings } from "../config/options.js";
import { ConfigError } from "../errors.js";
import { isRequest } from "./facts.js";
import { memberOf } from "../util/members.js";
import type { FetchInput } from "../types.js";

/** What fetch was given. */
export interface Sent {
  readonly input: FetchInput;
  readonly init: RequestInit | undefined;
}

/** As fetch does, takes anything for a URL that makes a string. */
export function inputOf(input: unknown, repeating: boolean): FetchInput {
  if (typeof input === "string") return input;
  return isRequest(input) || (input instanceof URL && !repeating) ? input : `${input as string}`;
}

export function initOf(init: RequestInit | null | undefined, repeating: boolean): RequestInit | undefined {
  if (init === undefined || init === null) return undefined;
  refuseOptions(init);
  const given = init.headers;
  const headers = headersOf(given, repeating);
  const isWhole = hasAllAsItsOwn(init);
  if (isWhole && !repeating && headers === given) return init;
  const own: Members = { ...init };
  if (!isWhole) {
    for (const name of MEMBERS) {
      const value = (init as Members)[name];
      if (value !== undefined) own[name] = value;
    }
    // A Request says it of none of its bodies on some runtimes, and fetch wants to hear it of every stream.
    if (own["duplex"] === undefined && own["body"] instanceof ReadableStream) own["duplex"] = "half";
  }
  if (headers !== undefined) own["headers"] = headers;
  return own as RequestInit;
}

/** Whether a copy of it has all that fetch would read: of a class, or of a proxy that answers for more than it lists, it has not. */
function hasAllAsItsOwn(init: RequestInit): boolean {
  const prototype: unknown = Object.getPrototypeOf(init);
  if (prototype !== Object.prototype && prototype !== null) return false;
  const { method, headers, body, signal } = init;
  return isListed(init, "method", method) && isListed(init, "headers", headers) && isListed(init, "body", body) && isListed(init, "signal", signal);
}

function isListed(init: RequestInit, name: keyof RequestInit, value: unknown): boolean {
  return value === undefined || propertyIsEnumerable.call(init, name);
}

/**
 * A call's own options are its last argument. In an init nobody would read them, and a charge might be made twice. Only those
 * are refused that no runtime and no wrapper of fetch has: ofetch puts its own `retry` and `timeout` there, Nuxt its `key`.
 */
function refuseOptions(init: object): void {
  const { idempotent, cost, getBody, prepare, waitUntil, timeout } = init as CallSettings;
  const isLong = typeof timeout === "string"; // others give milliseconds
  if (idempotent === undefined && cost === undefined && getBody === undefined && prepare === undefined && waitUntil === undefined && !isLong) return;
  for (const name of ["idempotent", "cost", "getBody", "prepare", "waitUntil", ...(isLong ? ["timeout"] : [])]) {
    const value = memberOf(init, name);
    if (value === undefined) continue;
    const allowed = `it among the options of the call: fetch(input, init, { ${name} })`;
    throw new ConfigError(`init.${name}: fetch does not read it; expected ${allowed}`, { path: `init.${name}`, value, allowed });
  }
}

/** One more of the same, for a fetch that changes what it is given. */
export function copyOf(init: RequestInit | undefined): RequestInit | undefined {
  return init?.headers === undefined ? init && { ...init } : { ...init, headers: headersOf(init.headers, true) as HeadersInit };
}

/** The same kind of headers, since a fetch that is not the runtime's may know no other. An iterator is read up. */
function headersOf(headers: unknown, repeating: boolean): unknown {
  if (typeof headers !== "object" || headers === null) return headers;
  if (headers instanceof Headers) return repeating ? new Headers(headers) : headers;
  if (Array.isArray(headers)) return repeating ? [...(headers as unknown[])] : headers;
  if (Symbol.iterator in headers) return [...(headers as Iterable<unknown>)];
  return repeating ? { ...headers } : headers;
}

const { propertyIsEnumerable } = Object.prototype;

type Members = Record<string, unknown>;

/** What runtimes read of an init. */
const MEMBERS = [
  "method", "headers", "body", "signal", "redirect", "duplex", "cf", "credentials", "cache", "mode", "referrer", "referrerPolicy",
  "integrity", "keepalive", "priority", "window", "dispatcher", "client", "fetcher", "encodeResponseBody",
];
