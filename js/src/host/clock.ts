// The time of the runtime, as its clock and its timers tell it together.

/**
 * Milliseconds that only go forward, from where the runtime's clock stood at the first reading. Tests put a clock and timers
 * of their own in the place of the runtime's, and take them away again: time then goes on from where it was, at the pace of
 * what is there now. Where only timers were exchanged, it is the time that they tell.
 */
export class RunningClock {
  /** How often clock or timers have been exchanged. */
  era = 0;
  #clock: Performance | undefined; // kept, since on Node the global is a getter, and a third as dear as the reading itself
  #setTimeout: unknown;
  #aheadMs = 0;
  #read = 0;
  #told = 0;

  now(): number {
    if (this.#setTimeout !== setTimeout) this.#exchange();
    let read = this.#clock!.now() + this.#aheadMs;
    if (read < this.#read) {
      // A clock like this is never set back: it is another one behind the same name.
      this.#aheadMs += this.#read - read;
      read = this.#read;
    }
    this.#read = read;
    return Math.max(read, this.#told);
  }

  /** The same, for whoever sets a timer: it also looks for a clock that was exchanged alone, which the global is asked for. */
  nowForTimers(): number {
    if (this.#clock !== performance) this.#exchange();
    return this.now();
  }

  /** A timer has rung that was set for this time. Says how far the clock has yet to go. */
  heard(at: number): number {
    this.now();
    this.#told = Math.max(this.#told, at);
    return at - this.#read;
  }

  #exchange(): void {
    const last = Math.max(this.#read, this.#told);
    this.#aheadMs = this.#clock === undefined ? 0 : last - performance.now();
    this.#clock = performance;
    this.#setTimeout = setTimeout;
    this.era++;
  }
}
