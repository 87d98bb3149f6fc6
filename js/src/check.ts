// Checks what is given beside a configuration: where guards are built, listeners come, and calls say something for
// themselves. A call's options are not checked for unknown names: that would cost it more than all they say.

import { isRequest } from "./facts.js";
import { EVENTS } from "./generated/vocabulary.js";
import { show, unknownName, wrong } from "./wording.js";

export function checkOptions(options: unknown): void {
  check("options", options, OPTIONS);
  const { host = {} } = options as { host?: { readonly [name: string]: unknown } };
  // A host may have more than what is asked of it.
  const { now, random, arm, fetch, wallNow, wakesOthers } = host;
  check("options.host", { now, random, arm, fetch, wallNow, wakesOthers }, HOST);
}

/** Those of an object that is shared. */
export function checkSharedOptions(options: unknown): void {
  check("options", options, { host: OBJECT });
}

export function checkScope(scope: unknown): void {
  check("with", scope, SCOPE);
}

export function checkRestore(options: unknown): void {
  check("restore.options", options, { orders: BOOLEAN });
}

export function checkListener(type: unknown, listener: unknown): void {
  const known = ["*", ...EVENTS.map(([name]) => name), "trap", "keyFailed", "classifyFailed"];
  if (!known.includes(type as string)) throw unknownName(`on(${show(type)})`, type, String(type), known);
  if (typeof listener !== "function") throw wrong("listener", listener, "a function");
}

/** What one call says for itself, but for what is read elsewhere: its timeout, its cost, its signal. */
export function checkCall(call: unknown): void {
  if (!OBJECT[1](call)) throw wrong("call", call, OBJECT[0]);
  const { idempotent, retry, key, priority, waitUntil, getBody, prepare } = call as { readonly [name: string]: unknown };
  checkOne("idempotent", idempotent, BOOLEAN);
  checkOne("retry", retry, BOOLEAN);
  checkOne("key", key, NAME);
  checkOne("priority", priority, BYTE);
  checkOne("waitUntil", waitUntil, FUNCTION);
  checkOne("getBody", getBody, FUNCTION);
  checkOne("prepare", prepare, FUNCTION);
}

/** What `prepare` gave in a request's place. */
export function checkRequest(given: unknown): Request {
  if (!isRequest(given)) throw wrong("prepare()", given, "a Request, or nothing");
  return given;
}

/** A number of permits, as the engine can count them: more than that is more than there can be, too. */
export function permitsOf(path: string, permits: unknown): number {
  if (!Number.isInteger(permits) || (permits as number) < 0) throw wrong(path, permits, "a whole number from 0");
  return Math.min(permits as number, MOST_PERMITS);
}

/** What a clock gave that is not the runtime's. */
export function timeOf(now: unknown): number {
  if (!Number.isFinite(now)) throw wrong("options.host.now()", now, "a number of ms that is finite");
  return now as number;
}

/** What a source of randomness gave that is not ours. Only what is below 1 can be a share of all that there are. */
export function wordOf(random: unknown): number {
  if (typeof random !== "number" || !(random >= 0 && random < WORDS)) {
    throw wrong("options.host.random()", random, "a whole number from 0 up to 2⁵³, without it, or what Math.random() gives");
  }
  return random < 1 ? random * WORDS : random;
}

/** What may stand somewhere: in words, and whether this does. */
type Kind = readonly [allowed: string, fits: (value: unknown) => boolean];

const isFunction = (value: unknown): boolean => typeof value === "function";
const FUNCTION: Kind = ["a function", isFunction];
const OBJECT: Kind = ["an object", (value) => typeof value === "object" && value !== null];
const KEY: Kind = ["a function, or null", (value) => value === null || isFunction(value)];
const BOOLEAN: Kind = ["true or false", (value) => typeof value === "boolean"];
const NAME: Kind = ["a string, or null", (value) => value === null || typeof value === "string"];
const BYTE: Kind = ["a whole number from 0 to 255", (value) => typeof value === "number" && (value & 255) === value];
const SENDER: Kind = ["a function, or an object that has fetch", (value) => isFunction(value) || isFunction((value as { fetch?: unknown } | null)?.fetch)];

type Kinds = { readonly [name: string]: Kind };
const OPTIONS: Kinds = { fetch: SENDER, key: KEY, classify: FUNCTION, host: OBJECT };
const HOST: Kinds = { now: FUNCTION, random: FUNCTION, arm: FUNCTION, fetch: FUNCTION, wallNow: FUNCTION, wakesOthers: FUNCTION };
const SCOPE: Kinds = { fetch: SENDER, waitUntil: FUNCTION };
const MOST_PERMITS = 2 ** 32 - 1;
const WORDS = 2 ** 53;

/** Scopes are made for every request, so nothing is built unless something is wrong. */
function check(path: string, given: unknown, kinds: Kinds): void {
  if (!OBJECT[1](given)) throw wrong(path, given, OBJECT[0]);
  for (const name in given as object) {
    const value = (given as { readonly [name: string]: unknown })[name];
    if (!Object.hasOwn(kinds, name)) throw unknownName(`${path}.${name}`, value, name, Object.keys(kinds));
    if (value !== undefined && !kinds[name]![1](value)) throw wrong(`${path}.${name}`, value, kinds[name]![0]);
  }
}

function checkOne(path: string, value: unknown, [allowed, fits]: Kind): void {
  if (value !== undefined && !fits(value)) throw wrong(path, value, allowed);
}
