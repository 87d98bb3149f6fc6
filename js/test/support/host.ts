// A world of one's own: a clock that moves when told to, timers that fire by it, chosen randomness, a scripted fetch.

import { AsyncResource } from "node:async_hooks";
import { deferred, type OwnHost } from "../../src/host/host.js";

interface Timer {
  at: number;
  wake: () => void;
}

export class FakeHost implements OwnHost {
  time = 1_000;
  /** What `random` gives: 0 up to 1, of the whole range. */
  share = 0.5;
  timers: Timer[] = [];
  armed = 0;
  calledOff = 0;
  randoms = 0;

  now = (): number => this.time;
  random = (): number => {
    this.randoms++;
    return Math.floor(this.share * 2 ** 53);
  };
  arm = (delayMs: number, wake: () => void): (() => void) => {
    this.armed++;
    const timer = { at: this.time + delayMs, wake: AsyncResource.bind(wake) };
    this.timers.push(timer);
    return () => {
      const at = this.timers.indexOf(timer);
      if (at < 0) return;
      this.timers.splice(at, 1);
      this.calledOff++;
    };
  };
  fetch = (): Promise<Response> => Promise.reject(new Error("no fetch was given"));
  wakesOthers = (): boolean => true;
  deferred = deferred;

  /** Lets time pass, timer by timer, each at its own instant, and everything that follows from it happen. */
  async pass(ms: number): Promise<void> {
    const until = this.time + ms;
    await quiet();
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.time = Math.max(this.time, next.at);
      this.fire(next);
      await quiet();
    }
    this.time = until;
  }

  fire(timer: Timer): void {
    this.timers.splice(this.timers.indexOf(timer), 1);
    timer.wake();
  }

  #next(until: number): Timer | undefined {
    return this.timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
  }
}

/** Everything that needs no time has happened. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** How a promise stands, once everything is quiet. */
export async function standOf<T>(promise: Promise<T>): Promise<{ state: "pending" } | { state: "fulfilled"; value: T } | { state: "rejected"; reason: unknown }> {
  let stand: Awaited<ReturnType<typeof standOf<T>>> = { state: "pending" };
  promise.then(
    (value) => (stand = { state: "fulfilled", value }),
    (reason: unknown) => (stand = { state: "rejected", reason }),
  );
  await quiet();
  return stand;
}

/** What a promise rejects with. */
export async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("it did not reject");
    },
    (reason: unknown) => reason,
  );
}
