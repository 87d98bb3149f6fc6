// Around real I/O: what a guard adds to a request over loopback, and what a timeout by hand adds.

/** Longer turns than elsewhere: a call takes a tenth of a millisecond. */
export const TURNS = { rounds: 100, turnMs: 25, warmUpTurns: 20 };

/** So short that a turn makes as few calls as there may be: before each is a fetch. */
export const COLD_TURNS = { rounds: 60, turnMs: 0.1, warmUpTurns: 10 };

const BARE = "fetch on loopback";
const BY_HAND = "fetch on loopback, controller and timer by hand";

export function loopback({ forbear }, url) {
  const plain = forbear({ retry: {}, breaker: {} });
  const timed = forbear({ retry: {}, breaker: {}, timeout: { attempt: "10s" } });
  return [
    {
      name: BARE,
      async run(calls) {
        while (calls-- > 0) await (await fetch(url)).text();
      },
    },
    {
      name: "forbear: fetch on loopback, retry + budget + breaker",
      peer: BARE,
      limit: 1.07,
      goal: 1.05,
      async run(calls) {
        while (calls-- > 0) await (await plain.fetch(url)).text();
      },
    },
    {
      name: BY_HAND,
      async run(calls) {
        while (calls-- > 0) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(new DOMException("too late", "TimeoutError")), 10_000);
          try {
            await (await fetch(url, { signal: controller.signal })).text();
          } finally {
            clearTimeout(timer);
          }
        }
      },
    },
    {
      name: "forbear: fetch on loopback, attempt timeout too",
      peer: BY_HAND,
      async run(calls) {
        while (calls-- > 0) await (await timed.fetch(url)).text();
      },
    },
  ];
}

/** A call after a real fetch: what a processor has forgotten meanwhile, and V8 has not optimised for. Only the call is timed. */
export function cold({ forbear }, { handleAll, retry, circuitBreaker, wrap, ConsecutiveBreaker, ExponentialBackoff }, url) {
  const guard = forbear({ retry: {}, breaker: {} });
  const policy = wrap(
    retry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() }),
    circuitBreaker(handleAll, { halfOpenAfter: 10_000, breaker: new ConsecutiveBreaker(5) }),
  );
  const peer = "cockatiel: cold, wrap(retry, circuitBreaker)";
  return [
    {
      name: "forbear: cold, retry + budget + breaker",
      peer,
      limit: 1.7,
      goal: 1.2,
      async run(calls) {
        let took = 0;
        while (calls-- > 0) {
          await (await fetch(url)).text();
          const began = performance.now();
          await guard.execute(noop);
          took += performance.now() - began;
        }
        return took;
      },
    },
    {
      name: peer,
      async run(calls) {
        let took = 0;
        while (calls-- > 0) {
          await (await fetch(url)).text();
          const began = performance.now();
          await policy.execute(noop);
          took += performance.now() - began;
        }
        return took;
      },
    },
  ];
}

const noop = async () => {};
