// Everything the shim takes from the world outside: the clock, randomness, timers and fetch. One object, so that a test
// can stand in for all of it. Nothing here is read before a call asks: a Worker forbids (or fakes) it at module scope.

import { RunningClock } from "./clock.js";
import { watchConnections } from "./connections.js";
import { arm, TimerList } from "./timers.js";
import type { Host } from "../types.js";

/** A host as the shim has it: what users may stand in for, and what is the runtime's own business. */
export interface OwnHost extends Host {
  /** A promise that another call may settle. Whoever waits for it goes on in the context that made it. */
  deferred<T>(): Deferred<T>;
}

export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T | PromiseLike<T>): void;
  reject(reason: unknown): void;
}

/** Node, Deno, Bun and browsers: one timer for all calls. */
export function defaultHost(): OwnHost {
  watchConnections();
  const clock = new RunningClock();
  const timers = new TimerList(clock);
  let origin = -1;
  // Date.now may be set back, and every limit would stand still until it has caught up. In whole milliseconds, as it is.
  const now = (): number => {
    if (origin < 0) origin = performance.timeOrigin || 0;
    return Math.floor(origin + clock.now());
  };
  return {
    now,
    wallNow() {
      return this.now === now ? Date.now() : this.now(); // a clock of the user's own is both
    },
    random,
    arm: (delayMs, wake, idle) => timers.arm(delayMs, wake, idle),
    fetch: (input, init) => fetch(input, init),
    wakesOthers: () => true,
    deferred,
  };
}

/**
 * Cloudflare Workers: timers belong to the request that set them, so every call has its own; and a call may wake one of
 * another request only where the runtime hands settled promises over to the request that waits for them. It knows which that
 * is by a mark on the promise, which code that was optimised forgets to set where it has `new Promise` inlined (workerd's
 * patches to V8, in js-create-lowering.cc and maglev-reducer-inl.h). `Promise.withResolvers` is not inlined.
 */
export function workersHost(): OwnHost {
  return {
    now: () => Date.now(), // by name: tests exchange it
    random,
    arm,
    fetch: (input, init) => fetch(input, init),
    wakesOthers: () => (globalThis as Workers).Cloudflare?.compatibilityFlags?.["handle_cross_request_promise_resolution"] === true,
    deferred: () => (Promise as WithResolvers).withResolvers?.() ?? deferred(),
  };
}

/** Node 20 has no `Promise.withResolvers`. */
export function deferred<T>(): Deferred<T> {
  let resolve!: Deferred<T>["resolve"];
  let reject!: Deferred<T>["reject"];
  const promise = new Promise<T>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  return { promise, resolve, reject };
}

interface WithResolvers {
  withResolvers?: <T>() => Deferred<T>;
}

interface Workers {
  Cloudflare?: { compatibilityFlags?: Record<string, boolean> };
}

/**
 * Numbers that never repeat, from a start that no other isolate has. The engine mixes each of them thoroughly (SplitMix64, for
 * which such a sequence is the usual input), so drawing real entropy for every verb would buy nothing: jitter needs spread,
 * not secrecy.
 */
function random(): number {
  const last = sequence[0]! || Math.floor(Math.random() * LIMIT);
  const next = last + STEP;
  return (sequence[0] = next < LIMIT ? next : next - LIMIT);
}

/** The last one; 0 before the first. In an array of doubles, where a number needs no allocation. */
const sequence = /* @__PURE__ */ new Float64Array(1);
/** Half of what a random number may be, so that the sum of two stays exact. */
const LIMIT = 2 ** 52;
/** Odd, and the golden share of the limit: successive numbers lie far apart. */
const STEP = 2_783_377_641_436_327;
