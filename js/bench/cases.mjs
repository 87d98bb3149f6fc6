// The calls that are measured on every host, around an operation that does nothing. Every loop is written out: V8 keeps
// what it learns about a call by the place in the source, and a shared loop would learn of all cases at once.

const noop = async () => {};
const readsSignal = async ({ signal }) => signal.aborted;

export const DIRECT = "await of an async no-op";

export function direct() {
  return {
    name: DIRECT,
    async run(calls) {
      while (calls-- > 0) await noop();
    },
  };
}

export const PLAIN = { retry: {}, breaker: {} };
/** Every policy that needs no timer, with limits that are never reached. */
export const UNTIMED = {
  ...PLAIN,
  throttler: {},
  concurrencyLimiter: {},
  bulkhead: {},
  rateLimiter: { rate: 1_000_000, interval: 1 },
};
const TIMES = { total: "30s", attempt: "10s" };
export const EVERYTHING = { ...PLAIN, timeout: TIMES };

export function forbearPlain({ forbear }) {
  const guard = forbear(PLAIN);
  return {
    name: "forbear: retry + budget + breaker",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await guard.execute(noop);
    },
  };
}

export function forbearUntimed({ forbear }) {
  const guard = forbear(UNTIMED);
  return {
    name: "forbear: every policy without timers",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await guard.execute(noop);
    },
  };
}

export function forbearTimed({ forbear }) {
  const guard = forbear({ ...UNTIMED, timeout: TIMES });
  return {
    name: "forbear: every policy, deadline and attempt timeout among them",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await guard.execute(noop);
    },
  };
}

export function forbearTimeout({ forbear }) {
  const guard = forbear({ timeout: { attempt: "10s" } });
  return {
    name: "forbear: attempt timeout alone",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await guard.execute(noop);
    },
  };
}

export function forbearEverything({ forbear }) {
  const guard = forbear(EVERYTHING);
  return {
    name: "forbear: retry + budget + breaker + deadline + attempt timeout",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await guard.execute(noop);
    },
  };
}

export function forbearEverythingSignal({ forbear }) {
  const guard = forbear(EVERYTHING);
  return {
    name: "forbear: the same, and the operation reads the signal",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await guard.execute(readsSignal);
    },
  };
}

/** As cockatiel's own documentation composes it. */
export function cockatielPlain({ handleAll, retry, circuitBreaker, wrap, ConsecutiveBreaker, ExponentialBackoff }) {
  const policy = wrap(
    retry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() }),
    circuitBreaker(handleAll, { halfOpenAfter: 10_000, breaker: new ConsecutiveBreaker(5) }),
  );
  return {
    name: "cockatiel: wrap(retry, circuitBreaker)",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await policy.execute(noop);
    },
  };
}

/** The same with a bulkhead, which is most of what it has without timers. */
export function cockatielUntimed({ handleAll, retry, circuitBreaker, bulkhead, wrap, ConsecutiveBreaker, ExponentialBackoff }) {
  const policy = wrap(
    retry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() }),
    circuitBreaker(handleAll, { halfOpenAfter: 10_000, breaker: new ConsecutiveBreaker(5) }),
    bulkhead(25),
  );
  return {
    name: "cockatiel: wrap(retry, circuitBreaker, bulkhead)",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await policy.execute(noop);
    },
  };
}

/** With a breaker that looks back over a hundred calls, as forbear's does. */
export function cockatielWindow({ handleAll, retry, circuitBreaker, wrap, CountBreaker, ExponentialBackoff }) {
  const policy = wrap(
    retry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() }),
    circuitBreaker(handleAll, { halfOpenAfter: 10_000, breaker: new CountBreaker({ threshold: 0.5, size: 100 }) }),
  );
  return {
    name: "cockatiel: the same with its CountBreaker",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await policy.execute(noop);
    },
  };
}

/** The strategy that, as forbear does, ends the call in time whatever the operation does. */
export function cockatielTimeout({ timeout, TimeoutStrategy }) {
  const policy = timeout(10_000, TimeoutStrategy.Aggressive);
  return {
    name: "cockatiel: timeout",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await policy.execute(noop);
    },
  };
}

export function cockatielTimeoutSignal({ timeout, TimeoutStrategy }) {
  const policy = timeout(10_000, TimeoutStrategy.Aggressive);
  return {
    name: "cockatiel: timeout, and the operation reads the signal",
    over: DIRECT,
    async run(calls) {
      while (calls-- > 0) await policy.execute(readsSignal);
    },
  };
}
