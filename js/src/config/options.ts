// Reads and checks what is given beside a configuration: where guards are built, listeners come, and calls say something for
// themselves. A call's options are not checked for unknown names: that would cost it more than all they say.

import { EVENTS } from "../generated/vocabulary.js";
import { functionOf, memberOf, namesOf } from "../util/members.js";
import type { ExecuteOptions, FetchOptions, Options, RequestScope, RestoreOptions, SharedOptions } from "../types.js";
import { show, unknownName, wrong } from "./wording.js";

export function readOptions(options: unknown): Options {
  return withHost(read("options", options, OPTIONS));
}

/** Those of an object that is shared. */
export function readSharedOptions(options: unknown): SharedOptions {
  return withHost(read("options", options, { host: OBJECT }));
}

/** A host may have more than what is asked of it. */
function withHost(options: SharedOptions): SharedOptions {
  if (options.host !== undefined) pick("options.host", options.host, HOST);
  return options;
}

/** How many bytes of a body are kept: a number, or one with a unit as the middleware has it. */
export function readReplay(given: unknown): number {
  if (given === undefined) return REPLAY_BYTES;
  if (given === false) return 0;
  const parts = /^(\d{1,9})(B|KiB|MiB)$/.exec(String(given));
  const bytes = typeof given === "number" ? given : parts === null ? NaN : Number(parts[1]) * UNITS[parts[2]!]!;
  if (!Number.isInteger(bytes) || bytes < 0 || bytes > MOST_REPLAY) throw wrong("options.replay", given, 'false, or a size from 0 to "8MiB", such as "64KiB"');
  return bytes;
}

export function readScope(scope: unknown): RequestScope {
  return read("with", scope, SCOPE);
}

export function readRestore(options: unknown): RestoreOptions {
  return read("restore.options", options, { orders: BOOLEAN });
}

export function checkListener(type: unknown, listener: unknown): void {
  const known = ["*", ...EVENTS.map(([name]) => name), "trap", "unavailable", "keyFailed", "classifyFailed", "fallback"];
  if (!known.includes(type as string)) throw unknownName(`on(${show(type)})`, type, String(type), known);
  if (typeof listener !== "function") throw wrong("listener", listener, "a function");
}

/** What a call says for itself, with everything that it leaves open. */
export type CallSettings = { readonly [Name in keyof (FetchOptions & ExecuteOptions)]: (FetchOptions & ExecuteOptions)[Name] | undefined };

/** What one call says for itself. Most calls say nothing. Its timeout, its cost and its signal are checked elsewhere. */
export function readCall(call: unknown): CallSettings {
  if (call === undefined || call === null) return NOTHING;
  if (!OBJECT[1](call)) throw wrong("call", call, OBJECT[0]);
  const given = call as object;
  // Name by name: a loop over names would cost a call as much as all its verbs.
  return {
    idempotent: one("", given, "idempotent", BOOLEAN), retry: one("", given, "retry", BOOLEAN), key: one("", given, "key", NAME),
    timeout: one("", given, "timeout", ANY), waitUntil: one("", given, "waitUntil", FUNCTION), cost: one("", given, "cost", ANY),
    getBody: one("", given, "getBody", FUNCTION), prepare: one("", given, "prepare", FUNCTION), signal: one("", given, "signal", ANY),
    fallback: memberOf(given, "fallback"),
  } as CallSettings;
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
const ANY: Kind = ["", () => true];
const SENDER: Kind = ["a function, or an object that has fetch", (value) => isFunction(value) || isFunction((value as { fetch?: unknown } | null)?.fetch)];

const UNAVAILABLE: Kind = ['"unguarded" or "throw"', (value) => value === "unguarded" || value === "throw"];

type Kinds = { readonly [name: string]: Kind };
const OPTIONS: Kinds = { fetch: SENDER, key: KEY, classify: FUNCTION, fallback: ANY, refusals: ANY, replay: ANY, abortIsTimeoutAfter: ANY, onUnavailable: UNAVAILABLE, host: OBJECT };
const HOST: Kinds = { now: FUNCTION, random: FUNCTION, arm: FUNCTION, fetch: FUNCTION, wallNow: FUNCTION, wakesOthers: FUNCTION };
const SCOPE: Kinds = { fetch: SENDER, waitUntil: FUNCTION };
/** One shape for all calls, in which every name stands: nothing is looked for on a prototype. */
const NOTHING: CallSettings = {
  idempotent: undefined, retry: undefined, key: undefined, timeout: undefined, waitUntil: undefined, cost: undefined, getBody: undefined,
  prepare: undefined, signal: undefined, fallback: undefined,
};
/** The most that one body may take, and that all bodies of an isolate may take together, in bytes. */
export const MOST_REPLAY = 8 * 2 ** 20;
const REPLAY_BYTES = 64 * 1_024;
const UNITS: { readonly [unit: string]: number } = { B: 1, KiB: 1_024, MiB: 1_048_576 };
const MOST_PERMITS = 2 ** 32 - 1;
const WORDS = 2 ** 53;

function read(path: string, given: unknown, kinds: Kinds): object {
  if (!OBJECT[1](given)) throw wrong(path, given, OBJECT[0]);
  for (const name of namesOf(given as object, (name) => Object.hasOwn(kinds, name))) {
    if (!Object.hasOwn(kinds, name)) throw unknownName(`${path}.${name}`, memberOf(given as object, name), name, Object.keys(kinds));
  }
  return pick(path, given as object, kinds);
}

/** Those members that are known, each of its kind. All of them stand in what is picked, so that no prototype is asked later. */
function pick(path: string, given: object, kinds: Kinds): object {
  const picked: { [name: string]: unknown } = {};
  for (const name in kinds) picked[name] = one(`${path}.`, given, name, kinds[name]!);
  return picked;
}

function one(path: string, given: object, name: string, kind: Kind): unknown {
  const value = kind === SENDER ? memberOf(given, name) : functionOf(given, name);
  if (value !== undefined && !kind[1](value)) throw wrong(path + name, value, kind[0]);
  return value;
}
