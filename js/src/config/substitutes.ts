// Reads what callers get in place of failures: `fallback` and `refusals`.

import { memberOf, namesOf } from "../util/members.js";
import type { Failure, FallbackResponse } from "../types.js";
import { unknownName, wrong } from "./wording.js";

/** Gives something for a failure; undefined leaves the failure as it is. */
export type Replace = (failure: Failure) => unknown;

/** That refusals are responses, and what those say of repeats. */
export interface Refusals {
  readonly shouldRetry: boolean | undefined;
}

/** Of `fetch`: a function is asked, and a response is made anew for each call, since in a Worker it belongs to one request. */
export function readFallback(path: string, given: unknown): Replace | undefined {
  if (given === undefined || given === false) return undefined;
  if (typeof given === "function") return given as Replace;
  if (typeof given !== "object" || given === null || given instanceof Response) throw wrong(path, given, FALLBACK);
  checkNames(path, given, RESPONSE);
  const [status, headers, body] = RESPONSE.map((name) => memberOf(given, name));
  if (body instanceof ReadableStream) throw wrong(`${path}.body`, body, "text or bytes: a stream could be read only once");
  const make = (): Response => responseOf({ status, headers, body } as FallbackResponse);
  try {
    make();
  } catch (error) {
    throw wrong(path, given, FALLBACK, ` (${(error as Error).message})`);
  }
  return make;
}

/** Of `execute`: a function is asked, and anything else is the value itself. */
export function readValueFallback(given: unknown): Replace | undefined {
  if (given === undefined) return undefined;
  return typeof given === "function" ? (given as Replace) : () => given;
}

export function readRefusals(given: unknown): Refusals | undefined {
  if (given === undefined || given === "error") return undefined;
  if (given === "response") return { shouldRetry: undefined };
  if (typeof given !== "object" || given === null || memberOf(given, "as") !== "response") throw wrong("options.refusals", given, REFUSALS);
  checkNames("options.refusals", given, ["as", "shouldRetry"]);
  const shouldRetry = memberOf(given, "shouldRetry");
  if (shouldRetry !== undefined && typeof shouldRetry !== "boolean") throw wrong("options.refusals.shouldRetry", shouldRetry, "true or false");
  return { shouldRetry };
}

function responseOf({ status = 200, headers, body = null }: FallbackResponse): Response {
  return new Response(body as BodyInit | null, headers === undefined ? { status } : { status, headers });
}

function checkNames(path: string, given: object, known: readonly string[]): void {
  for (const name of namesOf(given, (name) => known.includes(name))) {
    if (!known.includes(name)) throw unknownName(`${path}.${name}`, memberOf(given, name), name, known);
  }
}

const RESPONSE = ["status", "headers", "body"];
const FALLBACK = "a function, or { status, headers, body } of a response";
const REFUSALS = '"error", "response", or { as: "response", shouldRetry: false }';
