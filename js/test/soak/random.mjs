// Seeded draws: the same seed and name give the same ones, in whatever order they are asked for.

export class Draws {
  #state;

  constructor(...names) {
    this.#state = names.join("/").split("").reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 0x01000193), 0x811c9dc5);
  }

  /** From 0 up to, and without, 1 (Tommy Ettinger's mulberry32). */
  share() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(share) {
    return this.share() < share;
  }

  /** A whole number from `least` to `most`. */
  whole(least, most) {
    return least + Math.floor(this.share() * (most - least + 1));
  }

  of(list) {
    return list[this.whole(0, list.length - 1)];
  }

  /** One of `{ weight }`, the heavier the oftener. */
  weighed(list) {
    let left = this.share() * list.reduce((sum, { weight }) => sum + weight, 0);
    return list.find(({ weight }) => (left -= weight) < 0) ?? list.at(-1);
  }
}
