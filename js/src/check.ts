// Checks what is given beside a configuration, where guards are built and listeners come. The options of a single call are
// not checked for unknown names: that would cost a call more than all they say.

import { EVENTS } from "./generated/vocabulary.js";
import { unknownName, wrong } from "./wording.js";

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

export function checkListener(type: unknown, listener: unknown): void {
  const known = ["*", ...EVENTS.map(([name]) => name), "trap", "keyFailed"];
  if (!known.includes(type as string)) throw unknownName("on", String(type), known);
  if (typeof listener !== "function") throw wrong("listener", listener, "a function");
}

/** What may stand somewhere: in words, and whether this does. */
type Kind = readonly [allowed: string, fits: (value: unknown) => boolean];

const isFunction = (value: unknown): boolean => typeof value === "function";
const FUNCTION: Kind = ["a function", isFunction];
const OBJECT: Kind = ["an object", (value) => typeof value === "object" && value !== null];
const KEY: Kind = ["a function, or null", (value) => value === null || isFunction(value)];
const SENDER: Kind = ["a function, or an object that has fetch", (value) => isFunction(value) || isFunction((value as { fetch?: unknown } | null)?.fetch)];

type Kinds = { readonly [name: string]: Kind };
const OPTIONS: Kinds = { fetch: SENDER, key: KEY, classify: FUNCTION, host: OBJECT };
const HOST: Kinds = { now: FUNCTION, random: FUNCTION, arm: FUNCTION, fetch: FUNCTION, wallNow: FUNCTION, wakesOthers: FUNCTION };
const SCOPE: Kinds = { fetch: SENDER, waitUntil: FUNCTION };

/** Scopes are made for every request, so nothing is built unless something is wrong. */
function check(path: string, given: unknown, kinds: Kinds): void {
  if (!OBJECT[1](given)) throw wrong(path, given, OBJECT[0]);
  for (const name in given as object) {
    if (!Object.hasOwn(kinds, name)) throw unknownName(`${path}.${name}`, name, Object.keys(kinds));
    const value = (given as { readonly [name: string]: unknown })[name];
    if (value !== undefined && !kinds[name]![1](value)) throw wrong(`${path}.${name}`, value, kinds[name]![0]);
  }
}
