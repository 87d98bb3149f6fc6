// Reads what users write into what crosses to the engine: which policies are on, and numbers for their options. Names,
// kinds and words come from the engine's own tables. Values are checked by the engine itself; here are the words for it.

import { readDuration, showDuration } from "./duration.js";
import { ConfigError } from "../errors.js";
import { ATTEMPT_TIMEOUT_MS, BUDGET_READS, CONFIG_REASONS, FIGURES, OPTIONS, POLICIES, type OptionSpec } from "../generated/vocabulary.js";
import { memberOf, namesOf } from "../util/members.js";
import { SharedObject, type Settings, type Value } from "./settings.js";
import { unknownName, wrong } from "./wording.js";

/** The policies of a stack; everything in the configuration but its name. */
export function readStack(config: object): Settings {
  return read(config, "", placeOf());
}

/** The settings of an object that several stacks will share. */
export function readShared(policy: string, maker: string, config: object): Settings {
  return read(config, maker, placeOf(policy));
}

/** The same for configurations that mean the same. */
export function fingerprint({ on, values, shares }: Settings): string {
  return [
    ...on,
    ...values.map(({ policy, option, number }) => `${policy}.${option}=${number}`),
    ...shares.map(({ policy, object }) => `${policy}:${object.number}`),
  ].sort().join();
}

/** Whether somebody else than the caller may end an attempt, or its slot lasts longer than the call, so that the driver must race it. */
export function isRacing(settings: Settings): boolean {
  return hasAny(settings, "deadline", "hedge", "attemptTimeout") || holdsUntilSettled(settings);
}

/** Whether an attempt that is given up keeps its slot until it has really ended. */
export function holdsUntilSettled({ values, shares }: Settings): boolean {
  return values.some(({ policy, given }) => POLICIES[policy] === "bulkhead" && given === "settled") || shares.some(({ object }) => holdsUntilSettled(object.settings));
}

export function hasAny({ on }: Settings, ...policies: string[]): boolean {
  return on.some((policy) => policies.includes(POLICIES[policy]!));
}

/** Whether the policy is on, of the stack's own or shared. */
export function hasPolicy(settings: Settings, policy: string): boolean {
  return hasAny(settings, policy) || settings.shares.some(({ object }) => object.policy === policy);
}

/** The longest that an attempt may take by its own limit, or the whole call. */
export function limitOf({ on, values }: Settings, name: "attemptTimeout" | "deadline"): number {
  const policy = POLICIES.indexOf(name);
  if (!on.includes(policy)) return Infinity;
  const { number } = values.find((value) => value.policy === policy) ?? { number: name === "deadline" ? TOTAL_MS : ATTEMPT_TIMEOUT_MS };
  return Number.isNaN(number) ? Infinity : number;
}

/** How long a call may take where nobody says. A test holds it against the engine's own. */
const TOTAL_MS = 30_000;

