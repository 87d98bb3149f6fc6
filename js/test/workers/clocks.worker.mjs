// A Worker whose requests have clocks as in production, which workerd alone does not show: each request has its own, which
// stands still while code runs and moves only with the request's own I/O; in a timer it shows exactly the time the timer
// was set for. A request may have its clock wrong by some milliseconds, or stopped for good.

import { AsyncLocalStorage } from "node:async_hooks";
import { forbear, reportOf } from "forbear";

const clocks = new AsyncLocalStorage();

class Clock {
  /** How many timers were set by it. */
  armed = 0;

  constructor({ aheadMs = 0, stopped = false }) {
    this.aheadMs = aheadMs;
    this.stopped = stopped;
    this.time = Date.now() + aheadMs;
  }

  /** Something has come in. */
  tick(time = Date.now() + this.aheadMs) {
    if (!this.stopped) this.time = Math.max(this.time, time);
  }
}

const host = {
  now: () => clocks.getStore().time,
  arm(delayMs, wake) {
    const clock = clocks.getStore();
    clock.armed++;
    const at = clock.time + delayMs;
    const timer = setTimeout(() => {
      clock.tick(at);
      wake();
    }, delayMs);
    return () => clearTimeout(timer);
  },
  async fetch(input, init) {
    const clock = clocks.getStore();
    try {
      return await fetch(input, init);
    } finally {
      clock.tick();
    }
  },
};

const guards = {
  patient: forbear({
    name: "patient", timeout: { attempt: 400, total: "4s" },
    retry: { attempts: 3, budget: false, backoff: { base: 50, jitter: "none" } }, breaker: { consecutiveFailures: false, minCalls: 1000, windowCalls: 1000 },
  }, { host }),
  tripping: forbear({ name: "tripping", breaker: { consecutiveFailures: 5, openFor: 500, openJitter: 0 } }, { host }),
  lined: forbear({ name: "lined", bulkhead: { concurrency: 2, queue: 50, queueTimeout: false } }, { host }),
  turned: forbear({ name: "turned", rateLimiter: { rate: 20, interval: "1s", burst: 1, wait: "20s" } }, { host }),
  thrifty: forbear({ name: "thrifty", retry: { attempts: 3, backoff: { base: 1, cap: 1 }, budget: { ratio: 0.1, reserve: 2 } } }, { host }),
};

export default {
  async fetch(request) {
    const { guard, url, clock, count = 1 } = await request.json();
    const own = new Clock(clock);
    return clocks.run(own, async () => {
      const began = Date.now();
      const calls = await Promise.all(Array.from({ length: count }, () => call(guards[guard], url)));
      return Response.json({ calls, tookMs: Date.now() - began, armed: own.armed });
    });
  },
};

async function call(guard, url) {
  try {
    const response = await guard.fetch(url);
    await response.text();
    return { status: response.status, report: reportOf(response) };
  } catch (error) {
    return { error: error.name, reason: error.reason, retryAfterMs: error.retryAfterMs, report: reportOf(error) };
  }
}
