// Names of keys on this side, numbers on the other. Both are bounded together: the engine decides which key is forgotten,
// and tells by giving its number to another name.

export class KeyNames {
  readonly #ids = new Map<string, number>();
  readonly #names: (string | undefined)[] = [];

  /** The number of a name; `WHOLE` for none, `NEW` for a name that has no number yet. */
  idOf(name: string | null): number {
    return name === null ? WHOLE : (this.#ids.get(name) ?? NEW);
  }

  nameOf(id: number): string | null {
    return this.#names[id] ?? null;
  }

  /** The engine gave this name a number. A number handed out again replaces the name that had it. */
  learn(name: string, id: number): void {
    if (id === WHOLE || id === OVERFLOW || id === NEW) return;
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

/** The key of calls that have none. */
export const WHOLE = 0;
/** Shared by those that came when every key was busy. */
export const OVERFLOW = 1;
export const NEW = 65_535;
