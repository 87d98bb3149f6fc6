// Checks what is given beside a configuration, where guards are built and listeners come. The options of a single call are
// not checked for unknown names: that would cost a call more than all they say.

import { EVENTS } from "./generated/vocabulary.js";
import { unknownName, wrong } from "./wording.js";

export function checkOptions(options: unknown): void {
  check("options", options, { fetch: SENDER, key: KEY, classify: FUNCTION, host: OBJECT });
  const { host } = options as { host?: { readonly [name: string]: unknown } };
  // A host may have more than what is asked of it.
  if (host) for (const name of ["now", "random", "arm", "fetch", "wallNow", "wakesOthers"]) expect(`options.host.${name}`, host[name], FUNCTION);
}

export function checkScope(scope: unknown): void {
  check("with", scope, { fetch: SENDER, waitUntil: FUNCTION });
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

function check(path: string, given: unknown, kinds: { readonly [name: string]: Kind }): void {
  if (!OBJECT[1](given)) throw wrong(path, given, OBJECT[0]);
  for (const [name, value] of Object.entries(given as object)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) throw unknownName(`${path}.${name}`, name, Object.keys(kinds));
    expect(`${path}.${name}`, value, kind);
  }
}

function expect(path: string, value: unknown, [allowed, fits]: Kind): void {
  if (value !== undefined && !fits(value)) throw wrong(path, value, allowed);
}
