// Names of keys on this side, numbers on the other. Both are bounded together: the engine decides which key is forgotten,
// and tells by giving its number to another name. A name too long to keep is known by its beginning, length and checksum.

import { checksum } from "./checksum.js";

export class KeyNames {
  readonly #ids = new Map<string, number>();
  readonly #names: (string | undefined)[] = [];

  /** The number of a name; `WHOLE` for none, `NEW` for a name that has no number yet. */
  idOf(name: string | null): number {
    return name === null ? WHOLE : (this.#ids.get(kept(name)) ?? NEW);
  }

  nameOf(id: number): string | null {
    return this.#names[id] ?? null;
  }

  /** The engine gave this name a number. A number handed out again replaces the name that had it. */
  learn(name: string, id: number): void {
    if (id === WHOLE || id === OVERFLOW || id === NEW) return;
    name = copied(kept(name));
    const former = this.#names[id];
    if (former !== undefined) this.#ids.delete(former);
    this.#names[id] = name;
    this.#ids.set(name, id);
  }

  /** All names with their numbers. */
  entries(): Iterable<[name: string, id: number]> {
    return this.#ids.entries();
  }
}

/** A name cut from a URL keeps the whole of it alive. */
function copied(name: string): string {
  return [name.slice(0, 1), name.slice(1)].join("");
}

/** The rule of all hosts, in bytes of UTF-8: docs/driving.md. */
function kept(name: string): string {
  // A unit of a string is three bytes at most.
  if (name.length <= LONGEST / 3) return name;
  const bytes = new TextEncoder().encode(name);
  if (bytes.length <= LONGEST) return name;
  let end = KEPT;
  while ((bytes[end]! & 0xc0) === 0x80) end--; // within a character
  const rest = checksum(bytes.length - end, (i) => bytes[end + i]!);
  return `${new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, end))}…${bytes.length}…${rest.toString(16)}`;
}

const LONGEST = 1_024;
/** Leaves room for what stands behind it, so that a kept name is kept as it is. */
const KEPT = 960;
/** The key of calls that have none. */
export const WHOLE = 0;
/** Shared by those that came when every key was busy. */
export const OVERFLOW = 1;
export const NEW = 65_535;
