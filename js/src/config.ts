// Reads what users write into what crosses to the engine: which policies are on, and numbers for their options. Names,
// kinds and words come from the engine's own tables; ranges are checked by the engine itself, and worded here.

import { readDuration, showDuration } from "./duration.js";
import { ConfigError } from "./errors.js";
import { CONFIG_REASONS, OPTIONS, POLICIES, type OptionSpec } from "./generated/vocabulary.js";
import { SharedObject } from "./shared.js";

export interface Settings {
  /** What every path begins with: nothing in a stack, the maker's name in a shared object. */
  readonly root: string;
  /** Policies turned on, by code. */
  readonly on: readonly number[];
  readonly values: readonly Value[];
  readonly shares: readonly { readonly policy: number; readonly object: SharedObject }[];
}

interface Value {
  readonly policy: number;
  readonly option: number;
  readonly number: number;
  /** As the user wrote it. */
  readonly given: unknown;
}

/** The policies of a stack; everything in the configuration but its name. */
export function readStack(config: object): Settings {
  return read(config, "", tableOf(""));
}

/** The settings of an object that several stacks will share. */
export function readShared(policy: string, maker: string, config: object): Settings {
  return read(config, maker, tableOf(policy), codeOf(policy));
}

/** The same for configurations that mean the same; what `share` gives tells shared objects apart. */
export function fingerprint({ on, values, shares }: Settings, share: (object: SharedObject) => number): string {
  return JSON.stringify([
    [...on].sort(),
    values.map(({ policy, option, number }) => [policy, option, number]).sort(([p, o], [q, n]) => p! - q! || o! - n!),
    shares.map(({ policy, object }) => [policy, share(object)]),
  ]);
}

/** Whether somebody else than the caller may end an attempt, so that the driver must race it. */
export function isRacing({ on }: Settings): boolean {
  return ["deadline", "hedge", "attemptTimeout"].some((policy) => on.includes(codeOf(policy)));
}

/** The longest an attempt may take by its own limit. */
export function attemptLimit({ on, values }: Settings): number {
  const policy = codeOf("attemptTimeout");
  if (!on.includes(policy)) return Infinity;
  return values.find((value) => value.policy === policy)?.number ?? OPTIONS.attemptTimeout[0]!.default!;
}

/** What the engine refused, in words. `option` is out of the table where the whole policy was refused. */
export function refusal(
  settings: Settings, reason: number, policy: number, option: number, min: number, max: number, number: number,
): ConfigError {
  const word = CONFIG_REASONS[reason];
  const spec = OPTIONS[POLICIES[policy]!]?.[option];
  if (spec === undefined) return new ConfigError(`${settings.root || "configuration"}: refused by the engine (${word})`);
  const path = `${settings.root || (SECTIONS[POLICIES[policy]!] ?? POLICIES[policy])}.${spec.name}`;
  const value = settings.values.find((value) => value.policy === policy && value.option === option)?.given ?? number;
  const allowed = allowedFor(spec, min, max);
  const because = word === "conflict" ? " beside the other options" : "";
  return new ConfigError(`${path}: ${show(value)} is not allowed${because}; expected ${allowed}`, { path, value, allowed });
}

/** A duration outside any configuration, such as a call's own timeout. */
export function readTimeout(value: unknown): number {
  const millis = readDuration(value);
  if (!(millis! >= 0)) throw wrong("timeout", value, DURATION);
  return millis!;
}

// ——— reading ———

/** Where options stand that are written below another policy's name. Every other policy has a section of its own name. */
const SECTIONS: { readonly [policy: string]: string | undefined } = {
  deadline: "timeout",
  attemptTimeout: "timeout",
  budget: "retry.budget",
};

interface Table {
  options: Map<string, { policy: number; option: number; spec: OptionSpec }>;
  /** Every path below which there are options, with the policies that it turns on. */
  sections: Map<string, number[]>;
}

/** The options of all policies by their paths in a stack, or of one policy by their paths in its own settings. */
function tableOf(only: string): Table {
  const table: Table = { options: new Map(), sections: new Map() };
  POLICIES.forEach((name, policy) => {
    if (only && only !== name) return;
    const section = only ? "" : (SECTIONS[name] ?? name);
    table.sections.set(section, [...(table.sections.get(section) ?? []), policy]);
    OPTIONS[name].forEach((spec, option) => {
      const path = join(section, spec.name);
      table.options.set(path, { policy, option, spec });
      for (let end = path.lastIndexOf("."); end > section.length; end = path.lastIndexOf(".", end - 1)) {
        table.sections.set(path.slice(0, end), []);
      }
    });
  });
  return table;
}

