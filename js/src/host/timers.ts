// Timers: never NaN, never too long, and on hosts that allow it one for all calls together.

import { RunningClock } from "./clock.js";

/** One timer of the runtime for one wake; an idle one does not keep a process alive. */
export function arm(delayMs: number, wake: () => void, idle = false): () => void {
  const timer = new Timer(delayMs, wake, !idle);
  return () => timer.clear();
}

class Timer {
  readonly #ring: () => void;
  readonly #maker = setTimeout;
  #handle: unknown;
  #isHeld: boolean;
  #isOff = false;

  constructor(delayMs: number, ring: () => void, isHeld: boolean) {
    this.#ring = ring;
    this.#isHeld = isHeld;
    this.#set(delayMs);
  }

  #set(left: number): void {
    // Beyond 2³¹−1 ms a runtime's timer would fire at once, and so it would for what is no number.
    const step = left > 0 ? Math.min(left, LONGEST) : 0;
    this.#handle = setTimeout(() => {
      if (this.#isOff) return;
      // In a Worker the clock stands still between events, so what is left is counted and not read.
      if (left > step) this.#set(left - step);
      else this.#ring();
    }, step);
    if (!this.#isHeld) hold(this.#handle, false);
  }

  /** Whether it keeps a process alive. */
  hold(held: boolean): void {
    if (held === this.#isHeld) return;
    this.#isHeld = held;
    hold(this.#handle, held);
  }

  clear(): void {
    this.#isOff = true;
    // Timers that a test has put in the place of those that made this one know nothing of it.
    if (this.#maker === setTimeout) clearTimeout(this.#handle as number);
    else this.hold(false);
  }
}

/**
 * The wakes of one isolate, earliest first, behind one timer of the runtime: calls with the same timeout come and go in
 * order, so that arming is an append and calling off an unlink. A wake that would have to stand before others gets a timer
 * of its own, and so does every one where tests have exchanged the timers: those may keep another time than the clock. The
 * timer keeps a process alive only while somebody waits for it.
 */
export class TimerList {
  readonly #clock: RunningClock;
  /** Makes timers that keep the clock's time. */
  readonly #maker: unknown;
  #isShared = false;
  #era = 0;
  #first: Entry | undefined;
  #last: Entry | undefined;
  #timer: Timer | undefined;
  #timerAt = 0;
  /** Those that have a timer of their own. */
  readonly #others = new Set<Entry>();

  constructor(clock = new RunningClock(), maker: unknown = RUNTIMES) {
    this.#clock = clock;
    this.#maker = maker;
  }

  arm(delayMs: number, wake: () => void, idle = false): () => void {
    const now = this.#clock.nowForTimers();
    if (this.#era !== this.#clock.era) this.#setAnew();
    const delay = delayMs > 0 ? delayMs : 0;
    const entry: Entry = { at: now + delay, idle, off: false, ring: wake, timer: undefined, before: undefined, after: undefined };
    if (idle || !this.#isShared || (this.#last !== undefined && entry.at < this.#last.at)) {
      this.#setOwn(entry, delay);
    } else {
      // The shared timer fires in the asynchronous context of whoever set it. A promise brings the wake back into its own.
      new Promise<void>((resolve) => (entry.ring = resolve)).then(() => {
        if (!entry.off) wake();
      });
      this.#append(entry);
    }
    return () => {
      if (entry.off) return;
      entry.off = true;
      if (entry.timer === undefined) this.#unlink(entry);
      else if (this.#others.delete(entry)) entry.timer.clear();
    };
  }

  #setOwn(entry: Entry, delayMs: number): void {
    const ring = (): void => {
      this.#others.delete(entry);
      this.#clock.heard(entry.at);
      entry.ring();
    };
    entry.timer = new Timer(delayMs, ring, !entry.idle);
    this.#others.add(entry);
  }

  #append(entry: Entry): void {
    const last = this.#last;
    this.#last = entry;
    entry.before = last;
    if (last === undefined) {
      this.#first = entry;
      this.#watch(entry.at);
    } else {
      last.after = entry;
    }
  }

  #unlink(entry: Entry): void {
    const { before, after } = entry;
    if (before === undefined && after === undefined && this.#first !== entry) return; // it has rung
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    entry.before = entry.after = undefined;
    // The timer stays as it is: firing early costs less than setting it anew for every call.
    if (this.#first === undefined) this.#timer?.hold(false);
  }

  /** Sees to it that the timer fires by `at` and keeps the process alive until then. */
  #watch(at: number): void {
    if (this.#timer !== undefined) {
      if (this.#timerAt <= at) return this.#timer.hold(true);
      this.#timer.clear();
    }
    this.#timerAt = at;
    this.#timer = new Timer(Math.ceil(at - this.#clock.now()), () => this.#fire(), true);
  }

  #fire(): void {
    this.#timer = undefined;
    // Timers that run ahead of the clock are a test's, put there before this was loaded.
    if (this.#clock.heard(this.#timerAt) > AHEAD_MS) this.#isShared = false;
    const now = this.#clock.now();
    for (let entry = this.#first; entry !== undefined && entry.at <= now; entry = this.#first) {
      this.#unlink(entry);
      entry.ring();
    }
    if (this.#era === this.#clock.era) this.#goOn();
    else this.#setAnew();
  }

  /** What was set on timers that are gone is set on those that are there. */
  #setAnew(): void {
    this.#era = this.#clock.era;
    this.#isShared = setTimeout === this.#maker;
    this.#timer?.clear();
    this.#timer = undefined;
    for (const entry of [...this.#others]) {
      entry.timer!.clear();
      this.#setOwn(entry, this.#leftOf(entry));
    }
    this.#goOn();
  }

  #goOn(): void {
    for (let entry = this.#first; entry !== undefined; entry = this.#first) {
      if (this.#isShared) return this.#watch(entry.at);
      this.#unlink(entry);
      this.#setOwn(entry, this.#leftOf(entry));
    }
  }

  #leftOf({ at }: Entry): number {
    return Math.ceil(at - this.#clock.now());
  }
}

interface Entry {
  readonly at: number;
  readonly idle: boolean;
  off: boolean;
  ring: () => void;
  /** Its own. */
  timer: Timer | undefined;
  before: Entry | undefined;
  after: Entry | undefined;
}

/** Timers are opaque: an object with `ref` on Node and Bun, a number on Deno, a number that holds nothing in browsers. */
function hold(timer: unknown, held: boolean): void {
  if (typeof timer === "object" && timer !== null) {
    const { ref, unref } = timer as { ref?: () => void; unref?: () => void };
    (held ? ref : unref)?.call(timer);
  } else if (typeof timer === "number") {
    const { Deno } = globalThis as { Deno?: { refTimer?: (id: number) => void; unrefTimer?: (id: number) => void } };
    (held ? Deno?.refTimer : Deno?.unrefTimer)?.(timer);
  }
}

const LONGEST = 2 ** 31 - 1;
/** No clock is as coarse as this. */
const AHEAD_MS = 200;
/** What makes timers where this is loaded. */
const RUNTIMES = setTimeout;
