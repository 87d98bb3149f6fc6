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
    name = kept(name);
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

function kept(name: string): string {
  if (name.length <= LONGEST) return name;
  const rest = checksum(name.length - KEPT, (i) => name.charCodeAt(KEPT + i));
  // Joined, since a slice keeps the whole of what it was cut from.
  return [name.slice(0, KEPT), name.length, rest.toString(16)].join("…");
}

const LONGEST = 1_024;
/** Leaves room for what stands behind it, so that a kept name is kept as it is. */
const KEPT = 1_000;
/** The key of calls that have none. */
export const WHOLE = 0;
/** Shared by those that came when every key was busy. */
export const OVERFLOW = 1;
export const NEW = 65_535;