function read(config: object, root: string, { options, sections }: Table, policy?: number): Settings {
  const on = new Set(policy === undefined ? [] : [policy]);
  const values: Value[] = [];
  const shares: { policy: number; object: SharedObject }[] = [];

  const section = (path: string, given: unknown): void => {
    if (typeof given !== "object" || given === null || Array.isArray(given)) throw wrong(join(root, path), given, "an object");
    const policies = sections.get(path) ?? [];
    const entries = Object.entries(given).filter(([, value]) => value !== undefined);
    // Where policies share a section, naming an option turns its policy on; naming none turns on all of them.
    if (policies.length === 1 || entries.length === 0) for (const policy of policies) on.add(policy);
    for (const [name, value] of entries) entry(path, name, value, policies.length > 1);
  };

  const entry = (parent: string, name: string, given: unknown, mayBeOff: boolean): void => {
    const path = join(parent, name);
    const option = options.get(path);
    const policies = sections.get(path);
    if (given instanceof SharedObject) {
      const policy = policies?.find((policy) => POLICIES[policy] === given.policy);
      if (policy === undefined) throw wrong(join(root, path), given.policy, "another kind of value");
      shares.push({ policy, object: given });
    } else if (option && !(policies && typeof given === "object")) {
      if (given === false && mayBeOff) return;
      on.add(option.policy);
      const number = toNumber(option.spec, join(root, path), given);
      values.push({ policy: option.policy, option: option.option, number, given });
    } else if (policies) {
      if (given !== false) section(path, given);
    } else {
      throw unknownName(join(root, parent), name, [...options.keys(), ...sections.keys()], parent);
    }
  };

  if (policy === undefined) {
    if (typeof config !== "object" || config === null) throw wrong("configuration", config, "an object");
    for (const [name, given] of Object.entries(config)) {
      if (given !== undefined && name !== "name") entry("", name, given, false);
    }
  } else {
    section("", config);
  }
  return { root, on: [...on], values, shares };
}

function toNumber(spec: OptionSpec, path: string, given: unknown): number {
  const off = given === false || given === Infinity;
  if (off && spec.off) return NaN;
  let number: number | undefined;
  if (spec.kind === "duration") number = readDuration(given);
  else if (spec.kind === "flag") number = typeof given === "boolean" ? Number(given) : undefined;
  else if (spec.kind === "word") number = spec.words?.indexOf(given as string);
  else number = typeof given === "number" ? given : undefined;
  if (number === undefined || Number.isNaN(number) || (spec.kind === "word" && number < 0)) {
    throw wrong(path, given, allowedFor(spec, spec.min, spec.max));
  }
  return number;
}

// ——— wording ———

const DURATION = `milliseconds, or a number with a unit such as "250ms", "10s", "2m" or "1h"`;

function wrong(path: string, value: unknown, allowed: string): ConfigError {
  return new ConfigError(`${path}: ${show(value)} is not allowed; expected ${allowed}`, { path, value, allowed });
}

function unknownName(parent: string, name: string, paths: readonly string[], below: string): ConfigError {
  const names = new Set<string>(below === "" ? ["name"] : []);
  const prefix = below && `${below}.`;
  for (const path of paths) if (path !== below && path.startsWith(prefix)) names.add(path.slice(prefix.length).split(".")[0]!);
  names.delete("");
  const nearest = [...names].sort((a, b) => distance(name, a) - distance(name, b))[0]!;
  const hint = distance(name, nearest) <= Math.ceil(name.length / 3) ? `did you mean "${nearest}"?` : `known are ${[...names].join(", ")}`;
  return new ConfigError(`${join(parent, name)}: unknown; ${hint}`, { path: join(parent, name), allowed: [...names].join(", ") });
}

function allowedFor({ kind, off, words }: OptionSpec, min: number, max: number): string {
  let allowed = `${min} to ${max}`;
  if (kind === "duration") allowed = `${showDuration(min)} to ${showDuration(max)}`;
  else if (kind === "flag") allowed = "true or false";
  else if (kind === "word") allowed = `one of ${words?.join(", ")}`;
  return off ? `${allowed}, or false` : allowed;
}

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** How many letters differ (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const letter of a) {
    const next = [row[0]! + 1];
    for (let j = 0; j < b.length; j++) next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + Number(letter !== b[j])));
    row = next;
  }
  return row[b.length]!;
}

function codeOf(policy: string): number {
  return (POLICIES as readonly string[]).indexOf(policy);
}

function join(parent: string, name: string): string {
  return parent && name ? `${parent}.${name}` : parent || name;
}