/** What the engine refused, in words. `option` is out of the table where the whole policy was refused. */
export function refusal(
  { root, values }: Settings, reason: number, policy: number, option: number, min: number, max: number, number: number,
): ConfigError {
  const word = CONFIG_REASONS[reason];
  const name = POLICIES[policy]!;
  const spec = OPTIONS[name]?.[option];
  if (spec === undefined) {
    const cure = word === "too-many" ? ". Make guards and shared objects once, at module scope, not inside a handler" : "";
    return new ConfigError(`${root || "configuration"}: refused by the engine (${word})${cure}`);
  }
  const pathOf = (option: number): string => join(root || sectionOf(name), OPTIONS[name][option]![0]);
  const value = values.find((value) => value.policy === policy && value.option === option);
  if (word !== "conflict") return wrong(pathOf(option), value ? value.given : number, allowed(spec, min, max));
  if (name === "budget") {
    const kinds = OPTIONS.budget[0]![1] as readonly string[];
    const readers = kinds.filter((_, kind) => BUDGET_READS[kind]! & 1 << option);
    const kind = kinds[values.find((value) => value.policy === policy && value.option === 0)?.number ?? 0]!;
    if (!readers.includes(kind)) return wrong(pathOf(option), value?.given, `the kind to be ${readers.join(" or ")}`, `: the kind ${kind} does not read it`);
  }
  // Off, both of them: the only conflict of what is off.
  if (Number.isNaN(number)) return wrong(pathOf(option), false, "windowCalls or window to be on");
  // A default was refused: the cause is what the user wrote, whose value is the limit.
  const limit = number < min ? min : max;
  const cause = value ? undefined : values.find((value) => value.policy === policy && value.number === limit);
  if (cause === undefined) return wrong(pathOf(option), value ? value.given : number, allowed(spec, min, max), ` beside ${BESIDE[`${name}.${spec[0]}`] ?? "the other options"}`);
  const shown = spec[1] === "duration" ? showDuration(number) : number;
  return wrong(pathOf(cause.option), cause.given, `${number < min ? "at most" : "at least"} ${shown}, or another ${spec[0]}`,
    ` while ${spec[0]} is ${shown}, its default`);
}

/** A duration outside any configuration, such as a call's own timeout. */
export function readTimeout(value: unknown): number {
  const millis = readDuration(value);
  if (!(millis! >= 0)) throw wrong("timeout", value, DURATIONS);
  return millis!;
}

/** From when on a caller's abort is a timeout, in milliseconds: never, unless somebody says so. */
export function readAbortLimit(value: unknown): number {
  if (value === undefined || value === false) return Infinity;
  const millis = readDuration(value);
  if (!(millis! >= 1 && millis! <= LONGEST_MS)) throw wrong("options.abortIsTimeoutAfter", value, `1ms to 24h (${DURATIONS}), or false`);
  return millis!;
}

// ——— reading ———

/** Where a policy's options stand in a stack. */
function sectionOf(policy: string): string {
  if (policy === "deadline" || policy === "attemptTimeout") return "timeout";
  return policy === "budget" ? "retry.budget" : policy;
}

/** What may stand at a place in a configuration: an option, a section with places below, or either (`retry.budget`). */
interface Place {
  option?: { readonly policy: number; readonly option: number; readonly spec: OptionSpec };
  /** What a section turns on. */
  readonly policies: number[];
  readonly below: Map<string, Place>;
}

/** The place of a whole configuration: of a stack, or of a shared object of one policy. */
function placeOf(only?: string): Place {
  const root: Place = { policies: [], below: new Map() };
  if (only === undefined) below(root, "name"); // read elsewhere
  POLICIES.forEach((name, policy) => {
    if (only !== undefined && only !== name) return;
    const section = only === undefined ? below(root, sectionOf(name)) : root;
    section.policies.push(policy);
    OPTIONS[name].forEach((spec, option) => (below(section, spec[0]).option = { policy, option, spec }));
  });
  return root;
}

/** The place at a path below another one, made when first asked for. */
function below(place: Place, path: string): Place {
  for (const name of path.split(".")) {
    let next = place.below.get(name);
    if (next === undefined) place.below.set(name, (next = { policies: [], below: new Map() }));
    place = next;
  }
  return place;
}

