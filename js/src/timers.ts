// Timers: never NaN, never too long, and on hosts that allow it one for all calls together.

/** One timer of the runtime for one wake; an idle one does not keep a process alive. */
export function arm(delayMs: number, wake: () => void, idle = false): () => void {
  let timer: unknown;
  const set = (left: number): void => {
    const step = timerDelay(left);
    // In a Worker the clock stands still between events, so what is left is counted and not read.
    timer = setTimeout(() => (left > step ? set(left - step) : wake()), step);
    if (idle) hold(timer, false);
  };
  set(delayMs);
  return () => clearTimeout(timer as number);
}

/**
 * The wakes of one isolate, earliest first, behind one timer of the runtime: calls with the same timeout come and go in
 * order, so that arming is an append and calling off an unlink. A wake that would have to stand before others gets a timer
 * of its own. The timer keeps a process alive only while somebody waits for it.
 */
export class TimerList {
  #first: Entry | undefined;
  #last: Entry | undefined;
  #timer: unknown;
  #timerAt = 0;

  arm(delayMs: number, wake: () => void): () => void {
    const at = clock() + (delayMs > 0 ? delayMs : 0);
    const last = this.#last;
    if (last !== undefined && at < last.at) return arm(delayMs, wake);

    const entry: Entry = { at, off: false, ring: undefined as never, before: last, after: undefined };
    // The shared timer fires in the asynchronous context of whoever set it. A promise brings the wake back into its own.
    new Promise<void>((resolve) => (entry.ring = resolve)).then(() => {
      if (!entry.off) wake();
    });
    this.#last = entry;
    if (last === undefined) {
      this.#first = entry;
      this.#watch(at);
    } else {
      last.after = entry;
    }
    return () => {
      if (entry.off) return;
      entry.off = true;
      this.#unlink(entry);
    };
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
    if (this.#first === undefined) hold(this.#timer, false);
  }

  /** Sees to it that the timer fires by `at` and keeps the process alive until then. */
  #watch(at: number): void {
    if (this.#timer !== undefined) {
      if (this.#timerAt <= at) return hold(this.#timer, true);
      clearTimeout(this.#timer as number);
    }
    const delay = timerDelay(Math.ceil(at - clock()));
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#fire(), delay);
  }

  #fire(): void {
    this.#timer = undefined;
    const now = clock();
    for (let entry = this.#first; entry !== undefined && entry.at <= now; entry = this.#first) {
      this.#unlink(entry);
      entry.ring();
    }
    if (this.#first !== undefined) this.#watch(this.#first.at);
  }
}

interface Entry {
  readonly at: number;
  off: boolean;
  ring: () => void;
  before: Entry | undefined;
  after: Entry | undefined;
}

/** What a runtime's timer can take: beyond 2³¹−1 ms it would fire at once, and so it would for what is no number. */
function timerDelay(delayMs: number): number {
  return delayMs > 0 ? Math.min(delayMs, LONGEST) : 0;
}

/** A clock that is never set: were it, everybody in the list would wait for the difference. */
function clock(): number {
  return performance.now();
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
