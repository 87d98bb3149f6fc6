// One call, and its attempts. Both are plain records: driver.ts and race.ts do what is done with them.

import type { Engine } from "../engine/engine.js";
import type { Sent } from "../http/init.js";
import type { Stack } from "../engine/stack.js";
import type { Attempt as AttemptContext, Classify } from "../types.js";

/** Where calls are made: what all calls of one guard have in common. */
export interface Site {
  readonly engine: Engine;
  readonly stack: Stack;
  readonly classify: Classify | undefined;
  /** From how many milliseconds on a caller that leaves an attempt is a timeout of the upstream. */
  readonly abortLimitMs: number;
}

/** What a call does. */
export interface Work<T> {
  /** Does it once. */
  begin(attempt: Attempt<T>): PromiseLike<T> | T;
  /** How an attempt ended, by what it brought. */
  outcomeOf(attempt: Attempt<T>): number;
  /** Whether what it brought is read as a response. */
  isResponse(result: unknown): result is Response;
}

/** One call, admitted. */
export class Call<T> {
  readonly site: Site;
  readonly work: Work<T>;
  readonly key: string | null;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
  /** Whether attempts may be given up by somebody else than the caller, so that each needs a signal of its own. */
  readonly racing: boolean;
  /** Its number in the engine, and the epoch in which that number means something. */
  readonly handle: number;
  epoch: number;
  readonly startedAt: number;
  /** Its own limit; −1 for none. */
  readonly timeoutMs: number;

  constructor(
    site: Site, work: Work<T>, key: string | null, signal: AbortSignal | undefined, racing: boolean, timeoutMs: number,
  ) {
    const { engine } = site;
    this.site = site;
    this.work = work;
    this.key = key;
    this.signal = signal;
    this.racing = racing;
    this.handle = engine.call;
    this.epoch = engine.epoch;
    this.startedAt = engine.now;
    this.timeoutMs = timeoutMs;
  }

  /** The longest the whole call may take. */
  get limitMs(): number {
    const { totalLimitMs } = this.site.stack;
    return this.timeoutMs < 0 ? totalLimitMs : Math.min(this.timeoutMs, totalLimitMs);
  }
}

/** An epoch that no engine has: that of a call which goes on alone. */
export const ALONE = -1;

export const RUNNING = 0;
export const FULFILLED = 1;
export const REJECTED = 2;
/** Given up: whatever it still brings is late. */
export const DROPPED = 3;

/** One attempt; the operation gets it as its context. */
export class Attempt<T> implements AttemptContext {
  readonly attempt: number;
  /** @internal */ readonly call: Call<T>;
  /** @internal */ readonly startedAt: number;
  /** @internal */ state = RUNNING;
  /** @internal What it brought, or why it was given up. */ result: unknown = undefined;
  /** @internal Whether what it throws is the caller's own fault: it says nothing about the upstream, and is not repeated. */ isDefect = false;
  /** @internal What was sent, where that is made anew for each attempt. */ sent: Sent | undefined = undefined;
  /** @internal */ latencyMs = -1;
  /** @internal */ controller: AbortController | undefined = undefined;

  constructor(call: Call<T>, attempt: number, startedAt: number) {
    this.call = call;
    this.attempt = attempt;
    this.startedAt = startedAt;
  }

  /** Made when first read: a controller costs more than the whole rest of a call. */
  get signal(): AbortSignal {
    const { call } = this;
    if (!call.racing && call.signal !== undefined) return call.signal;
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.state === DROPPED) this.controller.abort(this.result);
    }
    return this.controller.signal;
  }

  /** Made when read, for whoever takes it out of its context. */
  get mark(): () => void {
    return () => {
      if (this.latencyMs < 0) this.latencyMs = Math.max(0, this.call.site.engine.host.now() - this.startedAt);
    };
  }

  /** @internal */
  abort(reason: unknown): void {
    this.state = DROPPED;
    this.result = reason;
    this.controller?.abort(reason);
  }
}