function read(config: unknown, root: string, whole: Place): Settings {
  const on = new Set<number>();
  const values: Value[] = [];
  const shares: { policy: number; object: SharedObject }[] = [];

  const visit = (place: Place, path: string, given: unknown, mayBeOff: boolean): void => {
    const { option, policies, below } = place;
    if (given instanceof SharedObject) {
      const policy = policies.find((policy) => POLICIES[policy] === given.policy);
      if (policy === undefined || path === root) throw wrong(path, given, section(place, path !== root));
      shares.push({ policy, object: given });
    } else if (option !== undefined && (below.size === 0 || given === false)) {
      if (given === false && mayBeOff) return;
      on.add(option.policy);
      values.push({ policy: option.policy, option: option.option, number: toNumber(option.spec, given), given });
    } else if (below.size > 0 && (given !== false || policies.length === 0 || path === root)) {
      if (typeof given !== "object" || given === null || Array.isArray(given)) throw wrong(path, given, section(place, path !== root));
      const names = [...namesOf(given, (name) => below.has(name))];
      const entries = names.map((name) => [name, memberOf(given, name)] as const).filter(([, value]) => value !== undefined);
      // Where policies share a section, naming an option turns its policy on; naming none turns on all of them.
      if (policies.length === 1 || entries.length === 0) for (const policy of policies) on.add(policy);
      for (const [name, value] of entries) {
        const place = below.get(name);
        if (place === undefined) throw unknownName(join(path, name), value, name, [...below.keys()], pathsTo(name, below));
        visit(place, join(path, name), value, policies.length > 1);
      }
    }
  };

  visit(whole, root, config, false);
  return { root, on: [...on], values, shares };
}

/** What crosses for a value: NaN where it is off, and −1, which no option may be, where it cannot be read. */
function toNumber([, kind]: OptionSpec, given: unknown): number {
  if (kind === "flag") return typeof given === "boolean" ? Number(given) : -1;
  if (given === false) return NaN;
  if (typeof kind !== "string") return kind.indexOf(given as string);
  const number = kind === "duration" ? readDuration(given) : given;
  return Number.isFinite(number) ? (number as number) : -1;
}

// ——— wording ———

function allowed([, kind, canBeOff]: OptionSpec, min: number, max: number): string {
  if (kind === "flag") return "true or false";
  if (typeof kind !== "string") return `one of ${kind.join(", ")}`;
  const numbers = min === max ? min : `a ${kind === "count" ? "whole " : ""}number from ${min} to ${max}`;
  return (kind === "duration" ? `${showDuration(min)} to ${showDuration(max)} (${DURATIONS})` : numbers) + (canBeOff ? ", or false" : "");
}

/** What may stand at a place that has places below. */
function section({ policies, below }: Place, mayBeOff: boolean): string {
  const options = `an object ({} or any of ${[...below.keys()].join(", ")})`;
  if (!mayBeOff || policies.length === 0) return options;
  const maker = policies.map((policy) => makerOf(POLICIES[policy]!)).find((maker) => maker !== undefined);
  return `${options}${maker === undefined ? "" : `, a ${maker}`}, or false`;
}

/** Where a name stands that was written too high. */
function pathsTo(name: string, places: Place["below"]): string[] {
  return [...places].flatMap(([place, { below }]) =>
    (below.has(name) ? [name] : pathsTo(name, below)).map((path) => join(place, path)));
}

function join(parent: string, name: string): string {
  return parent && name ? `${parent}.${name}` : parent || name;
}

/** What narrows an option's range, where the option is refused and not the other one. */
const BESIDE: { readonly [path: string]: string | undefined } = {
  "attemptTimeout.attempt": "timeout.total",
  "retry.attempts": "hedge.attempts",
  "retry.backoff.cap": "backoff.base",
  "budget.min": "max",
  "budget.initial": "max (of the kind aimd: min)",
  "throttler.minRequests": "multiplier",
  "breaker.minCalls": "windowCalls",
  "breaker.openFor": "maxOpenFor",
  "breaker.successesToClose": "probes",
  "concurrencyLimiter.min": "max",
  "concurrencyLimiter.initial": "min and max",
  "rateLimiter.interval": "rate and burst",
};

const LONGEST_MS = 86_400_000;
const DURATIONS = 'a number of ms, or "250ms", "10s", "2m", "1h"';
/** What makes objects of a policy that several stacks may share: it has the policy's name, but for two. */
function makerOf(policy: string): string | undefined {
  return MAKERS[policy] ?? (policy in FIGURES ? policy : undefined);
}

const MAKERS: { readonly [policy: string]: string | undefined } = { budget: "retryBudget", breaker: "circuitBreaker" };
